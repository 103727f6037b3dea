import ArgumentParser
import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SQLCipherStore

/// Checks a store.
struct VerifyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Check a store: every page's authentication, the database's structure, references. Repairs nothing.",
    discussion: """
      What a killed process may leave beside a sound store, files of large values that belong to nothing, is told as left over; it is no damage. --sweep \
      removes it; so does the next command that writes.
      """)

  @OptionGroup var store: StoreOptions
  @Flag(help: "Check the structure only, not every page's authentication.") var quick = false
  @Flag(help: "Remove what is left over, where the store is sound.") var sweep = false

  func run() async throws {
    let file = try await store.unlock()
    let progress = SharedProgress("Verifying")
    let findings = try await file.findings(quick ? .quick : .full, progress: progress.handler)
    progress.finish()
    let damage = findings.filter { $0.kind == .damage }
    let sink = OutputSink()
    for finding in damage { try sink.line(TableWriter.printable(finding.description)) }
    // If the file is damaged, its list of external files cannot be trusted.
    if sweep, damage.isEmpty {
      let count = try await file.sweepExternalFiles()
      if count > 0 { Tool.note("Removed \(count) left-over file\(count == 1 ? "" : "s").") }
    } else {
      for finding in findings where finding.kind == .leftOver { try sink.line("left over: " + TableWriter.printable(finding.description)) }
    }
    if damage.isEmpty { try sink.line("ok") }
    try sink.flush()
    if !damage.isEmpty {
      throw ToolError(.damage, "\(store.store): \(damage.count) finding\(damage.count == 1 ? "" : "s"): the store is damaged.")
    }
  }
}

/// Copies a store.
struct BackupCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup", abstract: "Copy a store, encrypted, while it may be in use.")

  @OptionGroup var store: StoreOptions
  @Argument(help: "The copy; it must not exist.", completion: .file()) var destination: String
  @Flag(help: "Give the copy a data key and a passphrase of its own.") var newKey = false
  @OptionGroup var newPassphrase: NewPassphraseOptions

  func run() async throws {
    try FilePlace.checkFree(destination)
    let file = try await store.unlock()
    let progress = SharedProgress("Copying")
    defer { progress.finish() }
    if newKey || newPassphrase.newPassphraseFile != nil {
      try await file.backUp(to: .path(destination), key: try newPassphrase.key(), progress: progress.handler)
    } else {
      try await file.backUp(to: .path(destination), progress: progress.handler)
    }
  }
}

/// Exports all objects as JSON lines.
struct ExportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Write the objects as JSON lines, NOT ENCRYPTED, to standard output; `import` makes the same graph of them.")

  @OptionGroup var store: StoreOptions
  @Option(help: "Only the objects of this entity and those below it.") var entity: String?

  func run() async throws {
    let name = entity
    try await store.open(isReadOnly: true).run { context in
      let exporter = GraphExporter(from: context)
      let entity = try name.map { try context.persistentStoreCoordinator.compiledModel.requireEntity(named: $0) }
      let sink = OutputSink()
      var bytes: [UInt8] = []
      try exporter.export(entity: entity) { line in
        bytes.removeAll(keepingCapacity: true)
        line.append(to: &bytes)
        bytes.append(0x0A)
        try sink.write(bytes)
      }
      try sink.flush()
    }
  }
}

/// Creates an encrypted store from an unencrypted copy.
struct EncryptCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "encrypt", abstract: "Make an encrypted store of a plain copy that `decrypt` wrote. The plain file stays.")

  @Argument(help: "The plain copy.", completion: .file()) var plain: String
  @Argument(help: "The new store; it must not exist.", completion: .file()) var store: String
  @OptionGroup var passphrase: PassphraseOptions

  func run() async throws {
    try ByteSource.check(path: plain)
    try FilePlace.checkFree(store)
    _ = try await SQLCipherStoreFile.importPlaintext(from: .path(plain), to: .path(store), key: try passphrase.newKey(for: store))
    Tool.note("\(plain) is still there and NOT encrypted: delete it when you need it no more.")
  }
}

/// Writes an unencrypted copy of a store.
struct DecryptCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "decrypt", abstract: "Write everything in a store, NOT ENCRYPTED, into a new SQLite file.")

  @OptionGroup var store: StoreOptions
  @Argument(help: "The plain copy; it must not exist.", completion: .file()) var plain: String

  func run() async throws {
    try FilePlace.checkFree(plain)
    try await store.unlock().exportPlaintext(to: .path(plain))
    Tool.note("\(plain) is NOT encrypted: everybody who can read it can read all of the store.")
  }
}

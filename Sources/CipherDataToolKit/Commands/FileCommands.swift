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
      A killed process can leave files of large values that no object refers to. They are reported as left over and are not damage. \
      --sweep removes them, and so does the next command that writes.
      """)

  @OptionGroup var store: StoreOptions
  @Flag(help: "Check only the structure, not every page's authentication.") var quick = false
  @Flag(help: "Remove leftover files if the store is not damaged.") var sweep = false

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
      for finding in findings where finding.kind == .leftover { try sink.line("left over: " + TableWriter.printable(finding.description)) }
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
    commandName: "backup", abstract: "Make an encrypted copy of a store, which can be in use.")

  @OptionGroup var store: StoreOptions
  @Argument(help: "The copy; it must not exist.", completion: .file()) var destination: String
  @Flag(help: "Encrypt the copy with its own data key and passphrase.") var newKey = false
  @OptionGroup var newPassphrase: NewPassphraseOptions

  func run() async throws {
    try PathCheck.checkFree(destination)
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
    abstract: "Write all objects as JSON lines, NOT ENCRYPTED, to standard output. `import` recreates the same graph.")

  @OptionGroup var store: StoreOptions
  @Option(help: "Only objects of this entity and its subentities.") var entity: String?

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
    commandName: "encrypt", abstract: "Create an encrypted store from an unencrypted copy by `decrypt`, which is kept.")

  @Argument(help: "The unencrypted copy.", completion: .file()) var plain: String
  @Argument(help: "The new store; it must not exist.", completion: .file()) var store: String
  @OptionGroup var passphrase: PassphraseOptions

  func run() async throws {
    try ByteSource.check(path: plain)
    try PathCheck.checkFree(store)
    _ = try await SQLCipherStoreFile.importPlaintext(from: .path(plain), to: .path(store), key: try passphrase.newKey(for: store))
    Tool.note("\(plain) is kept and NOT encrypted: delete it when it is no longer needed.")
  }
}

/// Writes an unencrypted copy of a store.
struct DecryptCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "decrypt", abstract: "Write the contents of a store, NOT ENCRYPTED, to a new SQLite file.")

  @OptionGroup var store: StoreOptions
  @Argument(help: "The unencrypted copy; it must not exist.", completion: .file()) var plain: String

  func run() async throws {
    try PathCheck.checkFree(plain)
    try await store.unlock().exportPlaintext(to: .path(plain))
    Tool.note("\(plain) is NOT encrypted: any user who can read it can read the whole store.")
  }
}

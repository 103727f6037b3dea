import ArgumentParser
import CipherData
import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SQLCipherStore

/// Creates an empty store with a model.
struct CreateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "create", abstract: "Create an empty encrypted store with a model.")

  @Argument(help: "The store's file; it must not exist.", completion: .file())
  var store: String

  @Option(help: ArgumentHelp("The model: an .xcdatamodeld or .xcdatamodel.", valueName: "model"), completion: .file())
  var model: String

  @Option(help: "A name for the passphrase's key slot.")
  var label = ""

  @OptionGroup
  var strict: StrictOption

  @OptionGroup
  var passphrase: PassphraseOptions

  func run() async throws {
    let model = try ModelCommand.model(self.model, strict: strict.strict)
    // Report errors in the model or the path before requesting a passphrase.
    _ = try CompiledModel(model)
    try PathCheck.checkFree(store)
    if try PathCheck.isTaken(store + ".keys") { throw ToolError(.cannotCreate, "\(store).keys already exists.") }
    try await StoreCreation.create(.path(store), model: model, key: try passphrase.newKey(for: store), label: label)
  }
}

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
      if count > 0 { Tool.note("Removed \(CountText.text(count, "left-over file")).") }
    } else {
      for finding in findings where finding.kind == .leftover { try sink.line("left over: " + TableWriter.printable(finding.description)) }
    }
    if damage.isEmpty { try sink.line("ok") }
    try sink.flush()
    if !damage.isEmpty {
      throw ToolError(.damage, "\(store.store): \(CountText.text(damage.count, "finding")): the store is damaged.")
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
    abstract: "Write all objects as JSON lines, NOT ENCRYPTED, to standard output. `import` recreates the same graph.",
    discussion: """
      With --entity, a reference to an object that is not in the output contains the values of its first uniqueness constraint, or else \
      its stable ID. Without --stable-ids, references to objects without such a constraint are left out and reported.
      """)

  @OptionGroup var store: StoreOptions
  @Option(help: "Only objects of this entity and its subentities.") var entity: String?
  @Flag(
    name: .customLong("stable-ids"),
    help: "Include the stable IDs of objects. `import` finds objects by them, and assigns them to new ones.") var stableIDs = false

  func run() async throws {
    let (name, includesStableIDs) = (entity, stableIDs)
    try await store.open(isReadOnly: true).run { context in
      let exporter = try GraphExporter(from: context, includesStableIDs: includesStableIDs)
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
      for (relationship, count) in exporter.omitted {
        let entity = context.persistentStoreCoordinator.compiledModel.entities[relationship.sourceEntity].name
        let references = count == 1 ? "1 reference" : "\(count) references"
        Tool.note(
          "\(entity).\(relationship.name): \(references) to objects that are not exported left out; use --stable-ids to include them")
      }
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

/// Releases unused pages of a store's file.
struct CompactCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compact",
    abstract: "Release the disk space of deleted objects.",
    discussion: """
      The store is rewritten with the same keys, verified, and atomically replaced. This needs additional disk space for the used part \
      of the store. A store in use is rejected.
      """)

  @OptionGroup var store: StoreOptions
  @Flag(help: "Update the query planner's statistics afterwards, as `statistics` does.") var statistics = false
  @Option(help: "The output format.") var format = InfoCommand.Format.text

  func run() async throws {
    let file = try await store.unlock()
    let progress = SharedProgress("Compacting")
    let result: StoreCompaction
    do {
      defer { progress.finish() }
      result = try await file.compact(updatesStatistics: statistics, progress: progress.handler)
    }
    let sink = OutputSink()
    switch format {
    case .json:
      try sink.line(
        JSONValue.object([
          ("store", .string(store.store)), ("bytesBefore", .integer(result.bytesBefore)), ("bytesAfter", .integer(result.bytesAfter)),
        ]).serialized())
    case .text:
      let (before, after) = (InfoText.bytes(result.bytesBefore), InfoText.bytes(result.bytesAfter))
      let saved = result.bytesBefore - result.bytesAfter
      let end = saved > 0 ? "\(InfoText.bytes(saved)) released" : "there was no unused space"
      try sink.line("\(before) before, \(after) after: \(end)")
    }
    try sink.flush()
  }
}

/// Updates the statistics that the query planner uses.
struct StatisticsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "statistics",
    abstract: "Collect index statistics for the query planner, or remove them.",
    discussion: """
      Without statistics, the planner uses only the declared indexes. Statistics change no results, can make fetches faster or slower, \
      and are not updated by later changes. Processes use them after they reopen the store. `fetch --explain` says which index is used.
      """)

  @OptionGroup var store: StoreOptions
  @Flag(help: "Remove the statistics.") var remove = false

  func run() async throws {
    let file = try await store.unlock()
    if remove { try await file.removeStatistics() } else { try await file.updateStatistics() }
  }
}

/// Removes a store.
struct DestroyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "destroy",
    abstract: "Remove a store with all its files. Needs no passphrase, and cannot be undone.",
    discussion: """
      The key file is overwritten and removed first. Copies of it and backups are not affected. A store in use is rejected. Run the \
      command again to complete an interrupted removal.
      """)

  @Argument(help: "The store's file.", completion: .file()) var store: String
  @Flag(help: "Confirm the removal, which is required.") var yes = false

  func run() async throws {
    try RemovalConfirmation.check(yes, "remove \(store) with all its files")
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: ManagedObjectModel())
    try await coordinator.destroyPersistentStore(with: PersistentStoreDescription(url: .path(store)))
  }
}

/// Replaces a store by a copy of another one.
struct ReplaceCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "replace",
    abstract: "Replace a store with a copy of another one, for example to restore a backup.",
    discussion: """
      The passphrase is that of the copied store, and also opens the copy. The replacement is atomic. A store in use is not replaced.

        cipherdata replace library.store backup.store --yes
      """)

  @Argument(help: "The store to replace; it need not exist.", completion: .file()) var store: String
  @Argument(help: "The store to copy.", completion: .file()) var source: String
  @OptionGroup var passphrase: PassphraseOptions
  @Flag(help: "Confirm the replacement of an existing store.") var yes = false

  func run() async throws {
    if try PathCheck.isTaken(store) { try RemovalConfirmation.check(yes, "replace \(store)") }
    let file = try await passphrase.unlock(source)
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: ManagedObjectModel())
    try await coordinator.replacePersistentStore(
      with: PersistentStoreDescription(url: .path(store)),
      withPersistentStoreFrom: PersistentStoreDescription(url: file.url, key: file.key))
  }
}

/// The confirmation that removing a store requires.
enum RemovalConfirmation {
  static func check(_ isGiven: Bool, _ what: String) throws {
    if !isGiven { throw ToolError(.usage, "This would \(what). Confirm it with --yes.") }
  }
}

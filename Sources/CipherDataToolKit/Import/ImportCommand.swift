import ArgumentParser
import CipherData
import CoreDataImport
import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SQLCipherStore

/// Imports objects into a store, either the whole input or nothing.
struct ImportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Import JSON lines, Debian's package index or a Core Data store in one transaction.",
    discussion: """
      JSON lines: an object a line. Its entity is named by --entity or by the key $entity; a to-one relationship is a nested object, a to-many \
      relationship an array of nested objects. Objects are found by their uniqueness constraints, and inserted if there is no \
      constraint or no match. If the store has stable IDs, the key $stableID finds an object first, or becomes the ID of the new one; an object \
      that is found by its values keeps its own ID, which is reported. A nested object with $stableID alone refers to an existing object. Dates are ISO 8601, bytes are Base64 (or hexadecimal digits after “hex:”), decimals are strings or numbers.

      deb822: dpkg's status file or the archive's package index (apt-cache dumpavail), into the DebianArchive model.

      --from-core-data: a Core Data SQLite store and the model with which it was written. STORE is created if it does not exist; an \
      existing one must have the same model. The Core Data store is only read; its passphrase, if it is encrypted, never comes from an argument.
      """)

  @Argument(help: "The store's file.", completion: .file())
  var store: String

  @Argument(help: "The input file; - or none for standard input.")
  var file: String?

  @Option(help: "The input format.")
  var format = InputFormat.jsonl

  @Option(help: "The entity of JSON objects that do not name one.")
  var entity: String?

  @Flag(help: "Skip and report invalid lines, instead of failing and importing nothing.")
  var skipBadLines = false

  @Flag(
    name: .customLong("stable-ids"),
    help: "Enable the stable IDs of the store first, so that new objects have those of the input; see `stable-ids`.")
  var stableIDs = false

  @OptionGroup(title: "From Core Data")
  var coreData: CoreDataOptions

  @OptionGroup
  var passphrase: PassphraseOptions

  @OptionGroup
  var author: AuthorOptions

  func run() async throws {
    if let path = coreData.fromCoreData {
      guard file == nil, entity == nil, !skipBadLines, !stableIDs else {
        throw ToolError(.usage, "--from-core-data cannot be combined with an input file, --entity, --skip-bad-lines or --stable-ids.")
      }
      guard author.author == nil else { throw ToolError(.usage, "--from-core-data cannot be combined with --author.") }
      return try await coreData.run(path, into: store, passphrase: passphrase)
    }
    if let stray = coreData.stray { throw ToolError(.usage, "\(stray) requires --from-core-data.") }
    if file == nil, Terminal.isTerminal(STDIN_FILENO) {
      throw ToolError(.usage, "No input: name a file, or - for standard input.")
    }
    let file = file ?? "-"
    try ByteSource.check(path: file)
    let container = try await PersistentContainer.open(try await passphrase.unlock(store), isReadOnly: false) { description in
      if stableIDs { description.tracksObjectIdentity = true }
    }
    let job = InputImport(format: format, entity: entity, skipsBadLines: skipBadLines)
    let author = author.author
    let outcome = try await container.run { context in
      context.transactionAuthor = author
      let source = try ByteSource(path: file)
      let bar = ProgressBar("Importing", total: source.size)
      defer { bar.finish() }
      return try job.run(from: source, into: context) { records in bar.update(source.position, detail: "\(records) records") }
    }
    for error in outcome.skipped.sorted(by: { $0.line < $1.line }) { Tool.note("\(file == "-" ? "standard input" : file): \(error)") }
    if outcome.skippedCount > outcome.skipped.count {
      Tool.note("… and \(outcome.skippedCount - outcome.skipped.count) more invalid lines")
    }
    let summary = outcome.summary
    for (entity, count) in summary.keptStableIDs.sorted(by: { $0.key < $1.key }) {
      Tool.note("\(entity): \(count) found by values, with other stable IDs than in the input; they keep their own")
    }
    if summary.ignoresStableIDs { Tool.note("the stable IDs of the input are ignored, because the store has none; use --stable-ids") }
    let (records, inserted) = (CountText.text(summary.records, "record"), CountText.text(summary.inserted, "object"))
    var parts = ["\(records): \(inserted) inserted, \(summary.updated) changed, \(summary.deleted) deleted"]
    let keptCount = summary.keptStableIDs.values.reduce(0, +)
    if keptCount > 0 { parts.append("\(CountText.text(keptCount, "stable ID")) not assigned") }
    if outcome.skippedCount > 0 { parts.append("\(CountText.text(outcome.skippedCount, "bad line")) skipped") }
    Tool.note(parts.joined(separator: "; "))
  }
}

extension InputFormat: ExpressibleByArgument {}

// MARK: - Importing Core Data stores

/// The options of an import from a Core Data store.
struct CoreDataOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Import a store that Core Data wrote, or the encrypted Core Data store for SQLCipher. It is only read.", valueName: "file"))
  var fromCoreData: String?

  @Option(help: ArgumentHelp("The model that the Core Data store was written with: an .xcdatamodeld or .xcdatamodel.", valueName: "model"))
  var model: String?

  @Option(
    help: ArgumentHelp("The version of the model, by its name in the .xcdatamodeld; the current one unless given.", valueName: "name"))
  var modelVersion: String?

  @Option(
    help: ArgumentHelp(
      "Read the passphrase of an encrypted Core Data store from the first line of a file; else CIPHERDATA_SOURCE_PASSPHRASE or a prompt.",
      valueName: "file"))
  var sourcePassphraseFile: String?

  @OptionGroup var strict: StrictOption

  @Flag(help: "Skip and report missing files and objects to which the Core Data store refers.")
  var skipMissing = false

  @Flag(help: "Skip and report entities and columns that are not in the model.")
  var ignoreUnknown = false

  /// The first given option that requires `--from-core-data`; `nil` if none is given.
  var stray: String? {
    if model != nil { return "--model" }
    if modelVersion != nil { return "--model-version" }
    if sourcePassphraseFile != nil { return "--source-passphrase-file" }
    if strict.strict { return "--strict" }
    if skipMissing { return "--skip-missing" }
    return ignoreUnknown ? "--ignore-unknown" : nil
  }

  /// Imports into a store, which is created if it does not exist.
  func run(_ path: String, into store: String, passphrase: PassphraseOptions) async throws {
    guard let model else { throw ToolError(.usage, "--model is missing: name the model that \(path) was written with.") }
    let source = try await open(path, try ModelCommand.model(model, version: modelVersion, strict: strict.strict))
    for warning in source.warnings { Tool.note("\(path): \(warning)") }
    let isNew = try !PathCheck.isTaken(store)
    if isNew { try PathCheck.checkFree(store) }
    let target = isNew ? nil : try await passphrase.unlock(store)
    let description: PersistentStoreDescription? =
      isNew ? PersistentStoreDescription(url: .path(store), key: try passphrase.newKey(for: store)) : nil
    let bar = SharedProgress("Importing")
    let progress = bar.handler
    let report = try await Interruption().cancelling(
      Task {
        if let description { return try await source.importAll(creating: description, progress: progress) }
        guard let target else { throw ToolError(.software, "The import has no destination (a bug in the tool).") }
        let container = try await PersistentContainer.open(target, isReadOnly: false)
        return try await container.closing { try await source.importAll(into: container, progress: progress) }
      })
    bar.finish()
    try Self.write(report, path)
  }

  /// Opens the source. Its passphrase is requested only if the source is encrypted.
  private func open(_ path: String, _ model: ManagedObjectModel) async throws -> CoreDataStore {
    var options = CoreDataImportOptions()
    options.skipsMissing = skipMissing
    options.ignoresUnknown = ignoreUnknown
    do {
      return try await CoreDataStore.open(at: .path(path), model: model, options: options)
    } catch let error as StoreError where error.code == .keyRequired {
      let secret = try PassphraseSource(
        file: sourcePassphraseFile, variable: "CIPHERDATA_SOURCE_PASSPHRASE", prompt: "Passphrase for \(path): "
      ).read()
      return try await CoreDataStore.open(at: .path(path), model: model, key: .passphrase(secret), options: options)
    }
  }

  private static func write(_ report: CoreDataImportReport, _ path: String) throws {
    let sink = OutputSink()
    let table = TableWriter(columns: ["entity", "objects"], to: sink)
    for entity in report.entities { try table.write([.string(entity.entityName), .integer(entity.count)]) }
    try table.finish()
    try sink.flush()
    for note in report.notes { Tool.note(note.description) }
    var parts = ["\(report.objectCount) objects and \(report.linkCount) links imported from \(path) (\(report.layout.rawValue))"]
    if report.externalFileCount > 0 { parts.append("\(report.externalFileCount) values from external files") }
    Tool.note(parts.joined(separator: ", "))
    Tool.note("\(path) is not changed. Delete it and its companion files when they are no longer needed.")
  }
}

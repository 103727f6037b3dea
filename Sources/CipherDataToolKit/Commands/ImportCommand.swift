import ArgumentParser
import Foundation
import ObjectContext

/// Imports objects into a store, either the whole input or nothing.
struct ImportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Import JSON lines, Debian's package index or a Core Data store in one transaction.",
    discussion: """
      JSON lines: an object a line. Its entity is named by --entity or by the key $entity; a to-one relationship is a nested object, a to-many \
      relationship an array of nested objects. Objects are found by their uniqueness constraints, and inserted if there is no \
      constraint or no match. Dates are ISO 8601, bytes are Base64 (or hexadecimal digits after “hex:”), decimals are strings or numbers.

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

  @OptionGroup(title: "From Core Data")
  var coreData: CoreDataOptions

  @OptionGroup
  var passphrase: PassphraseOptions

  @OptionGroup
  var author: AuthorOptions

  func run() async throws {
    if let path = coreData.fromCoreData {
      guard file == nil, entity == nil, !skipBadLines else {
        throw ToolError(.usage, "--from-core-data cannot be combined with an input file, --entity or --skip-bad-lines.")
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
    let container = try await PersistentContainer.open(try await passphrase.unlock(store), isReadOnly: false)
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
    var parts = ["\(summary.records) records: \(summary.inserted) objects inserted, \(summary.updated) changed, \(summary.deleted) deleted"]
    if outcome.skippedCount > 0 { parts.append("\(outcome.skippedCount) bad lines skipped") }
    Tool.note(parts.joined(separator: "; "))
  }
}

extension InputFormat: ExpressibleByArgument {}

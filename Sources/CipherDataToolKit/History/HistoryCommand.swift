import ArgumentParser
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore

/// The output formats of a history.
enum HistoryFormat: String, CaseIterable, ExpressibleByArgument {
  case table, jsonl
}

/// The options that select a part of a history.
struct HistoryFilterOptions: ParsableArguments {
  @Option(help: "Only transactions of this author.")
  var author: String?

  @Option(help: "Only changes of objects of this entity and its subentities.")
  var entity: String?
}

/// Prints a store's history, switches it on or off, and deletes old transactions.
struct HistoryCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "history", abstract: "List a store's transactions with their authors, or configure and purge its history.",
    discussion: """
      Without an action it lists transactions, the oldest first. JSON lines have a line for each transaction (token, time, author, context, process, \
      program, kind, numbers of changes), then its changes, at most 1,000 a line. The table names objects by the values of their first uniqueness \
      constraint, or else by their key.

      --enable begins a history, which with --values also records the values of objects; --disable deletes it. --purge-before deletes \
      transactions before a position, except for those that a consumer has not read yet. A position is a token that this command \
      prints, or a date.
      """)

  @OptionGroup
  var store: StoreOptions

  @Option(help: ArgumentHelp("Only transactions after this position.", valueName: "token|date"))
  var after: String?

  @OptionGroup
  var filter: HistoryFilterOptions

  @Option(help: ArgumentHelp("Only changes of this object.", valueName: "uri"))
  var object: String?

  @Flag(help: "Show values before and after each change, if recorded; with --enable: record them.")
  var values = false

  @Flag(help: "Include the record at the beginning of the history; earlier changes are not recorded.")
  var beginning = false

  @Option(help: "The maximum number of transactions.")
  var limit: Int?

  @Option(help: "The output format.")
  var format = HistoryFormat.table

  @Flag(help: "Begin recording a history, or change what it records.")
  var enable = false

  @Flag(help: "Stop recording the history, and delete it.")
  var disable = false

  @Option(help: ArgumentHelp("Delete transactions before this position.", valueName: "token|date"))
  var purgeBefore: String?

  @Flag(help: "With --purge-before: include transactions that consumers have not read yet.")
  var force = false

  @Flag(help: "List the registered consumers of the history and their positions.")
  var consumers = false

  func validate() throws {
    let actions = [enable, disable, purgeBefore != nil, consumers].count { $0 }
    if actions > 1 { throw ValidationError("Use only one of --enable, --disable, --purge-before and --consumers.") }
    if actions == 1, [after, filter.author, filter.entity, object].contains(where: { $0 != nil }) || limit != nil || beginning {
      throw ValidationError("--after, --author, --entity, --object, --beginning and --limit apply only to listing.")
    }
    if force, purgeBefore == nil { throw ValidationError("--force requires --purge-before.") }
    if values, disable || purgeBefore != nil || consumers { throw ValidationError("--values applies only to listing and --enable.") }
    if let limit, limit < 1 { throw ValidationError("--limit must be 1 or more.") }
  }

  func run() async throws {
    // Report errors in the options before requesting a passphrase.
    let after = try after.map { try HistoryBound($0, option: "--after") }
    let before = try purgeBefore.map { try HistoryBound($0, option: "--purge-before") }
    let isReadOnly = !(enable || disable || before != nil)
    let container = try await PersistentContainer.open(try await store.unlock(), isReadOnly: isReadOnly) { description in
      if enable {
        description.historyTracking = true
        description.historyLevel = values ? .values : .properties
      }
      if disable { description.historyTracking = false }
    }
    try await container.closing { try await act(in: container, after, before) }
  }

  private func act(in container: PersistentContainer, _ after: HistoryBound?, _ before: HistoryBound?) async throws {
    let coordinator = container.persistentStoreCoordinator
    if enable || disable {
      let level = try coordinator.persistentStores.first?.historyLevel
      return Tool.note(level.map { "the store records a history of \($0.rawValue)" } ?? "the store records no history")
    }
    if let before {
      var request: PersistentHistoryChangeRequest
      switch before {
      case .token(let token): request = .deleteHistory(before: token)
      case .date(let date): request = .deleteHistory(before: date)
      }
      request.forcesDeletion = force
      _ = try coordinator.execute(request)
      return
    }
    let sink = OutputSink()
    if consumers { return try printConsumers(of: coordinator, to: sink) }
    let query = HistorySelection(
      after: after, author: filter.author, entity: filter.entity, object: object, limit: limit, showsValues: values,
      showsBeginning: beginning)
    let printer = HistoryPrinter(query, of: container, to: sink)
    switch format {
    case .table: try await printer.printTable()
    case .jsonl: try await printer.printLines()
    }
  }

  private func printConsumers(of coordinator: PersistentStoreCoordinator, to sink: OutputSink) throws {
    let columns = ["name", "token", "seen"]
    let writer = try (format == .table ? OutputFormat.table : .jsonl).writer(columns: columns, to: sink)
    for consumer in try coordinator.historyConsumers() {
      let seen = InstantText.text(consumer.lastSeen.timeIntervalSinceReferenceDate)
      try writer.write([
        .string(consumer.name), consumer.token.map { .string($0.description) } ?? .null, seen.map { .string($0) } ?? .null,
      ])
    }
    try writer.finish()
    try sink.flush()
  }
}

/// A position in a history, given by `--after` or `--purge-before` as a token or a date.
enum HistoryBound: Sendable {
  case token(PersistentHistoryToken)
  case date(Date)

  /// Parses an option.
  ///
  /// - Throws: ``ToolError`` if the text is neither a token nor a date.
  init(_ text: String, option: String) throws {
    if let token = PersistentHistoryToken(text) {
      self = .token(token)
    } else if let seconds = InstantText.seconds(text) {
      self = .date(Date(timeIntervalSinceReferenceDate: seconds))
    } else {
      throw ToolError(
        .badData,
        "\(option) takes a token, as `cipherdata history` prints them, or a date such as 2026-01-31T12:00:00Z; this is neither: \(text)")
    }
  }

  /// The token; `nil` for a date.
  var token: PersistentHistoryToken? { if case .token(let token) = self { token } else { nil } }

  /// The condition on transactions; `nil` for a token.
  var condition: FetchPredicate? {
    if case .date(let date) = self { .compare("timestamp", .greaterOrEqual, date) } else { nil }
  }
}

/// A query for a part of a history.
struct HistorySelection: Sendable {
  var after: HistoryBound?
  var author: String?
  /// The name of the entity; its subentities are included.
  var entity: String?
  /// The URI of an object.
  var object: String?
  /// The maximum number of transactions.
  var limit: Int?
  /// Whether values are shown, where the history has them.
  var showsValues = false
  /// Whether the record at the beginning of the history is included.
  var showsBeginning = false

  /// The condition on transactions.
  var transactions: FetchPredicate? {
    var conditions: [FetchPredicate] = []
    if let condition = after?.condition { conditions.append(condition) }
    if let author { conditions.append(.compare("author", .equal, author)) }
    // A condition on `kind` includes the record at the beginning, which is omitted by default.
    if showsBeginning { conditions.append(.compare("kind", .notEqual, "")) }
    return conditions.isEmpty ? nil : .and(conditions)
  }

  /// Returns the condition on changes.
  ///
  /// - Throws: ``ToolError`` if the model does not contain the entity.
  func changes(_ coordinator: PersistentStoreCoordinator) throws -> FetchPredicate? {
    var conditions: [FetchPredicate] = []
    if let entity {
      let model = coordinator.compiledModel
      let names = try model.requireEntity(named: entity).subtree.map { model.entities[$0].name }
      conditions.append(.compare("entity", .in, names))
    }
    if let object {
      guard let url = URL(string: object), let id = coordinator.managedObjectID(forURIRepresentation: url) else {
        throw ToolError(
          .badData, "--object takes the URI of an object of the store, as the column @id of fetch shows it; this is not one: \(object)")
      }
      conditions.append(.compare("object", .equal, id.uriString))
    }
    return conditions.isEmpty ? nil : .and(conditions)
  }
}

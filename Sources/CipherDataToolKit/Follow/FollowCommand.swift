import ArgumentParser
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore

/// Prints the results of a fetch request, and then their changes.
struct FollowCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "follow", abstract: "Print the results of a fetch request, and then their changes as other processes write.",
    discussion: """
      Positions are section and index: 2.0 is the first result of the third section. A line begins with + for an insertion, - for a \
      deletion (with the old position), > for a move (» if values other than sort keys changed too), and ~ for an update. Applied in \
      order, the changes result in what a new fetch would return.

      Ctrl-C stops it. If the store records a history (cipherdata history --enable), the token of the last state is then printed to \
      standard error, for --after of watch and history, and changes are read from the history. Without a history, the request is run \
      again after each commit, and only insertions, deletions, and moves are printed. The store is not polled.
      """)

  @OptionGroup
  var store: StoreOptions

  @Option(help: "The entity to fetch, including its subentities.")
  var entity: String

  @Option(name: .customLong("where"), parsing: .unconditional, help: ArgumentHelp("The condition.", valueName: "predicate"))
  var condition: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "The sort order: comma-separated key paths or computed values, each followed by asc or desc, or preceded by - for desc. By default, the unique values.",
      valueName: "keys"))
  var sort: String?

  @Option(
    parsing: .unconditional, help: ArgumentHelp("The key that defines the sections, and the first sort key.", valueName: "key"))
  var section: String?

  @Option(help: "The maximum number of results.")
  var limit: Int?

  @Option(
    help: ArgumentHelp(
      "The columns of each result: comma-separated key paths. By default, the unique values and the sort keys.", valueName: "paths"))
  var properties: String?

  @Option(help: "The output format.")
  var format = ResultsPrinter.Format.text

  @Option(name: .customLong("for"), help: ArgumentHelp("Stop after this number of seconds.", valueName: "seconds"))
  var seconds: Double?

  func validate() throws {
    if let seconds, !(seconds > 0) { throw ValidationError("--for takes a number of seconds above 0.") }
    if let limit, limit < 1 { throw ValidationError("--limit must be 1 or more.") }
  }

  func run() async throws {
    let container = try await PersistentContainer.open(try await store.unlock(), isReadOnly: true) { description in
      description.postsRemoteChangeNotifications = true
    }
    let isInterrupted = try await container.closing { try await follow(container) }
    if isInterrupted { throw ExitCode(ExitStatus.interrupted.rawValue) }
  }

  /// Follows the results until the time limit or an interrupt.
  ///
  /// - Returns: Whether the command was interrupted.
  @MainActor private func follow(_ container: PersistentContainer) async throws -> Bool {
    let coordinator = container.persistentStoreCoordinator
    let model = coordinator.compiledModel
    let query = try FollowQuery(
      entity: try model.requireEntity(named: entity), in: model, condition: condition, sort: sort, section: section, limit: limit,
      paths: properties?.split(separator: ",").map { $0.filter { $0 != " " } })
    // Observe before the first fetch, so that no change in between is missed.
    let remoteChanges = coordinator.remoteChanges()
    let hasHistory = try coordinator.currentPersistentHistoryToken() != nil
    let context = container.viewContext
    if hasHistory {
      // With a pinned query generation, it is known exactly which transactions the results include.
      try context.setQueryGeneration(from: .current)
      context.automaticallyMergesChangesFromParent = true
    }
    let controller = FetchedResultsController(fetchRequest: query.request, context: context, sectionNameExpression: query.section)
    let printer = ResultsPrinter(columns: query.columns, model: model, format: format, knowsValues: hasHistory, to: OutputSink())
    try controller.performFetch()
    try printer.print(controller)
    controller.delegate = printer
    var place = try context.queryGenerationToken?.historyToken
    let work = Task { @MainActor in
      for try await _ in remoteChanges {
        if hasHistory {
          context.processPendingChanges()
          place = try context.queryGenerationToken?.historyToken ?? place
        } else {
          // The changed objects are not known here: fetch again, and compare the results.
          try controller.performFetch()
        }
        try printer.check()
      }
    }
    let isTimeLimitReached = try await Self.wait(for: work, seconds)
    if let place { Tool.print(place.description, to: STDERR_FILENO) }
    return work.isCancelled && !isTimeLimitReached
  }

  /// Waits for a task until the time limit or an interrupt.
  ///
  /// - Returns: Whether the time limit was reached.
  @MainActor private static func wait(for work: Task<Void, any Error>, _ seconds: Double?) async throws -> Bool {
    var isTimeLimitReached = false
    let timer = seconds.map { seconds in
      Task { @MainActor in
        try? await Task.sleep(for: .seconds(seconds))
        if Task.isCancelled { return }
        isTimeLimitReached = true
        work.cancel()
      }
    }
    defer { timer?.cancel() }
    do { try await Interruption().cancelling(work) } catch is CancellationError {}
    return isTimeLimitReached
  }
}

/// A sorted request whose results are followed, with the columns that are shown.
struct FollowQuery {
  let request: FetchRequest<ManagedObject>
  /// The expression that names the sections.
  let section: FetchExpression?
  let columns: [PropertyPath]

  /// Parses the texts of options.
  ///
  /// - Throws: ``ToolError`` with ``ExitStatus/usage``.
  init(
    entity: CompiledEntity, in model: CompiledModel, condition: String?, sort: String?, section: String?, limit: Int?, paths: [String]?
  ) throws {
    var request = FetchRequest<ManagedObject>(entityName: entity.name)
    request.predicate = try condition.map { try OptionText.predicate($0, option: "--where") }
    let sectionKey = try section.map { try FollowQuery.key($0, option: "--section") }
    var order = try sort.map { try OptionText.sortDescriptors($0) } ?? []
    let identity = IdentityTable(model).constraints(of: entity).first { !$0.hasRelationships }
    let names = identity?.slots.map { entity.slots[$0].name } ?? []
    if sort == nil { order = try (names.isEmpty ? [FollowQuery.firstAttribute(of: entity)] : names).map { FetchSortDescriptor($0) } }
    // The sort order begins with the sections.
    if let sectionKey, order.first?.expression != sectionKey.expression { order.insert(sectionKey, at: 0) }
    request.sortDescriptors = order
    request.fetchLimit = limit ?? 0
    self.request = request
    self.section = sectionKey?.expression
    columns = try FollowQuery.columns(paths, of: entity, in: model, names: names, order: order, section: self.section)
  }

  /// Returns the selected columns; by default, the identifying attributes and the sort keys.
  private static func columns(
    _ paths: [String]?, of entity: CompiledEntity, in model: CompiledModel, names: [String], order: [FetchSortDescriptor],
    section: FetchExpression?
  ) throws -> [PropertyPath] {
    if let paths { return try paths.map { try PropertyPath($0, of: entity, in: model) } }
    var columns: [PropertyPath] = []
    let sorted = order.filter { $0.expression != section }.compactMap(\.keyPath)
    for path in names + sorted where !columns.contains(where: { $0.text == path }) {
      // Computed expressions are not columns.
      if let column = try? PropertyPath(path, of: entity, in: model) { columns.append(column) }
    }
    return columns.isEmpty ? [try PropertyPath("@id", of: entity, in: model)] : columns
  }

  private static func key(_ text: String, option: String) throws -> FetchSortDescriptor {
    let keys = try OptionText.sortDescriptors(text, option: option)
    guard let key = keys.first, keys.count == 1 else { throw ToolError(.usage, "\(option) takes one key; \(keys.count) are given.") }
    return key
  }

  /// Returns any sortable attribute of the entity. It is used if there is neither a unique attribute nor a requested order, so that the
  /// order does not matter.
  private static func firstAttribute(of entity: CompiledEntity) throws -> String {
    guard
      let slot = entity.slots.first(where: { slot in
        slot.attribute != nil && !slot.isTransient && (slot.kind == .int || slot.kind == .real || slot.kind == .text)
      })
    else {
      throw ToolError(.usage, "\(entity.name) has no attribute to sort by; name a key with --sort.")
    }
    return slot.name
  }
}

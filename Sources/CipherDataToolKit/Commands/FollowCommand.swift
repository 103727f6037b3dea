import ArgumentParser
import Foundation
import ObjectContext
import ObjectModel
import ObjectStore

/// Prints the results of a fetch request, and then their changes.
struct FollowCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "follow", abstract: "Print the results of a question, and then each change of them as others write.",
    discussion: """
      The places are those of the list: 2.0 is the first result of the third section. A line begins with + for a result that has come, - for one that has gone (with the place that \
      it had), > for one that has moved (» where values that it is not sorted by were changed too), and ~ for one with other values. Applied one after the other, the changes make \
      the list what a fetch would find.

      Ctrl-C ends it. Where the store keeps a history (cipherdata history --enable), the place that the list has come to is then printed to standard error, for --after of watch and history, \
      and a change is read by what the history says. Without one everything is asked again after each commit, and only what has come, gone and moved is told. Nothing is polled.
      """)

  @OptionGroup
  var store: StoreOptions

  @Option(help: "The entity whose objects are wanted, those of entities below it included.")
  var entity: String

  @Option(name: .customLong("where"), parsing: .unconditional, help: ArgumentHelp("The condition.", valueName: "predicate"))
  var condition: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "The order: key paths or computed values parted by commas, each with asc or desc behind it, or - before it for desc. By default that of the unique values.",
      valueName: "keys"))
  var sort: String?

  @Option(
    parsing: .unconditional, help: ArgumentHelp("What parts the results into sections; they are sorted by it first.", valueName: "key"))
  var section: String?

  @Option(help: "The greatest number of results.")
  var limit: Int?

  @Option(
    help: ArgumentHelp(
      "What is shown of each result: key paths parted by commas. By default the unique values and those of the order.", valueName: "paths"))
  var properties: String?

  @Option(help: "The form of the output.")
  var format = ResultsPrinter.Format.text

  @Option(name: .customLong("for"), help: ArgumentHelp("End after so long.", valueName: "seconds"))
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
    let question = try FollowQuestion(
      entity: try model.requireEntity(named: entity), in: model, condition: condition, sort: sort, section: section, limit: limit,
      paths: properties?.split(separator: ",").map { $0.filter { $0 != " " } })
    // Observe before the first fetch, so that no change in between is missed.
    let notices = coordinator.remoteChanges()
    let hasHistory = try coordinator.currentPersistentHistoryToken() != nil
    let context = container.viewContext
    if hasHistory {
      // With a pinned query generation, it is known exactly which transactions the results include.
      try context.setQueryGeneration(from: .current)
      context.automaticallyMergesChangesFromParent = true
    }
    let controller = FetchedResultsController(fetchRequest: question.request, context: context, sectionNameExpression: question.section)
    let printer = ResultsPrinter(columns: question.columns, model: model, format: format, knowsValues: hasHistory, to: OutputSink())
    try controller.performFetch()
    try printer.print(controller)
    controller.delegate = printer
    var place = try context.queryGenerationToken?.historyToken
    let work = Task { @MainActor in
      for try await _ in notices {
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
    let isTimeOver = try await Self.wait(for: work, seconds)
    if let place { Tool.print(place.description, to: STDERR_FILENO) }
    return work.isCancelled && !isTimeOver
  }

  /// Waits for a task until the time limit or an interrupt.
  ///
  /// - Returns: Whether the time limit was reached.
  @MainActor private static func wait(for work: Task<Void, any Error>, _ seconds: Double?) async throws -> Bool {
    var isTimeOver = false
    let timer = seconds.map { seconds in
      Task { @MainActor in
        try? await Task.sleep(for: .seconds(seconds))
        if Task.isCancelled { return }
        isTimeOver = true
        work.cancel()
      }
    }
    defer { timer?.cancel() }
    do { try await Interruption().cancelling(work) } catch is CancellationError {}
    return isTimeOver
  }
}

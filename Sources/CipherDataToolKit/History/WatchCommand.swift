import ArgumentParser
import Foundation
import ObjectContext
import ObjectStore
import Synchronization

/// Prints the transactions that are written to a store.
struct WatchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch", abstract: "Print transactions as other processes write them to a store.",
    discussion: """
      The store must record a history (cipherdata history --enable). Output begins after the newest transaction, or after a given one. \
      Ctrl-C stops it and prints the last token to standard error. Pass that token to --after the next time to miss nothing in between. \
      The store is not polled.
      """)

  @OptionGroup
  var store: StoreOptions

  @Option(help: ArgumentHelp("Begin after this transaction.", valueName: "token"))
  var after: String?

  @OptionGroup
  var filter: HistoryFilterOptions

  @Option(help: "The output format.")
  var format = HistoryLinePrinter.Format.text

  @Option(name: .customLong("for"), help: ArgumentHelp("Stop after this number of seconds.", valueName: "seconds"))
  var seconds: Double?

  func validate() throws {
    if let seconds, !(seconds > 0) { throw ValidationError("--for takes a number of seconds above 0.") }
  }

  func run() async throws {
    let after = try after.map { text in
      guard let token = PersistentHistoryToken(text) else {
        throw ToolError(.badData, "--after takes a token, as `cipherdata history` and `watch` print them; this is not one: \(text)")
      }
      return token
    }
    let container = try await PersistentContainer.open(try await store.unlock(), isReadOnly: true) { description in
      description.postsRemoteChangeNotifications = true
    }
    let last = WatchState()
    let isInterrupted = try await container.closing { try await watch(container, after: after, last) }
    if let token = last.value { Tool.print(token.description, to: STDERR_FILENO) }
    if isInterrupted { throw ExitCode(ExitStatus.interrupted.rawValue) }
  }

  /// Prints the history until the time limit or an interrupt.
  ///
  /// - Returns: Whether the command was interrupted.
  private func watch(_ container: PersistentContainer, after: PersistentHistoryToken?, _ last: WatchState) async throws -> Bool {
    let coordinator = container.persistentStoreCoordinator
    // Fail immediately if the store records no history or the token is not from it.
    var check = PersistentHistoryChangeRequest.fetchHistory(after: after)
    (check.resultType, check.fetchLimit) = (.transactionsOnly, 1)
    _ = try coordinator.execute(check)
    let query = HistorySelection(author: filter.author, entity: filter.entity)
    let begin = try after ?? coordinator.currentPersistentHistoryToken()
    if let begin { last.set(begin) }
    let changes = try query.changes(coordinator)
    let observer = HistoryObserver(coordinator, after: begin, where: query.transactions, changes: changes)
    let format = format
    let work = Task {
      let sink = OutputSink()
      var printer = HistoryLinePrinter(container, changes: changes, format: format, showsValues: false, to: sink)
      for try await transaction in observer {
        try await printer.print(transaction)
        // Output must appear immediately.
        try sink.flush()
        if !transaction.isContinued { last.set(transaction.token) }
      }
    }
    let timer = seconds.map { seconds in
      Task {
        try? await Task.sleep(for: .seconds(seconds))
        last.markTimeLimitReached()
        work.cancel()
      }
    }
    defer { timer?.cancel() }
    do {
      try await Interruption().cancelling(work)
    } catch is CancellationError {}
    return work.isCancelled && !last.isTimeLimitReached
  }
}

/// The token of the last printed transaction, and whether the time limit was reached.
private final class WatchState: Sendable {
  private let state = Mutex<(token: PersistentHistoryToken?, isTimeLimitReached: Bool)>((nil, false))
  var value: PersistentHistoryToken? { state.withLock { $0.token } }
  var isTimeLimitReached: Bool { state.withLock { $0.isTimeLimitReached } }
  func set(_ value: PersistentHistoryToken) { state.withLock { $0.token = $0.token?.merging(value) ?? value } }
  func markTimeLimitReached() { state.withLock { $0.isTimeLimitReached = true } }
}

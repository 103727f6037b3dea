import ObjectModel
import ObjectStore
import Synchronization

/// Records what an observer sees, as lines of text.
final class RecordingObserver: TransactionObserver {
  struct Rejection: Error, Equatable {}

  private struct State {
    var lines: [String] = []
    var rows: [ChangedRow] = []
    var links: [ChangedLinks] = []
    var rejects = false
    var lastTransaction: ObservedTransaction?
  }
  private let state = Mutex(State())

  var rejects: Bool {
    get { state.withLock { $0.rejects } }
    set { state.withLock { $0.rejects = newValue } }
  }
  var lastTransaction: ObservedTransaction? { state.withLock { $0.lastTransaction } }

  /// Returns the lines since the last call, some of them sorted.
  func takeLines(sorted range: Range<Int>? = nil) -> [String] {
    var lines = state.withLock { state in
      defer { (state.lines, state.rows) = ([], []) }
      return state.lines
    }
    if let range, range.upperBound <= lines.count { lines[range].sort() }
    return lines
  }

  /// Returns the rows since the last call of ``takeLines(sorted:)``.
  func takeRows() -> [ChangedRow] {
    state.withLock { state in
      defer { state.rows = [] }
      return state.rows
    }
  }

  /// Returns the changes of links since the last call.
  func takeLinks() -> [ChangedLinks] {
    state.withLock { state in
      defer { state.links = [] }
      return state.links
    }
  }

  private func record(_ line: String, _ row: ChangedRow? = nil) {
    state.withLock { state in
      state.lines.append(line)
      if let row { state.rows.append(row) }
    }
  }

  func didChange(_ change: RowChange, in transaction: ObservedTransaction) {
    switch change {
    case .insert(let row): record("insert \(row.entityName)", row)
    case .update(let row):
      record("\(row.isDerived ? "derived" : "update") \(row.entityName) \(row.changedProperties.joined(separator: ", "))", row)
    case .delete(let row): record("delete \(row.entityName)", row)
    case .links(let links):
      state.withLock { $0.links.append(links) }
      record("\(links.objectID.entityName).\(links.relationshipName) -\(links.removed.count) +\(links.added.count)")
    case .order(let order):
      record("order \(order.objectID.entityName).\(order.relationshipName) \(order.members.map { "\($0.key)" }.joined(separator: ", "))")
    case .schema(let change): record("schema \(change.kind) \(change.entityName).\(change.propertyName ?? "")")
    case .unspecified: record("unspecified")
    }
  }

  func willCommit(_ transaction: ObservedTransaction) throws {
    record("will commit")
    if rejects { throw Rejection() }
  }

  func didUndoChanges(in transaction: ObservedTransaction, keeping count: Int) { record("undone to \(count)") }

  func didCommit(_ transaction: ObservedTransaction) {
    record("did commit")
    state.withLock { $0.lastTransaction = transaction }
  }

  func didRollback(_ transaction: ObservedTransaction) { record("did roll back") }
}

/// Calls closures. They run on the thread of the test.
final class CallbackObserver: TransactionObserver, @unchecked Sendable {
  var change: () -> Void = {}
  let willCommit: (ObservedTransaction) throws -> Void
  var commit: () -> Void = {}

  init(willCommit: @escaping (ObservedTransaction) throws -> Void) { self.willCommit = willCommit }

  func didChange(_ change: RowChange, in transaction: ObservedTransaction) { self.change() }
  func willCommit(_ transaction: ObservedTransaction) throws { try willCommit(transaction) }
  func didUndoChanges(in transaction: ObservedTransaction, keeping count: Int) {}
  func didCommit(_ transaction: ObservedTransaction) { commit() }
  func didRollback(_ transaction: ObservedTransaction) {}
}

import ObjectStore
import SQLCipherConnection
import Synchronization

/// The rows of a batch request that affects many: a compact set for each number, which the SQL of the request refers to as
/// ``BatchRows/chosen(_:)``.
///
/// The keys are known before the first change, since the changes can affect which rows meet the request's predicate.
final class ChosenRows: Sendable {
  /// The sets of the request that the current thread executes.
  @TaskLocal static var current: ChosenRows?

  private let sets = Mutex<[Int: RowKeySet]>([:])

  subscript(number: Int) -> RowKeySet {
    get { sets.withLock { $0[number] ?? RowKeySet() } }
    set { sets.withLock { $0[number] = newValue } }
  }

  func contains(_ key: Int64, in number: Int) -> Bool { sets.withLock { $0[number]?.contains(key) ?? false } }

  /// The size of all sets in memory, in bytes.
  var byteCount: Int { sets.withLock { sets in sets.values.reduce(0) { $0 + $1.byteCount } } }

  static func register(on connection: Connection) throws {
    try connection.registerFunction(name: SQLFunctions.isChosen, argumentCount: 2, deterministic: false) { call in
      if call.isNull(1) { return call.setResultNull() }
      guard let current else { return call.setError("no batch request is running") }
      call.setResult(current.contains(call.int64(1), in: Int(call.int64(0))))
    }
  }
}

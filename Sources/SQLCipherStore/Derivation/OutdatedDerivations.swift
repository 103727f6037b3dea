import ObjectModel
import SQLCipherConnection
import Synchronization

/// The rows that triggers have marked since the beginning of the transaction, by derivation and by position in its path. Only the writer
/// uses it.
final class OutdatedDerivations: Sendable {
  private struct State {
    var identities: [[UInt8]] = []
    var rows: [[Set<Int64>]] = []
    var areLocal: [Bool] = []
    var isEmpty = true
    /// Whether the derivations are set. While the store is being opened, they are not, and calls of triggers are ignored.
    var isPrepared = false
  }
  private let state = Mutex(State())

  func prepare(for derivations: [StoreDerivation]) {
    state.withLock { state in
      state.identities = derivations.map { Array($0.identity.utf8) }
      state.rows = derivations.map { Array(repeating: [], count: $0.positionCount) }
      state.areLocal = derivations.map { $0.derivation.isLocal }
      state.isEmpty = true
      state.isPrepared = true
    }
  }

  /// Registers the function that triggers call on a connection.
  func register(on connection: Connection) throws {
    try connection.registerFunction(name: SQLFunctions.derive, argumentCount: 3) { [self] call in
      if call.isNull(2) { return call.setResultNull() }
      let isKnown = record(call.text(0), position: Int(call.int64(1)), key: call.int64(2))
      // Another process has opened the store with other derivations. Writing here would leave their values outdated.
      if isKnown { call.setResultNull() } else { call.setError("the derived attributes of the store were changed; open it again") }
    }
  }

  private func record(_ identity: UnsafeRawBufferPointer, position: Int, key: Int64) -> Bool {
    state.withLock { state in
      guard let number = state.identities.firstIndex(where: { $0.count == identity.count && identity.elementsEqual($0) }),
        state.rows[number].indices.contains(position)
      else { return !state.isPrepared }
      state.rows[number][position].insert(key)
      state.isEmpty = false
      return true
    }
  }

  /// Removes all marks, at the beginning of a request.
  func reset() {
    state.withLock { state in
      if state.isEmpty { return }
      for number in state.rows.indices {
        for position in state.rows[number].indices where !state.rows[number][position].isEmpty { state.rows[number][position] = [] }
      }
      state.isEmpty = true
    }
  }

  /// Removes the marks of attributes that depend only on their own row. Their values were computed before the row was written.
  func removeLocalMarks() {
    state.withLock { state in
      if state.isEmpty { return }
      for number in state.rows.indices where state.areLocal[number] { state.rows[number][0] = [] }
    }
  }

  /// Returns the marked rows of a derivation by position, and removes the marks.
  func take(_ number: Int) -> [Set<Int64>] {
    state.withLock { state in
      if state.isEmpty { return [] }
      let rows = state.rows[number]
      for position in rows.indices where !rows[position].isEmpty { state.rows[number][position] = [] }
      return rows
    }
  }
}

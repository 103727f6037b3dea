import ObjectModel
import SQLCipherConnection
import Synchronization

/// The rows that triggers have noted since the transaction began: by derivation and by position of its path. One writer uses it at a time.
final class DerivationMarks: Sendable {
  private struct State {
    var identities: [[UInt8]] = []
    var rows: [[Set<Int64>]] = []
    var areLocal: [Bool] = []
    var isEmpty = true
    /// False while the store is opened: what is filled then is noted by nobody.
    var isPrepared = false
  }
  private let state = Mutex(State())

  /// Knows the derivations of a store.
  func prepare(for derivations: [StoreDerivation]) {
    state.withLock { state in
      state.identities = derivations.map { Array($0.identity.utf8) }
      state.rows = derivations.map { Array(repeating: [], count: $0.positionCount) }
      state.areLocal = derivations.map { $0.derivation.isLocal }
      state.isEmpty = true
      state.isPrepared = true
    }
  }

  /// Makes the function known to a connection.
  func register(on connection: Connection) throws {
    try connection.registerFunction(name: SQLFunctions.derive, argumentCount: 3) { [self] call in
      if call.isNull(2) { return call.setResultNull() }
      let isKnown = note(call.text(0), position: Int(call.int64(1)), key: call.int64(2))
      // Another process has opened the store with other derivations since: what is written here would leave their values wrong.
      if isKnown { call.setResultNull() } else { call.setError("the derived attributes of the store were changed; open it again") }
    }
  }

  private func note(_ identity: UnsafeRawBufferPointer, position: Int, key: Int64) -> Bool {
    state.withLock { state in
      guard let number = state.identities.firstIndex(where: { $0.count == identity.count && identity.elementsEqual($0) }),
        state.rows[number].indices.contains(position)
      else { return !state.isPrepared }
      state.rows[number][position].insert(key)
      state.isEmpty = false
      return true
    }
  }

  /// Forgets everything, at the beginning of a piece of work.
  func reset() {
    state.withLock { state in
      if state.isEmpty { return }
      for number in state.rows.indices {
        for position in state.rows[number].indices where !state.rows[number][position].isEmpty { state.rows[number][position] = [] }
      }
      state.isEmpty = true
    }
  }

  /// Forgets rows whose values were computed before they were written: of attributes that depend on their own row only.
  func forgetLocal() {
    state.withLock { state in
      if state.isEmpty { return }
      for number in state.rows.indices where state.areLocal[number] { state.rows[number][0] = [] }
    }
  }

  /// The rows of a derivation by position, which are forgotten.
  func take(_ number: Int) -> [Set<Int64>] {
    state.withLock { state in
      if state.isEmpty { return [] }
      let rows = state.rows[number]
      for position in rows.indices where !rows[position].isEmpty { state.rows[number][position] = [] }
      return rows
    }
  }
}

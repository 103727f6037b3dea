import ObjectStore

/// The side tables of a component in an open store, for the component's own transactions.
package struct SideTableAccess: Sendable {
  private let engine: StoreEngine
  private let component: SideTableComponent
  private let isReadOnly: Bool

  init(_ engine: StoreEngine, _ component: SideTableComponent, isReadOnly: Bool) {
    (self.engine, self.component, self.isReadOnly) = (engine, component, isReadOnly)
  }

  /// The state of the tables. Throws if the store cannot be read.
  package enum State: Sendable, Hashable {
    /// The tables are created by the first statement that writes.
    case absent
    case usable
    /// The tables are damaged or lack changes, see ``SideTableAccess/recreate()``.
    case damaged
    /// The tables have another version, and are left alone.
    case otherFormat(Int)
  }

  /// Returns the state of the tables as far as it has been noticed.
  package func state() throws -> State {
    try StoreError.mapping {
      try engine.read { _ in
        guard let record = engine.sideTables[component.tables.name] else { return .absent }
        if record.format != component.tables.format { return .otherFormat(record.format) }
        return record.isDamaged ?? false ? .damaged : .usable
      }
    }
  }

  /// Runs `body` with a snapshot of the store, or inside the current transaction over several requests.
  ///
  /// - Throws: Any error of the body; ``StoreError`` with ``StoreError/Code/storeCorrupt`` if the tables are damaged.
  package func read<Result>(_ body: (StoreTransaction) throws -> Result) throws -> Result {
    try StoreError.mapping { try engine.read { try body(handle($0, isWritable: false)) } }
  }

  /// Runs `body` in a write transaction of its own, or as a part of the current transaction over several requests.
  ///
  /// - Throws: Any error of the body; ``StoreError`` with ``StoreError/Code/storeCorrupt`` if the tables are damaged. Nothing is written then.
  package func write<Result>(_ body: (StoreTransaction) throws -> Result) throws -> Result {
    try checkIsWritable()
    return try StoreError.mapping { try engine.write { try body(handle($0.reading, isWritable: true)) } }
  }

  /// The tables in the transaction over several requests that the caller is in, or nil outside of one. Valid until it ends.
  package var current: StoreTransaction? { engine.currentTransaction.map { handle($0, isWritable: !isReadOnly) } }

  /// Drops the tables. Those whose pages are damaged are renamed instead.
  package func remove() throws { try replace(creates: false) }

  /// Drops the tables and creates them again, empty and with the current version, whatever their state.
  package func recreate() throws { try replace(creates: true) }

  private func replace(creates: Bool) throws {
    try checkIsWritable()
    try StoreError.mapping {
      try engine.replacingSideTables { transaction, keepsPages in
        let list = SideTableList(connection: transaction.connection, path: engine.path)
        try list.remove(component.tables.name, keepsPages: keepsPages)
        if creates { try list.create(component.tables) }
      }
    }
  }

  private func handle(_ transaction: ReadTransaction, isWritable: Bool) -> StoreTransaction {
    StoreTransaction(component: component, registry: engine.sideTables, connection: transaction.connection, isWritable: isWritable)
  }

  private func checkIsWritable() throws {
    if isReadOnly { throw StoreError(.readOnlyStore, operation: .write, path: engine.path) }
  }
}

extension SQLCipherIncrementalStore {
  /// Returns the side tables of a component that the store's description lists, or nil if it does not.
  package func sideTables(of owner: any SideTableOwner) throws -> SideTableAccess? {
    let engine = try engine(.read)
    return engine.sideTables.components.first { $0.owner === owner }.map {
      SideTableAccess(engine, $0, isReadOnly: configuration.description.isReadOnly)
    }
  }
}

package import ObjectModel
package import ObjectStore
import SQLCipherConnection

/// A component of a module above that owns tables in the stores that it is registered for, see
/// ``PersistentStoreDescription/sideTableOwners``.
package protocol SideTableOwner: AnyObject, Sendable {
  /// The tables, constant.
  var sideTables: SideTables { get }

  /// Returns a consumer of the changes of a request, or nil if the component does not need them. Called at the beginning of each request
  /// that writes objects. Not called while the component's tables are damaged.
  ///
  /// A migration calls it for the changes of each stage that follow from the models, which can be an empty list, and for each request of the
  /// stage's handlers; for the opening of a store, see ``RowChange/schema(_:)``. The changes are the same as for a ``TransactionObserver``,
  /// in terms of the model that the store is migrated to.
  func makeConsumer(
    _ origin: TransactionOrigin, model: CompiledModel, in transaction: StoreTransaction
  ) throws -> (any SideTableConsumer)?

  /// Called before the store keeps less of what the component can depend on. The default implementation does nothing.
  ///
  /// - Throws: Any error, which prevents the change and reaches the caller.
  func willReduce(_ reduction: TrackingReduction, in transaction: StoreTransaction) throws
}

extension SideTableOwner {
  package func willReduce(_ reduction: TrackingReduction, in transaction: StoreTransaction) throws {}
}

/// Something that a store keeps no longer.
package enum TrackingReduction: Sendable, Hashable {
  /// The history is disabled, or has another level from now on.
  case history(HistorySettings?)
  /// The stable IDs of all objects are removed.
  case stableIDs
  /// The stable IDs that deleted objects have from other stores are removed.
  case stableIDsOfDeletedObjects
}

/// A consumer of the changes of one request, which writes to the tables of its component in the request's transaction. An error rolls the
/// request back and reaches the caller, unless the tables are damaged: the request is then repeated without the component.
package protocol SideTableConsumer: ChangeConsumer {
  /// Called after all changes of the request, before its transaction, or its part of a transaction, is committed.
  func finish() throws
}

/// A transaction of a store in which a component reads and writes its own tables. Valid during the call, or the request, that it was passed
/// to.
package struct StoreTransaction {
  let component: SideTableComponent
  let registry: SideTableRegistry
  let connection: Connection
  /// Whether the transaction can write.
  let isWritable: Bool

  /// Runs a statement that changes rows of the component's tables. The first one creates the tables.
  ///
  /// - Returns: The number of changed rows.
  /// - Throws: ``StoreError`` if the statement uses other tables, or is not a single statement that reads or writes rows.
  @discardableResult
  package func execute(_ sql: String, _ arguments: Slot...) throws -> Int {
    guard isWritable else { throw StoreError(.sideTablesReadOnly, operation: .write, path: registry.path) }
    _ = try registry.prepare(component.tables, connection, createsTables: true)
    try run(sql, arguments) { try $0.run() }
    return connection.changes
  }

  /// Runs a query over the component's tables. If they have not been created yet, there are no rows.
  ///
  /// - Parameters:
  ///   - sql: The statement. The connection keeps it prepared.
  ///   - arguments: The values of its placeholders.
  ///   - body: Called for each row. It must not run the same statement.
  package func query(_ sql: String, _ arguments: Slot..., row body: (SideTableRow) throws -> Void) throws {
    do {
      guard try registry.prepare(component.tables, connection, createsTables: false) else {
        return try component.check(sql, path: registry.path)
      }
      try run(sql, arguments) { statement in
        while try statement.step() { try body(SideTableRow(statement: statement)) }
      }
    } catch let failure as SideTableFailure where !isWritable {
      // Another connection of the store may have read that the tables exist, which this snapshot is too old for.
      guard let records = try? MetadataTable.readSideTables(connection, path: registry.path), records[component.tables.name] == nil else {
        throw failure
      }
    }
  }

  private func run(_ sql: String, _ arguments: [Slot], _ body: (Statement) throws -> Void) throws {
    try component.check(sql, path: registry.path)
    try SideTableFailure.converting(component.tables.name) {
      let statement = try connection.statement(sql: sql)
      defer { statement.reset() }
      for (position, argument) in arguments.enumerated() { try statement.bind(Int32(position + 1), argument) }
      registry.trace.record(statement)
      try body(statement)
    }
  }
}

/// A row of a query over side tables. Valid during the call that it was passed to.
package struct SideTableRow {
  let statement: Statement

  package func isNull(_ column: Int) -> Bool { statement.isNull(Int32(column)) }
  package func int64(_ column: Int) -> Int64 { statement.int64(Int32(column)) }
  package func double(_ column: Int) -> Double { statement.double(Int32(column)) }
  package func text(_ column: Int) -> String { statement.text(Int32(column)) }
  package func bytes(_ column: Int) -> [UInt8] { Array(statement.data(Int32(column))) }
  package func slot(_ column: Int) -> Slot { statement.slot(Int32(column)) }
}

import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreKeys

/// The one statement that a fault costs. A class, so that what it needs is not copied each time.
final class SingleRowRead {
  let table: EntityTable
  private let statements: StoreStatements
  private let trace: StatementTrace

  init(of table: EntityTable, statements: StoreStatements, trace: StatementTrace) {
    self.table = table
    self.statements = statements
    self.trace = trace
  }

  /// The row of a key; nil when there is none.
  @inline(__always) func row(_ key: Int64, _ transaction: ReadTransaction, into writer: RowWriter) throws -> RowImage? {
    let statement = try statements.statement(.rows(table: table.index, .one), on: transaction.connection)
    defer { statement.reset() }
    try statement.bind(1, key)
    trace.note(statement)
    trace.note(.rows(entity: table.root.name), objects: 1)
    guard try statement.step() else {
      try transaction.connection.checkSentinel()
      return nil
    }
    try table.readRow(statement, into: writer)
    let image = writer.endRow()
    // SQLCipher reports a damaged page, except the last overflow page of a statement, which it hands out as zeros and remembers: that is what
    // the sentinel asks. A row this small has no overflow pages, even on pages of 1,024 bytes, so nothing can have been handed out.
    if image.size > table.safeRowSize { try transaction.connection.checkSentinel() }
    return image
  }
}

/// Keeps what the last read of a row used: the reader with its snapshot and statements, and memory for the next row.
///
/// Not `Sendable`: a context has its own. Between two reads nothing is held, see ``ConnectionPool/takeSnapshot(_:isRenewed:)``, but the state that it was made for.
final class StoreRowReader: RowReader {
  private let engine: StoreEngine
  /// The state that is read; nil for the newest.
  private let generation: SnapshotGeneration?
  /// The engine's pool; nil where it has none.
  // `Unmanaged`: the engine holds it for as long as it lives. Callbacks know the pool weakly, which makes each retain a slow one.
  private let pool: Unmanaged<ConnectionPool>?
  private let writer: RowWriter
  // One caller at a time, and nothing here calls back.
  @exclusivity(unchecked) private var last: PooledReader?
  @exclusivity(unchecked) private var isRenewed = false
  /// How rows of the entity that was asked for last are read.
  @exclusivity(unchecked) private var read: SingleRowRead?
  @exclusivity(unchecked) private var entity = -1

  init(_ engine: StoreEngine, of generation: SnapshotGeneration?) {
    self.engine = engine
    self.generation = generation
    writer = engine.makeSingleRowWriter()
    pool = (try? engine.pool).map { Unmanaged.passUnretained($0) }  // see above
  }

  // A state that holds still is always the same.
  func renew() { isRenewed = true }

  func row(_ reference: ObjectReference) throws -> RowImage? {
    if entity != reference.entity {
      let table = try engine.schema.table(of: reference.entity)
      read = SingleRowRead(of: table, statements: engine.statements, trace: engine.trace)
      entity = reference.entity
    }
    defer { writer.forgetRows() }
    do {
      if let generation { return try generation.read(checks: false) { try read?.row(reference.key, $0, into: writer) } }
      if let transaction = engine.heldTransaction {
        let row = try read?.row(reference.key, transaction, into: writer)
        try transaction.connection.checkSentinel()
        return row
      }
      // Where there is none, asking for it says why.
      let pool = try pool ?? Unmanaged.passUnretained(engine.pool)
      return try pool._withUnsafeGuaranteedRef { try row(reference.key, from: $0) }
    } catch {
      writer.abandonRow()
      throw (error as? StoreAccessError).map { StoreError($0) } ?? error
    }
  }

  @inline(__always) private func row(_ key: Int64, from pool: ConnectionPool) throws -> RowImage? {
    let reader = try pool.takeSnapshot(last, isRenewed: isRenewed)
    if reader !== last { last = reader }
    isRenewed = false
    do {
      let row = try read?.row(key, ReadTransaction(connection: reader.connection), into: writer)
      pool.putBack(reader)
      return row
    } catch {
      pool.giveBackAfterError(reader)
      throw error
    }
  }
}

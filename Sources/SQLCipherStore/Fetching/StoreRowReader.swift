import ObjectModel
package import ObjectQuery
package import ObjectStore
import SQLCipherConnection
import StoreKeys

/// The statement that fulfills a fault. A class, so that its properties are not copied for each read.
final class SingleRowRead {
  let table: EntityTable
  private let statements: StoreStatements
  private let trace: StatementTrace

  init(of table: EntityTable, statements: StoreStatements, trace: StatementTrace) {
    self.table = table
    self.statements = statements
    self.trace = trace
  }

  /// Returns the row with a key, or `nil` if there is none.
  @inline(__always) func row(_ key: Int64, _ transaction: ReadTransaction, into writer: RowWriter) throws -> RowImage? {
    let statement = try statements.statement(.rows(table: table.index, .one), on: transaction.connection)
    defer { statement.reset() }
    try statement.bind(1, key)
    trace.record(statement)
    trace.record(.rows(entity: table.root.name), objects: 1)
    guard try statement.step() else {
      try transaction.connection.checkSentinel()
      return nil
    }
    try table.readRow(statement, into: writer)
    let image = writer.endRow()
    // SQLCipher reports damaged pages, except for the last overflow page of a statement: it returns that as zeros and remembers the error,
    // which the sentinel checks. A row this small has no overflow pages, even with pages of 1,024 bytes.
    if image.size > table.safeRowSize { try transaction.connection.checkSentinel() }
    return image
  }
}

/// Reads single rows of an open store for one context, and keeps what the last read used: the reader with its snapshot and statements, and
/// memory for the next row.
///
/// Not `Sendable`: each context has its own. Between two reads it holds no locks, see ``ConnectionPool/takeSnapshot(_:isRenewed:)``; it
/// retains only the generation that it was made for.
final class StoreRowReader: RowReader {
  private let engine: StoreEngine
  /// The generation to read, or `nil` for the newest state.
  private let generation: SnapshotGeneration?
  /// The engine's pool, or `nil` if it has none.
  // `Unmanaged`: the engine retains the pool for its whole lifetime. Callbacks have weak references to the pool, which makes each retain
  // slow.
  private let pool: Unmanaged<ConnectionPool>?
  private let writer: RowWriter
  // One caller at a time uses the reader, and no callbacks reenter it.
  @exclusivity(unchecked) private var last: PooledReader?
  @exclusivity(unchecked) private var isRenewed = false
  /// The statement for rows of the entity that was read last.
  @exclusivity(unchecked) private var read: SingleRowRead?
  @exclusivity(unchecked) private var entity = -1

  init(_ engine: StoreEngine, of generation: SnapshotGeneration?) {
    self.engine = engine
    self.generation = generation
    writer = engine.makeSingleRowWriter()
    pool = (try? engine.pool).map { Unmanaged.passUnretained($0) }  // see above
  }

  // A generation does not change, so this affects only reads of the newest state.
  func renew() { isRenewed = true }

  func row(_ reference: ObjectReference) throws -> RowImage? {
    if entity != reference.entity {
      let table = try engine.schema.table(of: reference.entity)
      read = SingleRowRead(of: table, statements: engine.statements, trace: engine.trace)
      entity = reference.entity
    }
    defer { writer.removeAllRows() }
    do {
      if let generation { return try generation.read(checks: false) { try read?.row(reference.key, $0, into: writer) } }
      if let transaction = engine.currentTransaction {
        let row = try read?.row(reference.key, transaction, into: writer)
        try transaction.connection.checkSentinel()
        return row
      }
      // Without a pool, this access throws the reason.
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
      pool.returnReader(reader)
      return row
    } catch {
      pool.returnReaderAfterError(reader)
      throw error
    }
  }
}

// MARK: - Conformances of the store

extension SQLCipherIncrementalStore: SingleRowStore {
  package func makeRowReader(of generation: (any StoreGeneration)?) throws -> any RowReader {
    let engine = try engine(.read)
    return StoreRowReader(engine, of: try generation.map(engine.own))
  }
}

extension SQLCipherIncrementalStore: KeyListingStore {
  package func fetchedIDs(_ specification: FetchSpecification, in scope: RequestScope) throws -> FetchedIDs {
    let engine = try engine(.fetch)
    return try StoreError.mapping { try engine.fetchedIDs(specification, in: scope) }
  }
}

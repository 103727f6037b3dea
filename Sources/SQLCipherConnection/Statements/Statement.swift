public import CSQLCipher
public import StoreKeys

/// A prepared statement of one connection, used by one thread at a time.
@usableFromInline package final class Statement {
  @usableFromInline let pointer: OpaquePointer
  @usableFromInline let database: DatabaseHandle

  /// The distance between the values of adjacent columns; 0 if it is not constant, negative until measured.
  // A statement is used by one thread, and no call here re-enters.
  @exclusivity(unchecked) @usableFromInline var valueStride = -1

  init(pointer: OpaquePointer, database: DatabaseHandle) {
    self.pointer = pointer
    self.database = database
  }

  deinit { sqlite3_finalize(pointer) }

  /// The text that it was prepared from.
  package var sql: String { String(cString: sqlite3_sql(pointer)) }

  /// Steps to the next row. Returns false at the end.
  ///
  /// After an error the statement is already reset.
  @inlinable package func step() throws(StoreAccessError) -> Bool {
    let code = sqlite3_step(pointer)
    if code == SQLITE_ROW { return true }
    if code == SQLITE_DONE { return false }
    throw failure(code)
  }

  /// Steps to the end and resets, for statements whose rows are not needed.
  @inlinable package func run() throws(StoreAccessError) {
    var code = sqlite3_step(pointer)
    while code == SQLITE_ROW { code = sqlite3_step(pointer) }
    if code != SQLITE_DONE { throw failure(code) }
    sqlite3_reset(pointer)
  }

  /// Resets the statement so that it can run again. Bound values are kept.
  @inlinable package func reset() {
    sqlite3_reset(pointer)
  }

  /// Sets all bound values to NULL.
  @inlinable package func clearBindings() {
    sqlite3_clear_bindings(pointer)
  }

  /// Whether the statement has been stepped and not reset.
  package var isBusy: Bool { sqlite3_stmt_busy(pointer) != 0 }
  /// Whether the statement does not write.
  package var isReadOnly: Bool { sqlite3_stmt_readonly(pointer) != 0 }
  /// The number of placeholders.
  package var parameterCount: Int { Int(sqlite3_bind_parameter_count(pointer)) }

  @usableFromInline func failure(_ code: Int32) -> StoreAccessError {
    let error = database.failure(code, operation: .step, sql: sql, source: .step)
    sqlite3_reset(pointer)
    return error
  }

  @usableFromInline func bindFailure(_ code: Int32, _ index: Int32) -> StoreAccessError {
    database.failure(code, operation: .bind, sql: sql, subject: .parameter(Int(index)))
  }
}

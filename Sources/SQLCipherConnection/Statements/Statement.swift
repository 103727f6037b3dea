// A prepared statement: step and reset. Binding and columns are in the facets.

public import CSQLCipher
public import StoreKeys

/// A prepared statement of one connection, used by one thread at a time.
@usableFromInline package final class Statement {
  @usableFromInline let pointer: OpaquePointer
  @usableFromInline let database: DatabaseHandle

  /// How far the values of a row's neighbouring columns lie apart; 0 where they do not lie in a row, negative as long as nobody has looked.
  // A statement is used by one thread, and no call here re-enters.
  @exclusivity(unchecked) @usableFromInline var valueStride = -1

  init(pointer: OpaquePointer, database: DatabaseHandle) {
    self.pointer = pointer
    self.database = database
  }

  deinit { sqlite3_finalize(pointer) }

  /// The text it was prepared from.
  package var sql: String { String(cString: sqlite3_sql(pointer)) }

  /// Goes to the next row; false at the end.
  ///
  /// After an error the statement is reset already.
  @inlinable package func step() throws(StoreAccessError) -> Bool {
    let code = sqlite3_step(pointer)
    if code == SQLITE_ROW { return true }
    if code == SQLITE_DONE { return false }
    throw failure(code)
  }

  /// Steps to the end and resets: for statements whose rows, if any, do not matter.
  @inlinable package func run() throws(StoreAccessError) {
    var code = sqlite3_step(pointer)
    while code == SQLITE_ROW { code = sqlite3_step(pointer) }
    if code != SQLITE_DONE { throw failure(code) }
    sqlite3_reset(pointer)
  }

  /// Makes it ready to run again; the bound values stay.
  @inlinable package func reset() {
    sqlite3_reset(pointer)
  }

  /// Sets every bound value to NULL.
  @inlinable package func clearBindings() {
    sqlite3_clear_bindings(pointer)
  }

  /// True between the first step and the reset.
  package var isBusy: Bool { sqlite3_stmt_busy(pointer) != 0 }
  /// True where the statement writes nothing.
  package var isReadOnly: Bool { sqlite3_stmt_readonly(pointer) != 0 }
  /// The number of placeholders.
  package var parameterCount: Int { Int(sqlite3_bind_parameter_count(pointer)) }

  /// Makes the error of a failed step, then resets.
  @usableFromInline func failure(_ code: Int32) -> StoreAccessError {
    let error = database.failure(code, operation: .step, sql: sql, source: .step)
    sqlite3_reset(pointer)
    return error
  }

  /// Makes the error of a failed bind.
  @usableFromInline func bindFailure(_ code: Int32, _ index: Int32) -> StoreAccessError {
    database.failure(code, operation: .bind, sql: sql, subject: .parameter(Int(index)))
  }
}

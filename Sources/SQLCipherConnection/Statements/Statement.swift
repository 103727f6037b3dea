public import CSQLCipher
public import Foundation
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

  @usableFromInline func failure(_ code: Int32) -> StoreAccessError {
    let error = database.failure(code, operation: .step, sql: sql, source: .step)
    sqlite3_reset(pointer)
    return error
  }

  @usableFromInline func bindFailure(_ code: Int32, _ index: Int32) -> StoreAccessError {
    database.failure(code, operation: .bind, sql: sql, subject: .parameter(Int(index)))
  }
}

// MARK: - Binding values

// Binds values by position, starting at 1, without boxing.

/// SQLITE_TRANSIENT: SQLite copies the bytes immediately.
@inlinable @inline(__always) package var transientDestructor: sqlite3_destructor_type {
  // The header defines it as a cast of -1, which Swift does not import.
  unsafeBitCast(-1, to: sqlite3_destructor_type.self)
}

extension Statement {
  @inlinable package func bind(_ index: Int32, _ value: Int64) throws(StoreAccessError) {
    let code = sqlite3_bind_int64(pointer, index, value)
    if code != SQLITE_OK { throw bindFailure(code, index) }
  }

  @inlinable package func bind(_ index: Int32, _ value: Int) throws(StoreAccessError) {
    try bind(index, Int64(value))
  }

  /// Binds a double. SQLite stores NaN as NULL.
  @inlinable package func bind(_ index: Int32, _ value: Double) throws(StoreAccessError) {
    let code = sqlite3_bind_double(pointer, index, value)
    if code != SQLITE_OK { throw bindFailure(code, index) }
  }

  @inlinable package func bindNull(_ index: Int32) throws(StoreAccessError) {
    let code = sqlite3_bind_null(pointer, index)
    if code != SQLITE_OK { throw bindFailure(code, index) }
  }

  /// Binds text. SQLite copies it.
  @inlinable package func bind(_ index: Int32, _ value: String) throws(StoreAccessError) {
    var value = value
    let code = value.withUTF8 { bindTextCode(index, UnsafeRawBufferPointer($0), transientDestructor) }
    if code != SQLITE_OK { throw bindFailure(code, index) }
  }

  /// Binds bytes as a blob. SQLite copies them. Empty data binds an empty blob, not NULL.
  @inlinable package func bind(_ index: Int32, _ value: Data) throws(StoreAccessError) {
    let code = value.withUnsafeBytes { bindBlobCode(index, $0, transientDestructor) }
    if code != SQLITE_OK { throw bindFailure(code, index) }
  }

  /// Binds UTF-8 text. SQLite copies it.
  @inlinable package func bindText(_ index: Int32, _ text: UnsafeRawBufferPointer) throws(StoreAccessError) {
    let code = bindTextCode(index, text, transientDestructor)
    if code != SQLITE_OK { throw bindFailure(code, index) }
  }

  /// Binds bytes as a blob. SQLite copies them.
  @inlinable package func bindBlob(_ index: Int32, _ bytes: UnsafeRawBufferPointer) throws(StoreAccessError) {
    let code = bindBlobCode(index, bytes, transientDestructor)
    if code != SQLITE_OK { throw bindFailure(code, index) }
  }

  /// Binds UTF-8 text without copying. The memory must stay valid until the statement is bound again, cleared, or finalized.
  @inlinable package func bindStaticText(_ index: Int32, _ text: UnsafeRawBufferPointer) throws(StoreAccessError) {
    let code = bindTextCode(index, text, nil)
    if code != SQLITE_OK { throw bindFailure(code, index) }
  }

  /// Binds UTF-8 text without copying. The memory must stay valid until the statement is bound again, cleared, or finalized.
  @inlinable package func bindStaticText(_ index: Int32, _ text: UnsafePointer<UInt8>, _ count: Int) throws(StoreAccessError) {
    try bindStaticText(index, UnsafeRawBufferPointer(start: text, count: count))
  }

  /// Binds a blob without copying. The memory must stay valid until the statement is bound again, cleared, or finalized.
  @inlinable package func bindStaticBlob(_ index: Int32, _ bytes: UnsafeRawBufferPointer) throws(StoreAccessError) {
    let code = bindBlobCode(index, bytes, nil)
    if code != SQLITE_OK { throw bindFailure(code, index) }
  }

  @inlinable @inline(__always) package func bindTextCode(
    _ index: Int32, _ text: UnsafeRawBufferPointer, _ destructor: sqlite3_destructor_type?
  ) -> Int32 {
    guard text.count <= Int32.max else { return SQLITE_TOOBIG }
    // A null pointer would bind NULL, so empty text needs an address too.
    guard let base = text.baseAddress else { return sqlite3_bind_text(pointer, index, "", 0, nil) }
    return sqlite3_bind_text(pointer, index, base.assumingMemoryBound(to: CChar.self), Int32(text.count), destructor)
  }

  @inlinable @inline(__always) package func bindBlobCode(
    _ index: Int32, _ bytes: UnsafeRawBufferPointer, _ destructor: sqlite3_destructor_type?
  ) -> Int32 {
    guard bytes.count <= Int32.max else { return SQLITE_TOOBIG }
    guard let base = bytes.baseAddress, !bytes.isEmpty else { return sqlite3_bind_zeroblob(pointer, index, 0) }
    return sqlite3_bind_blob(pointer, index, base, Int32(bytes.count), destructor)
  }
}

// MARK: - Reading columns

// Reads columns by position, starting at 0, without boxing. Buffers are valid until the next step or reset.

/// The storage types of SQLite.
@usableFromInline package enum ColumnType: Int32, Sendable {
  case integer = 1
  case real = 2
  case text = 3
  case blob = 4
  case null = 5
}

/// The value in a column of the current row, valid until the next step or reset.
///
/// SQLite calls it unprotected. Reading it directly is safe because every connection is opened without a mutex (`SQLITE_OPEN_NOMUTEX`) and
/// used by one thread at a time (sqlite.org/c3ref/value.html).
@usableFromInline package struct ColumnValue {
  @usableFromInline let pointer: OpaquePointer?

  @inlinable init(pointer: OpaquePointer?) { self.pointer = pointer }

  // Check the type before reading the value: reading may convert it.
  @inlinable package var isInteger: Bool { sqlite3_value_type(pointer) == SQLITE_INTEGER }
  @inlinable package var isText: Bool { sqlite3_value_type(pointer) == SQLITE_TEXT }
  @inlinable package var isNull: Bool { sqlite3_value_type(pointer) == SQLITE_NULL }
  @inlinable package var isBlob: Bool { sqlite3_value_type(pointer) == SQLITE_BLOB }
  @inlinable package var isReal: Bool { sqlite3_value_type(pointer) == SQLITE_FLOAT }

  @inlinable package var int64: Int64 { sqlite3_value_int64(pointer) }
  @inlinable package var double: Double { sqlite3_value_double(pointer) }

  /// The UTF-8 text in place, without the terminating NUL; `baseAddress` is nil if memory is exhausted.
  @inlinable package var textBuffer: UnsafeRawBufferPointer {
    guard let text = sqlite3_value_text(pointer) else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    return UnsafeRawBufferPointer(start: text, count: Int(sqlite3_value_bytes(pointer)))
  }

  /// The bytes in place; `baseAddress` is nil for an empty blob.
  @inlinable package var blobBuffer: UnsafeRawBufferPointer {
    guard let bytes = sqlite3_value_blob(pointer) else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    return UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_value_bytes(pointer)))
  }
}

/// The values of all columns of the current row, valid until the next step or reset.
///
/// SQLite stores a row as an array of values (`sqlite3_column_value` returns addresses of its elements), so one call locates them all. That
/// layout is not documented. Each statement therefore compares the addresses of its first row, and falls back to one call per column if
/// their distances differ. The layout is the same for all rows of a statement, although the array may move.
@usableFromInline package struct ColumnValues {
  @usableFromInline let statement: OpaquePointer
  @usableFromInline let first: OpaquePointer?
  @usableFromInline let stride: Int

  @inlinable init(statement: OpaquePointer, first: OpaquePointer?, stride: Int) {
    self.statement = statement
    self.first = first
    self.stride = stride
  }

  /// The value of a column, which must exist.
  @inlinable package subscript(column: Int32) -> ColumnValue {
    guard stride > 0, let first else { return ColumnValue(pointer: sqlite3_column_value(statement, column)) }
    return ColumnValue(pointer: OpaquePointer(UnsafeRawPointer(first) + Int(column) &* stride))
  }
}

extension Statement {
  /// The values of the current row, which must exist. Cheaper than a call for each column.
  @inlinable package var columnValues: ColumnValues {
    if valueStride < 0 { measureColumns() }
    #if CIPHERDATA_CHECKS
      assert(valueStride == 0 || measuredStride == valueStride, "the values of a row do not lie where they are looked for")
    #endif
    return ColumnValues(statement: pointer, first: sqlite3_column_value(pointer, 0), stride: valueStride)
  }

  @usableFromInline func measureColumns() { valueStride = measuredStride }

  /// The distance between adjacent values of the current row; 0 if it is not constant.
  @usableFromInline var measuredStride: Int {
    let places = (0..<sqlite3_column_count(pointer)).map { UInt(bitPattern: sqlite3_column_value(pointer, $0)) }
    guard places.count > 1, let first = places.first, places[1] > first else { return 0 }
    let stride = places[1] - first
    return places.indices.allSatisfy { places[$0] == first + UInt($0) * stride } ? Int(stride) : 0
  }

  /// The number of columns in a row.
  @inlinable package var columnCount: Int { Int(sqlite3_column_count(pointer)) }

  @inlinable package func int64(_ column: Int32) -> Int64 { sqlite3_column_int64(pointer, column) }
  @inlinable package func int(_ column: Int32) -> Int { Int(sqlite3_column_int64(pointer, column)) }
  @inlinable package func double(_ column: Int32) -> Double { sqlite3_column_double(pointer, column) }

  /// Costs about 10 ns. In a hot loop, call it only if a number is 0 or a pointer is nil.
  @inlinable package func isNull(_ column: Int32) -> Bool { sqlite3_column_type(pointer, column) == SQLITE_NULL }

  @inlinable package func type(_ column: Int32) -> ColumnType {
    ColumnType(rawValue: sqlite3_column_type(pointer, column)) ?? .null
  }

  /// The UTF-8 text in place, without the terminating NUL; `baseAddress` is nil for NULL.
  ///
  /// Reads the pointer before the length: in the other order SQLite may convert twice.
  @inlinable package func textBuffer(_ column: Int32) -> UnsafeRawBufferPointer {
    guard let text = sqlite3_column_text(pointer, column) else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    return UnsafeRawBufferPointer(start: text, count: Int(sqlite3_column_bytes(pointer, column)))
  }

  /// The bytes in place; `baseAddress` is nil for NULL and for an empty blob, which `isNull` distinguishes.
  @inlinable package func blobBuffer(_ column: Int32) -> UnsafeRawBufferPointer {
    guard let bytes = sqlite3_column_blob(pointer, column) else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    return UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(pointer, column)))
  }

  /// The text as a string; empty for NULL.
  @inlinable package func text(_ column: Int32) -> String {
    String(decoding: textBuffer(column), as: UTF8.self)
  }

  /// The text as a string; nil for NULL.
  @inlinable package func optionalText(_ column: Int32) -> String? {
    let buffer = textBuffer(column)
    return buffer.baseAddress == nil ? nil : String(decoding: buffer, as: UTF8.self)
  }

  /// The bytes as data; empty for NULL.
  @inlinable package func data(_ column: Int32) -> Data {
    Data(blobBuffer(column))
  }

  /// Returns the column's name in the result.
  package func columnName(_ column: Int32) -> String {
    sqlite3_column_name(pointer, column).map { String(cString: $0) } ?? ""
  }
}

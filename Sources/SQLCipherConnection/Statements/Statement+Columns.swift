// Reads columns by position, starting at 0, without boxing. Buffers are valid until the next step or reset.

public import CSQLCipher
public import Foundation

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

// Binds values by position, starting at 1, without boxing.

public import CSQLCipher
public import Foundation
public import StoreKeys

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

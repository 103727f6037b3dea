import CSQLCipher
import Foundation
package import StoreKeys

extension LibraryVersion {
  /// Returns the value of a SQLCipher pragma on an in-memory handle, or nil if the library does not have it.
  ///
  /// - Parameter name: The pragma, such as `cipher_version` or `cipher_provider`.
  package static func answer(to name: String) throws(StoreAccessError) -> String? {
    let pointer = try DatabaseHandle.openFile(":memory:", SQLITE_OPEN_READWRITE, operation: .checkLibrary)
    defer { sqlite3_close_v2(pointer) }
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    guard sqlite3_prepare_v2(pointer, "PRAGMA \(name)", -1, &statement, nil) == SQLITE_OK, sqlite3_step(statement) == SQLITE_ROW else {
      return nil
    }
    return sqlite3_column_text(statement, 0).map { String(cString: $0) }
  }

  /// A message that explains why this process cannot create or open encrypted stores; nil if it can.
  package static var problem: String? {
    do throws(StoreAccessError) {
      try checkEncryptionIsAvailable()
      return nil
    } catch {
      return error.explanation
    }
  }
}

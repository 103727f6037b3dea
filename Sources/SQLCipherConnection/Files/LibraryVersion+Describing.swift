// LibraryVersion+Describing: what the linked libraries say of themselves, asked without a database.

import CSQLCipher
import Foundation
package import StoreKeys

extension LibraryVersion {
  /// What a pragma of SQLCipher answers on a handle without a file; nil where the library does not know it.
  ///
  /// - Parameter name: Such as `cipher_version` or `cipher_provider`.
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

  /// Why no encrypted store can be made or opened in this process, in a sentence; nil where nothing stands in the way.
  package static var problem: String? {
    do throws(StoreAccessError) {
      try checkEncryptionIsAvailable()
      return nil
    } catch {
      return error.explanation
    }
  }
}

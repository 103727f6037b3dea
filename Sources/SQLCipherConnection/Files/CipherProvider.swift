// CipherProvider: SQLCipher's cryptography, kept for as long as the process lives.

import CSQLCipher
import StoreKeys
import Synchronization

/// Keeps SQLCipher from giving back its cryptography with the last keyed handle, and from asking for memory for it with the next one: SQLCipher 3.4.1 does not
/// look whether it got any, and ends the process.
enum CipherProvider {
  /// The address of a handle without a file that is keyed and never closed; 0 before the first one.
  private static let kept = Mutex<UInt>(0)

  /// Called before a handle gets its key.
  static func keep(path: String) throws(StoreAccessError) {
    let result = kept.withLock { kept -> Result<Void, StoreAccessError> in
      if kept != 0 { return .success(()) }
      do throws(StoreAccessError) {
        kept = UInt(bitPattern: try make(path))
        return .success(())
      } catch {
        return .failure(error)
      }
    }
    try result.get()
  }

  private static func make(_ path: String) throws(StoreAccessError) -> OpaquePointer {
    let pointer = try DatabaseHandle.openFile(":memory:", SQLITE_OPEN_READWRITE, operation: .key)
    // Where there is a large piece there are the few small ones that nobody asks for with care.
    let piece = sqlite3_malloc(1 << 16)
    sqlite3_free(piece)
    // It protects nothing.
    let text = Array(("x'" + String(repeating: "0", count: 96) + "'").utf8)
    let code = piece == nil ? SQLITE_NOMEM : sqlite3_key(pointer, text, Int32(text.count))
    guard code == SQLITE_OK else {
      sqlite3_close_v2(pointer)
      throw .sqlite(code, handle: nil, path: path, operation: .key)
    }
    return pointer
  }
}

import CSQLCipher
import StoreKeys
import Synchronization

/// Keeps SQLCipher's cryptography provider alive for the lifetime of the process.
///
/// Otherwise SQLCipher frees it with the last keyed handle and allocates it again for the next. SQLCipher 3.4.1 does not check that
/// allocation, and crashes if it fails.
enum CipherProvider {
  /// The address of a keyed in-memory handle that is never closed; 0 before the first.
  private static let kept = Mutex<UInt>(0)

  /// Keeps the provider alive. Call it before a handle gets its key.
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
    // If a large allocation succeeds, so do the few small ones that SQLCipher does not check.
    let block = sqlite3_malloc(1 << 16)
    sqlite3_free(block)
    // The key protects nothing.
    let text = Array(("x'" + String(repeating: "0", count: 96) + "'").utf8)
    let code = block == nil ? SQLITE_NOMEM : sqlite3_key(pointer, text, Int32(text.count))
    guard code == SQLITE_OK else {
      sqlite3_close_v2(pointer)
      throw .sqlite(code, handle: nil, path: path, operation: .key)
    }
    return pointer
  }
}

// LockWaiting: how long, and in what steps, a connection waits for a lock that another one has.

import CSQLCipher
import Foundation

/// SQLite's locks have no queue: whoever waits asks again from time to time. A writer that saves without pause is without the lock for a moment between two
/// saves, which take milliseconds where the disk is synced. SQLite's own timeout asks 58 times in five seconds, and often in vain. This one asks some thousand
/// times a second, at times of chance.
final class LockWaiting {
  private let limit: UInt64
  private var start: UInt64 = 0

  init(milliseconds: Int) { limit = UInt64(max(0, milliseconds)) * 1_000_000 }

  /// Waits before a lock is asked for again.
  ///
  /// - Parameter attempt: How often it has been asked for again; 0 begins a new wait.
  /// - Returns: Whether there is time left.
  private func pause(_ attempt: Int32) -> Bool {
    let now = DispatchTime.now().uptimeNanoseconds
    if attempt == 0 { start = now }
    let waited = now - start
    guard waited < limit else { return false }
    // Who has waited for ten seconds waits for long work, which is not worth so many questions.
    let longest: UInt64 = waited < 10_000_000_000 ? min(100_000 << UInt64(min(attempt, 5)), 2_000_000) : 20_000_000
    let pause = min(UInt64.random(in: longest / 4...longest), limit - waited)
    usleep(UInt32(pause / 1_000) + 1)
    return true
  }

  /// Makes a handle wait so. The handle must not outlive this.
  func install(in pointer: OpaquePointer) {
    guard limit > 0 else {
      sqlite3_busy_handler(pointer, nil, nil)
      return
    }
    sqlite3_busy_handler(
      pointer,
      { data, attempt in
        guard let data else { return 0 }
        // The handle holds it as long as SQLite knows it.
        return Unmanaged<LockWaiting>.fromOpaque(data)._withUnsafeGuaranteedRef { $0.pause(attempt) } ? 1 : 0
      }, Unmanaged.passUnretained(self).toOpaque())  // as above
  }
}

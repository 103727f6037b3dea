import Foundation

/// Locks of files have no queue: whoever waits asks again from time to time. A writer that saves without pause is without its lock for a moment between two
/// saves, which take milliseconds where the disk is synced. SQLite's own timeout asks 58 times in five seconds, and often in vain. This one asks some thousand
/// times a second, at times of chance.
///
/// Used by one thread at a time.
package final class LockWaiting {
  /// How long is waited; with 0 or less not at all.
  package var milliseconds: Int
  private var start: UInt64 = 0
  private var attempt = 0

  package init(milliseconds: Int) { self.milliseconds = milliseconds }

  /// Begins a new wait.
  package func restart() { attempt = 0 }

  /// Waits before a lock is asked for again.
  ///
  /// - Returns: Whether there was time left.
  package func pause() -> Bool {
    let now = DispatchTime.now().uptimeNanoseconds
    if attempt == 0 { start = now }
    let (waited, limit) = (now - start, UInt64(max(0, milliseconds)) * 1_000_000)
    guard waited < limit else { return false }
    // Who has waited for ten seconds waits for long work, which is not worth so many questions.
    let longest: UInt64 = waited < 10_000_000_000 ? min(100_000 << UInt64(min(attempt, 5)), 2_000_000) : 20_000_000
    let pause = min(UInt64.random(in: longest / 4...longest), limit - waited)
    usleep(UInt32(pause / 1_000) + 1)
    attempt += 1
    return true
  }
}

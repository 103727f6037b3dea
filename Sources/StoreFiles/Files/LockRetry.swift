import Foundation

/// Waits between attempts to take a file lock, with random backoff.
///
/// File locks have no queue, so a waiting process must retry. A writer that saves continuously releases its lock only for a moment between
/// saves, which take milliseconds if the disk is synced. SQLite's own busy timeout makes 58 attempts in 5 seconds, and often fails. This
/// class makes about a thousand attempts per second, at random intervals.
///
/// Only one thread at a time may use an instance.
package final class LockRetry {
  /// The maximum waiting time, in milliseconds. With 0 or less, there is no waiting.
  package var milliseconds: Int
  private var start: UInt64 = 0
  private var attempt = 0

  package init(milliseconds: Int) { self.milliseconds = milliseconds }

  package func restart() { attempt = 0 }

  /// Pauses before the next attempt.
  ///
  /// - Returns: Whether there was time left.
  package func pause() -> Bool {
    let now = DispatchTime.now().uptimeNanoseconds
    if attempt == 0 { start = now }
    let (waited, limit) = (now - start, UInt64(max(0, milliseconds)) * 1_000_000)
    guard waited < limit else { return false }
    // After 10 seconds, the holder is probably in a long operation, so attempts become less frequent.
    let longest: UInt64 = waited < 10_000_000_000 ? min(100_000 << UInt64(min(attempt, 5)), 2_000_000) : 20_000_000
    let pause = min(UInt64.random(in: longest / 4...longest), limit - waited)
    usleep(UInt32(pause / 1_000) + 1)
    attempt += 1
    return true
  }
}

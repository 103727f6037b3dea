import Foundation

/// A clock that is read in a few nanoseconds, and goes in steps of a few milliseconds.
package enum CoarseClock {
  /// Nanoseconds since some moment; never fewer than before.
  @inlinable package static func now() -> UInt64 {
    var time = timespec()
    #if os(Linux)
      clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
    #else
      clock_gettime(CLOCK_MONOTONIC, &time)
    #endif
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
  }
}

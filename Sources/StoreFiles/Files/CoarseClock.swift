import Foundation

/// A monotonic clock with a resolution of a few milliseconds that takes a few nanoseconds to read. Use it for frequent checks that do not
/// need the exact time.
package enum CoarseClock {
  /// The time in nanoseconds since an arbitrary point. It never decreases.
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

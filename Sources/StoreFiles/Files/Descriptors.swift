import Foundation
package import StoreKeys
import Synchronization

/// Opens files, and checks for free file descriptors before operations that need several: the dispatch library terminates the process if it
/// cannot open its own.
package enum Descriptors {
  /// The number of descriptors for a database, its log, the log's index, a folder, and the dispatch library's timers.
  static let needed = 8
  /// The number of descriptors that the dispatch library opens for its first timer and keeps.
  private static let neededByDispatch = 5
  private static let hasTimers = Mutex(false)

  /// Opens a file, and retries if a signal interrupts the call.
  static func open(_ path: String, _ flags: Int32, mode: mode_t = 0) -> Int32 {
    while true {
      let descriptor = Foundation.open(path, flags, mode)
      if descriptor >= 0 || errno != EINTR { return descriptor }
    }
  }

  /// Throws if too few descriptors are left to open a store without risking termination of the process.
  package static func check(path: String?) throws(StoreAccessError) {
    guard areFree(needed) else { throw .system(EMFILE, path: path, operation: .open) }
  }

  /// Returns whether a timer can be created safely. The first timer opens descriptors that later ones share.
  package static func mayMakeTimer() -> Bool {
    hasTimers.withLock { hasTimers in
      if !hasTimers { hasTimers = areFree(neededByDispatch) }
      return hasTimers
    }
  }

  private static func areFree(_ count: Int) -> Bool {
    // The first descriptor is opened by path, which also checks the system-wide limit. The others are duplicates, which need no path
    // lookup.
    let first = open("/dev/null", O_RDONLY | O_CLOEXEC)
    // Other errors of the device do not concern descriptors.
    guard first >= 0 else { return errno != EMFILE && errno != ENFILE }
    var descriptors = [first]
    defer { for descriptor in descriptors { _ = close(descriptor) } }
    if areLastFree(count - 1) { return true }
    while descriptors.count < count {
      let descriptor = fcntl(first, F_DUPFD_CLOEXEC, 0)
      guard descriptor >= 0 else { return errno != EMFILE && errno != ENFILE }
      descriptors.append(descriptor)
    }
    return true
  }

  /// Returns whether the last descriptors below the process's limit are free, as they nearly always are. This proves with two system calls
  /// that enough are left. `false` proves nothing.
  private static func areLastFree(_ count: Int) -> Bool {
    #if canImport(Glibc)
      var limit = rlimit()
      guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, let end = Int32(exactly: limit.rlim_cur), end > count
      else { return false }
      // `poll` reports descriptors that are not open immediately.
      var asked = (1...count).map { pollfd(fd: end - Int32($0), events: 0, revents: 0) }
      return poll(&asked, nfds_t(count), 0) == count && asked.allSatisfy { $0.revents == Int16(POLLNVAL) }
    #else
      // Other systems can have a lower limit of their own.
      return false
    #endif
  }
}

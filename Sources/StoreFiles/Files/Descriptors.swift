import Foundation
package import StoreKeys
import Synchronization

/// Asks before work begins that needs descriptors.
package enum Descriptors {
  /// A database, its log, the log's index, a folder, and what dispatch takes for its timers.
  static let needed = 8
  /// What dispatch opens when it is first given a timer, and keeps.
  private static let neededByDispatch = 5
  private static let hasTimers = Mutex(false)

  /// Opens a file as the system does, and again where a signal has interrupted it.
  static func open(_ path: String, _ flags: Int32, mode: mode_t = 0) -> Int32 {
    while true {
      let descriptor = Foundation.open(path, flags, mode)
      if descriptor >= 0 || errno != EINTR { return descriptor }
    }
  }

  /// Fails where so few descriptors are left that opening a store could end the process.
  package static func check(path: String?) throws(StoreAccessError) {
    guard areFree(needed) else { throw .system(EMFILE, path: path, operation: .open) }
  }

  /// Whether a timer can be made without danger; the first one opens descriptors, and later ones share them.
  package static func mayMakeTimer() -> Bool {
    hasTimers.withLock { hasTimers in
      if !hasTimers { hasTimers = areFree(neededByDispatch) }
      return hasTimers
    }
  }

  private static func areFree(_ count: Int) -> Bool {
    // The first is looked up, and says whether the whole system has one left; the others are copies: each open would walk the path again.
    let first = open("/dev/null", O_RDONLY | O_CLOEXEC)
    // Whatever else may be wrong with that device, it is not this.
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

  /// Whether the last descriptors below the process's limit are free, as they nearly always are: then there are as many, and two calls tell. False says
  /// nothing.
  private static func areLastFree(_ count: Int) -> Bool {
    #if canImport(Glibc)
      var limit = rlimit()
      guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, let end = Int32(exactly: limit.rlim_cur), end > count
      else { return false }
      // A number that is no open descriptor is answered at once.
      var asked = (1...count).map { pollfd(fd: end - Int32($0), events: 0, revents: 0) }
      return poll(&asked, nfds_t(count), 0) == count && asked.allSatisfy { $0.revents == Int16(POLLNVAL) }
    #else
      // Elsewhere the system may have a lower limit of its own.
      return false
    #endif
  }
}

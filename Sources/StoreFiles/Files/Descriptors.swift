// Descriptors: whether files can still be opened. The system's dispatch library ends the process where it cannot have its own.

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
    var descriptors: [Int32] = []
    defer { for descriptor in descriptors { _ = close(descriptor) } }
    for _ in 0..<count {
      // The first is looked up, the others are copies: each open would walk the path again.
      let descriptor = descriptors.first.map { fcntl($0, F_DUPFD_CLOEXEC, 0) } ?? open("/dev/null", O_RDONLY | O_CLOEXEC)
      // Whatever else may be wrong with that device, it is not this.
      guard descriptor >= 0 else { return errno != EMFILE && errno != ENFILE }
      descriptors.append(descriptor)
    }
    return true
  }
}

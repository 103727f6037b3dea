import Foundation
package import StoreKeys
import Synchronization

/// A watch of one store's files. It ends with ``end()`` or when it is released.
package final class StoreWatch: Sendable {
  private let number: Mutex<UInt64?>

  /// Begins to watch.
  ///
  /// - Parameters:
  ///   - databasePath: The path of the database as SQLite resolves it. Its log is next to that path.
  ///   - tell: Called after each possible commit, including those of this process. It runs on the thread that serves all watches of the
  ///     process, so it must only schedule work.
  /// - Throws: `.notWatchable` if the system or the process has no watches left. There is no fallback.
  package init(databasePath: String, onChange: @escaping @Sendable () -> Void) throws(StoreAccessError) {
    number = Mutex(try StoreWatcher.shared.add(databasePath: databasePath, onChange: onChange))
  }

  deinit { end() }

  /// Ends the watch. A callback that is already running completes.
  package func end() {
    let number = number.withLock { number in
      defer { number = nil }
      return number
    }
    if let number { StoreWatcher.shared.remove(number) }
  }

  /// The number of times the watching thread was resumed, for tests.
  package static var resumeCount: Int { StoreWatcher.shared.resumeCount.load(ordering: .relaxed) }
}

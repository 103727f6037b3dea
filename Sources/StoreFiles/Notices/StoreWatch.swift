import Foundation
package import StoreKeys
import Synchronization

/// Watches the files of one store, until it is ended or let go.
package final class StoreWatch: Sendable {
  private let number: Mutex<UInt64?>

  /// Begins to watch.
  ///
  /// - Parameters:
  ///   - databasePath: The database, by the name that SQLite has for it: its log stands beside that.
  ///   - tell: Called on the thread that watches, which serves the whole process, whenever somebody may have committed, also oneself: it takes a note.
  /// - Throws: `.notWatchable` where the system, or the process, has no means left; there is no other way to hear.
  package init(databasePath: String, tell: @escaping @Sendable () -> Void) throws(StoreAccessError) {
    number = Mutex(try StoreWatchLine.shared.add(databasePath: databasePath, tell: tell))
  }

  deinit { end() }

  /// Ends it; a call under way may still come.
  package func end() {
    let number = number.withLock { number in
      defer { number = nil }
      return number
    }
    if let number { StoreWatchLine.shared.remove(number) }
  }

  /// How often the thread that watches has woken up, for tests.
  package static var wakeUpCount: Int { StoreWatchLine.shared.wakeUps.load(ordering: .relaxed) }
}

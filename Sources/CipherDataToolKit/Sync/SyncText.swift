import Foundation
import Synchronization
import SyncEngine

/// The texts of synchronization.
enum SyncText {
  /// What a round has done: `12 changes received, 3 sent`.
  static func summary(_ round: SyncRunner.Round) -> String { text(round, received: CountText.text(round.changed, "change")) }

  /// What a round has done so far. It changes the store when all records have been received.
  static func progress(_ round: SyncRunner.Round) -> String { text(round, received: CountText.text(round.pulled, "record")) }

  private static func text(_ round: SyncRunner.Round, received: String) -> String {
    let objects = round.added == 0 ? "" : "\(CountText.text(round.added, "object")) added, "
    return "\(objects)\(received) received, \(round.pushed) sent"
  }

  /// Notes that a store continues as a new device.
  ///
  /// - Parameter name: The name of the new device; nil if the store continues as the same one.
  static func noteNewDevice(_ name: String?) {
    guard let name else { return }
    let device = "a new device of the account, “\(TableWriter.printable(name))”"
    Tool.note("The file of the store was copied or restored: it continues as \(device).")
  }

  static func time(_ date: Date) -> String { InstantText.text(date.timeIntervalSinceReferenceDate.rounded(.down)) ?? "" }
}

/// The progress bar of rounds of synchronization. At its end, it is noted if the store continues as a new device.
final class RoundProgress: Sendable {
  private let bar: Mutex<ProgressBar>
  private let newDeviceName = Mutex<String?>(nil)
  private let objectCount: Int?

  /// - Parameter objectCount: The number of objects that are added to the zone and sent; nil if it is unknown how much there is to do.
  init(_ title: String, objectCount: Int? = nil) {
    self.objectCount = objectCount
    bar = Mutex(ProgressBar(title, total: objectCount.map { 2 * $0 }))
  }

  var handler: @Sendable (SyncRunner.Round) -> Void {
    { round in
      if let name = round.newDeviceName { self.newDeviceName.withLock { $0 = name } }
      self.bar.withLock {
        $0.update(self.objectCount == nil ? round.pulled : round.added + round.pushed, detail: SyncText.progress(round))
      }
    }
  }

  func finish() {
    bar.withLock { $0.finish() }
    let name = newDeviceName.withLock { name in
      defer { name = nil }
      return name
    }
    SyncText.noteNewDevice(name)
  }
}

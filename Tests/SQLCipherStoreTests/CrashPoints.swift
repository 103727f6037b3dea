import Foundation
import Synchronization
import _TestSupport

/// Copies a store's files at many points of a migration. A copy is what a process killed at that point leaves behind.
final class CrashPoints: Sendable {
  private let url: URL
  private let folder: TemporaryFolder
  private let places = Mutex<[URL]>([])

  /// - Parameter folder: The folder for the copies.
  init(of url: URL, in folder: TemporaryFolder) {
    self.url = url
    self.folder = folder
  }

  /// The copies of the store, in order of creation.
  var copies: [URL] { places.withLock { $0.map { $0.appendingPathComponent("test.store") } } }

  func note() {
    let place = places.withLock { places -> URL in
      places.append(folder.file("\(places.count)"))
      return places[places.count - 1]
    }
    try? FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
    for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: url.path + suffix) {
      // Closing the copy's descriptor releases this process's locks, which this test does not rely on.
      try? FileManager.default.copyItem(atPath: url.path + suffix, toPath: place.appendingPathComponent("test.store").path + suffix)
    }
  }
}

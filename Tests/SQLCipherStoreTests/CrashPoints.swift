// CrashPoints: copies of a store's files as they are at many moments of a migration.
import Foundation
import Synchronization
import _TestSupport

/// What a killed process leaves are its files as the system has them: a copy of the files stands for a kill at that moment.
final class CrashPoints: Sendable {
  private let url: URL
  private let folder: TemporaryFolder
  private let places = Mutex<[URL]>([])

  /// - Parameter folder: Where the copies are put.
  init(of url: URL, in folder: TemporaryFolder) {
    self.url = url
    self.folder = folder
  }

  /// The copies of the store, in the order in which they were made.
  var copies: [URL] { places.withLock { $0.map { $0.appendingPathComponent("test.store") } } }

  /// Makes a copy now.
  func note() {
    let place = places.withLock { places -> URL in
      places.append(folder.file("\(places.count)"))
      return places[places.count - 1]
    }
    try? FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
    for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: url.path + suffix) {
      // Closing the copy's descriptor drops this process's locks, which nobody else asks for here.
      try? FileManager.default.copyItem(atPath: url.path + suffix, toPath: place.appendingPathComponent("test.store").path + suffix)
    }
  }
}

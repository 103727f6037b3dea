import Foundation
import StoreKeys
import Synchronization
import XCTest
import _TestSupport

@testable import StoreFiles

/// The events that the watching thread receives for writes to stores, and how often it resumes.
final class StoreWatchTests: XCTestCase {
  /// Files like those of a store, with an observer.
  private final class Watched: Sendable {
    let path: String
    private let folder: TemporaryFolder
    let tells = Mutex(0)
    let watch = Mutex<StoreWatch?>(nil)
    var count: Int { tells.withLock { $0 } }
    var log: String { path + "-wal" }

    init(_ folder: TemporaryFolder, _ name: String = "a.store", hasNotice: Bool = true) throws {
      self.folder = folder
      path = folder.file(name).path
      for file in [path, path + "-wal"] { XCTAssertTrue(FileManager.default.createFile(atPath: file, contents: Data())) }
      if hasNotice { try NoticeFile.make(for: path) }
      let watch = try StoreWatch(databasePath: path) { [weak self] in self?.tells.withLock { $0 += 1 } }
      self.watch.withLock { $0 = watch }
    }

    deinit { watch.withLock { $0?.end() } }

    /// Waits until the log is no longer polled.
    func settle(_ looks: Int = 4) throws { wait(looks, "the looks of the beginning") }

    /// Waits until earlier events have no more effects.
    func rest() {
      var count = -1
      while count != self.count {
        count = self.count
        usleep(400_000)
      }
    }

    func wait(_ count: Int, _ text: String) {
      let end = Date().addingTimeInterval(10)
      while self.count < count {
        guard Date() < end else { return XCTFail("\(text): notified \(self.count) times") }
        usleep(500)
      }
    }

    func write(_ count: Int = 1) {
      let descriptor = open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
      for _ in 0..<count { _ = Foundation.write(descriptor, "page", 4) }
      close(descriptor)
    }

    func touch() {
      var notice = CommitNotice(databasePath: path)
      notice.touch()
    }
  }

  func testTouchesAreReportedImmediatelyAndThenCoalesced() throws {
    let store = try Watched(try TemporaryFolder())
    try store.settle()
    store.touch()
    store.wait(6, "the touch")
    usleep(30_000)
    XCTAssertEqual(store.count, 6)
    store.touch()
    store.wait(7, "another")
  }

  func testManyTouchesAreCoalesced() throws {
    let store = try Watched(try TemporaryFolder())
    try store.settle()
    let resumeCount = StoreWatch.resumeCount
    for _ in 0..<5_000 { store.touch() }
    store.wait(6, "the touches")
    XCTAssertLessThan(StoreWatch.resumeCount - resumeCount, 1_000)
  }

  func testLogWritesAreReportedFourTimes() throws {
    let store = try Watched(try TemporaryFolder())
    try store.settle()
    store.write()
    store.wait(8, "the looks")
    usleep(30_000)
    XCTAssertEqual(store.count, 8, "after 5, 20, 80, 320 ms")
  }

  func testPagesOfLargeTransactionsAreCoalesced() throws {
    let store = try Watched(try TemporaryFolder())
    try store.settle()
    let resumeCount = StoreWatch.resumeCount
    store.write(20_000)
    store.wait(8, "the looks")
    XCTAssertLessThan(StoreWatch.resumeCount - resumeCount, 2_000)
  }

  func testLogIsPolledLongerWithoutANoticeFile() throws {
    let folder = try TemporaryFolder()
    let store = try Watched(folder, hasNotice: false)
    store.wait(5, "a look after more than a second")
    XCTAssertEqual(folder.fileNames(), ["a.store", "a.store-wal"])
  }

  func testRecreatedLogsAreWatched() throws {
    let store = try Watched(try TemporaryFolder())
    try store.settle()
    for _ in 0..<2 {
      unlink(store.log)
      store.write(0)
      // The polls that follow events in the folder.
      store.rest()
      let count = store.count
      store.write()
      store.wait(count + 4, "the looks at the new log")
    }
  }

  func testStoresInOneFolderAreNotifiedOnlyOfTheirOwnFiles() throws {
    let folder = try TemporaryFolder()
    let (first, second) = (try Watched(folder, "a.store"), try Watched(folder, "b.store"))
    first.rest()
    second.rest()
    let (one, two) = (first.count, second.count)
    first.touch()
    first.wait(one + 2, "its touch")
    XCTAssertEqual(second.count, two)
    first.watch.withLock { $0?.end() }
    first.touch()
    second.touch()
    second.wait(two + 2, "its touch")
    XCTAssertEqual(first.count, one + 2, "there are no watchers anymore")
  }

  func testAllWatchersOfAStoreAreNotified() throws {
    let folder = try TemporaryFolder()
    let (first, second) = (try Watched(folder), try Watched(folder))
    first.rest()
    second.rest()
    let counts = (first.count, second.count)
    first.write()
    first.wait(counts.0 + 4, "the looks of the first")
    second.wait(counts.1 + 4, "the looks of the second")
  }

  func testMissingStoresCannotBeWatched() throws {
    let folder = try TemporaryFolder()
    XCTAssertThrowsError(try StoreWatch(databasePath: folder.file("a.store").path) {}) { error in
      XCTAssertEqual((error as? StoreAccessError)?.operation, .watch)
    }
  }

  func testCommitsRarelyLookForTheNoticeFileWithoutWatchers() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.store").path
    var notice = CommitNotice(databasePath: path)
    notice.touch()
    try NoticeFile.make(for: path)
    let past = Date(timeIntervalSince1970: 1_000_000)
    try FileManager.default.setAttributes([.modificationDate: past], ofItemAtPath: notice.path)
    func time() throws -> Date? { try FileManager.default.attributesOfItem(atPath: notice.path)[.modificationDate] as? Date }
    notice.touch()
    // On a slow machine, more than 20 ms have passed.
    let isEarly = try time() == past
    usleep(30_000)
    notice.touch()
    XCTAssertNotEqual(try time(), past, isEarly ? "it is looked for again" : "it was found")
  }
}

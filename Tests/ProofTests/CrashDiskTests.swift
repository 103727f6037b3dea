import Foundation
import StoreKeys
import XCTest
import _FaultInjection
import _TestSupport

/// The simulated disk: what it keeps and may lose on power loss, and that it records every change to files.
final class CrashDiskTests: XCTestCase {
  private func write(_ path: String, _ bytes: [UInt8], at offset: Int = 0, syncs: Bool) {
    let descriptor = Foundation.open(path, O_CREAT | O_RDWR, 0o600)
    XCTAssertEqual(pwrite(descriptor, bytes, bytes.count, off_t(offset)), bytes.count)
    if syncs { XCTAssertEqual(fsync(descriptor), 0) }
    close(descriptor)
  }

  private func syncFolder(_ path: String) {
    let descriptor = Foundation.open(path, O_RDONLY | O_DIRECTORY)
    XCTAssertEqual(fsync(descriptor), 0)
    close(descriptor)
  }

  /// The states after the last call of a record, for many seeds.
  private func states(_ record: DiskRecord, ignoresSyncs: Bool = false) -> [DiskImage] {
    let disk = CrashDisk(record, after: record.actions.count, ignoresSyncs: ignoresSyncs)
    return CrashManner.allCases.flatMap { manner in
      (0..<60).map { seed in
        var random = SeededGenerator(seed: UInt64(seed))
        return disk.image(manner, &random)
      }
    }
  }

  func testSyncedWritesAreInAllStatesAndOthersInSome() throws {
    guard fault_injection_works() else { return }
    let folder = try WatchedFolder()
    let path = folder.url.path + "/file"
    let record = folder.recording {
      write(path, Array(repeating: 1, count: 2_048), syncs: true)
      syncFolder(folder.url.path)
      write(path, Array(repeating: 2, count: 2_048), at: 1_024, syncs: false)
    }
    let files = try states(record).map { state in try XCTUnwrap(state["file"] ?? nil) }
    XCTAssertTrue(files.allSatisfy { $0.prefix(1_024) == Data(repeating: 1, count: 1_024) })
    // Not applied, applied in full, and torn at a sector.
    XCTAssertTrue(files.contains(Data(repeating: 1, count: 2_048)))
    XCTAssertTrue(files.contains(Data(repeating: 1, count: 1_024) + Data(repeating: 2, count: 2_048)))
    XCTAssertTrue(files.contains { $0.count >= 2_048 && $0[1_024..<1_536] != $0[1_536..<2_048] })
    XCTAssertTrue(states(record, ignoresSyncs: true).contains { $0["file"] == nil })
  }

  func testNamesAreDurableAfterAFolderSync() throws {
    guard fault_injection_works() else { return }
    let folder = try WatchedFolder()
    let place = folder.url.path
    let record = folder.recording {
      XCTAssertEqual(mkdir(place + "/inner", 0o700), 0)
      write(place + "/inner/one", [1], syncs: true)
      write(place + "/two", [2], syncs: true)
      syncFolder(place)
      XCTAssertEqual(rename(place + "/two", place + "/three"), 0)
      XCTAssertEqual(link(place + "/inner/one", place + "/inner/other"), 0)
      syncFolder(place + "/inner")
      XCTAssertEqual(unlink(place + "/inner/one"), 0)
    }
    let states = states(record)
    for state in states {
      // A rename is atomic.
      XCTAssertEqual([state["two"], state["three"]].compactMap { $0 }, [Data([2])])
      XCTAssertEqual(state["inner/other"], Data([1]))
    }
    XCTAssertEqual(Set(states.map { $0["three"] != nil && $0["inner/one"] == nil }), [true, false])
    XCTAssertEqual(Set(states.map { $0["two"] != nil && $0["inner/one"] == nil }), [true, false])
  }

  func testDurableRenamesIncludeEarlierOperations() throws {
    guard fault_injection_works() else { return }
    let folder = try WatchedFolder()
    let place = folder.url.path
    let record = folder.recording {
      XCTAssertEqual(mkdir(place + "/from", 0o700), 0)
      syncFolder(place)
      write(place + "/from/file", [1], syncs: true)
      XCTAssertEqual(rename(place + "/from/file", place + "/file"), 0)
      // The names of the other folder become durable too, as far as the rename requires it.
      syncFolder(place)
    }
    for state in states(record) {
      XCTAssertEqual(state["file"], Data([1]))
      XCTAssertFalse(state.keys.contains("from/file"))
    }
  }

  func testAllFileOperationsAreRecorded() throws {
    guard fault_injection_works() else { return }
    for work in ProofWork.all {
      var found: [String: Data?] = [:]
      let recorded = try Rehearsal.record(work, isFast: false) { folder in
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path) where !path.hasSuffix("-shm") {
          found[path] = .some(try? Data(contentsOf: folder.appendingPathComponent(path)))
        }
      }
      var random = SeededGenerator(seed: 1)
      let image = CrashDisk(recorded.record, after: recorded.record.actions.count).image(.all, &random)
      XCTAssertEqual(Set(image.keys), Set(found.keys), work.name)
      for (path, bytes) in image { XCTAssertTrue(bytes == found[path], "\(work.name): \(path)") }
      XCTAssertGreaterThan(recorded.record.actions.count, 200, work.name)
    }
  }
}

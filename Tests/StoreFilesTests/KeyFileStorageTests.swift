import Foundation
import StoreKeys
import XCTest
import _TestSupport

@testable import StoreFiles

/// The lock for edits of key files: it is exclusive, and is removed afterwards.
final class KeyFileStorageTests: XCTestCase {
  func testLockIsAPrivateFileThatIsRemovedAfterwards() throws {
    let folder = try TemporaryFolder()
    let keys = folder.file("test.store.keys").path
    let lock = KeyFileStorage.lockPath(for: keys)
    try KeyFileStorage.withLock(for: keys) {
      var status = stat()
      XCTAssertEqual(stat(lock, &status), 0)
      XCTAssertEqual(status.st_mode & 0o777, 0o600)
      XCTAssertThrowsError(try KeyFileStorage.withLock(for: keys, timeoutMilliseconds: 5) {}) {
        XCTAssertEqual(($0 as? StoreAccessError)?.kind, .busy)
      }
    }
    XCTAssertEqual(folder.fileNames(), [])
  }

  func testLockIsExclusive() throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let keys = folder.file("test.store.keys").path
    let counter = folder.file("counter").path
    try Data("0".utf8).write(to: URL(fileURLWithPath: counter))
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      for _ in 0..<50 {
        do {
          try KeyFileStorage.withLock(for: keys) {
            let number = Int(try String(contentsOfFile: counter, encoding: .utf8)) ?? -1
            try Data("\(number + 1)".utf8).write(to: URL(fileURLWithPath: counter))
          }
        } catch {
          XCTFail("\(error)")
        }
      }
    }
    XCTAssertEqual(try String(contentsOfFile: counter, encoding: .utf8), "200")
  }
}

// The lock under which key files are edited: who may take it, for how long it is waited for, and that nothing of it stays.

import Foundation
import XCTest

@testable import SQLCipherConnection
@testable import StoreFiles
@testable import StoreKeys

final class KeyFileLockTests: StoreTestCase {
  private func makeStore() async throws -> StoreKeyring { try await StoreKeyring.create(storePath: path, key: cheap("one")) }

  func testWhoCanOnlyReadTheFolderStopsNobody() async throws {
    let keyring = try await makeStore()
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY)
    defer { _ = Foundation.close(descriptor) }
    XCTAssertEqual(flock(descriptor, LOCK_EX), 0)
    _ = try await keyring.addSlot(cheap("two"), label: "two")
    XCTAssertEqual(try names(), ["test.store", "test.store.keys"])
  }

  func testTheLockIsAFileOfItsOwnersThatIsGoneAfterwards() async throws {
    _ = try await makeStore()
    let lock = KeyFileStorage.lockPath(for: path + ".keys")
    try KeyFileStorage.withLock(for: path + ".keys") {
      var status = stat()
      XCTAssertEqual(stat(lock, &status), 0)
      XCTAssertEqual(status.st_mode & 0o777, 0o600)
      assertThrows(.busy) { try KeyFileStorage.withLock(for: path + ".keys", timeoutMilliseconds: 5) {} }
    }
    XCTAssertEqual(try names(), ["test.store", "test.store.keys"])
  }

  func testALockThatADeadProcessHasLeftIsTaken() async throws {
    let keyring = try await makeStore()
    try Data().write(to: URL(fileURLWithPath: KeyFileStorage.lockPath(for: path + ".keys")))
    _ = try await keyring.addSlot(cheap("two"), label: "two")
    XCTAssertEqual(try names(), ["test.store", "test.store.keys"])
  }

  func testOneAtATimeHasTheLock() async throws {
    _ = try await makeStore()
    let keys = path + ".keys"
    let counter = folder + "/counter"
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

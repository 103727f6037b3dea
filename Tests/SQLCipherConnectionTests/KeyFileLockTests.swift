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

  func testALockThatADeadProcessHasLeftIsTaken() async throws {
    let keyring = try await makeStore()
    try Data().write(to: URL(fileURLWithPath: KeyFileStorage.lockPath(for: path + ".keys")))
    _ = try await keyring.addSlot(cheap("two"), label: "two")
    XCTAssertEqual(try names(), ["test.store", "test.store.keys"])
  }
}

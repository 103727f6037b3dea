import Foundation
import XCTest

@testable import SQLCipherConnection
@testable import StoreFiles
@testable import StoreKeys

/// The lock for edits of key files: who may take it, the timeout, and its removal.
final class KeyFileLockTests: StoreTestCase {
  private func makeStore() async throws -> StoreKeyring { try await StoreKeyring.create(storePath: path, key: cheap("one")) }

  func testReadersOfTheFolderDoNotBlockKeyFileEdits() async throws {
    let keyring = try await makeStore()
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY)
    defer { _ = Foundation.close(descriptor) }
    XCTAssertEqual(flock(descriptor, LOCK_EX), 0)
    _ = try await keyring.addSlot(cheap("two"), label: "two")
    XCTAssertEqual(try names(), ["test.store", "test.store.keys"])
  }

  func testLocksOfDeadProcessesAreTakenOver() async throws {
    let keyring = try await makeStore()
    try Data().write(to: URL(fileURLWithPath: KeyFileStorage.lockPath(for: path + ".keys")))
    _ = try await keyring.addSlot(cheap("two"), label: "two")
    XCTAssertEqual(try names(), ["test.store", "test.store.keys"])
  }
}

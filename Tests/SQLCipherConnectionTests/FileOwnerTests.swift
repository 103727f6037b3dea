import Foundation
import XCTest

@testable import SQLCipherConnection
@testable import StoreFiles
@testable import StoreKeys

/// Replaced files keep their owner: root can change a store's keys without locking its owner out.
final class FileOwnerTests: StoreTestCase {
  private let nobody: uid_t = 65_534

  private struct Status: Equatable, CustomStringConvertible {
    let user: uid_t
    let group: gid_t
    let mode: mode_t
    var description: String { "\(user):\(group) \(String(mode, radix: 8))" }
  }

  private func status(_ path: String) throws -> Status {
    var status = stat()
    guard lstat(path, &status) == 0 else { throw StoreAccessError.system(errno, path: path, operation: .open) }
    return Status(user: status.st_uid, group: status.st_gid, mode: status.st_mode & 0o777)
  }

  /// The owner that root assigns to files. Other users test the modes only.
  private var owner: uid_t { getuid() == 0 ? nobody : getuid() }
  private var group: gid_t { getuid() == 0 ? 1 : getgid() }

  private func transfer(_ path: String, mode: mode_t) {
    chown(path, owner, group)
    chmod(path, mode)
  }

  private func expected(_ mode: mode_t) -> Status { Status(user: owner, group: group, mode: mode) }

  private func makeStore() async throws -> StoreKeyring {
    let keyring = try await StoreKeyring.create(storePath: path, key: cheap("one"))
    let connection = try Connection(opening: path, key: keyring.databaseKey())
    try connection.execute("CREATE TABLE t (a); INSERT INTO t VALUES (42)")
    connection.close()
    transfer(path, mode: 0o640)
    transfer(path + ".keys", mode: 0o440)
    return keyring
  }

  func testAnEditedKeyFileKeepsOwnerAndMode() async throws {
    let keyring = try await makeStore()
    let slot = try await keyring.addSlot(cheap("two"))
    XCTAssertEqual(try status(path + ".keys"), expected(0o440))
    _ = try await keyring.changeKey(from: cheap("two"), to: cheap("three"))
    try await keyring.removeSlot(slot.id)
    _ = try await keyring.addRecoveryKey()
    XCTAssertEqual(try status(path + ".keys"), expected(0o440))
    XCTAssertEqual(try status(path), expected(0o640))
  }

  func testARotatedStoreKeepsOwnerAndMode() async throws {
    let keyring = try await makeStore()
    let folder = try ExternalFolder(storePath: path, key: keyring.databaseKey())
    do {
      let lock = try folder.lockForWriting()
      defer { withExtendedLifetime(lock) {} }
      let writer = try folder.makeFile(id: 7)
      _ = try writer.finish()
    }
    let pool = try ConnectionPool(path: path, key: keyring.databaseKey())
    try await keyring.rotateDataKey(pool: pool, largeValues: { _ in [7] })
    pool.close()
    XCTAssertEqual(try status(path), expected(0o640))
    XCTAssertEqual(try status(path + ".keys"), expected(0o440))
    let renewed = try ExternalFolder(storePath: path, key: keyring.databaseKey())
    XCTAssertEqual(try renewed.names().files.count, 1)
    for name in try renewed.names().files { XCTAssertEqual(try status(renewed.path + "/" + name), expected(0o640)) }
  }

  func testLargeValueFilesBelongToTheStoreOwner() async throws {
    let keyring = try await makeStore()
    let folder = try ExternalFolder(storePath: path, key: keyring.databaseKey())
    let lock = try folder.lockForWriting()
    defer { withExtendedLifetime(lock) {} }
    let writer = try folder.makeFile(id: 7)
    _ = try writer.finish()
    folder.requestSweep()
    try folder.beginDeferredRemoval("test")
    XCTAssertEqual(try status(folder.path), expected(0o750))
    XCTAssertEqual(try status(folder.path + "/waiting"), expected(0o750))
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where name != "waiting" {
      XCTAssertEqual(try status(folder.path + "/" + name), expected(0o640), name)
    }
  }

  func testReplacedStoresKeepTheirOwners() async throws {
    _ = try await makeStore()
    let source = try await StoreKeyring.create(storePath: folder + "/source.store", key: cheap("two"))
    try await StoreReplacement.replace(path) { staged in
      try await source.backUp(to: staged)
      let support = StoreFile.supportPath(for: staged)
      try FileManager.default.createDirectory(atPath: support, withIntermediateDirectories: false)
      try Data("x".utf8).write(to: URL(fileURLWithPath: support + "/value"))
    }
    XCTAssertEqual(try status(path), expected(0o640))
    XCTAssertEqual(try status(path + ".keys"), expected(0o440))
    XCTAssertEqual(try status(StoreFile.supportPath(for: path)), expected(0o750))
    XCTAssertEqual(try status(StoreFile.supportPath(for: path) + "/value"), expected(0o640))
    let opened = try await StoreKeyring.unlock(storePath: path, key: cheap("two"))
    try Connection(opening: path, key: opened.databaseKey()).close()
  }

  func testACompactedFileKeepsOwnerAndMode() throws {
    try Connection.create(path: path, key: testKey()).close()
    transfer(path, mode: 0o660)
    try DatabaseCopy.compact(path, key: testKey(), options: ConnectionOptions())
    XCTAssertEqual(try status(path), expected(0o660))
  }

  func testNewStoresAreAccessibleOnlyToTheirCreator() async throws {
    _ = try await StoreKeyring.create(storePath: path, key: cheap("one"))
    XCTAssertEqual(try status(path).mode, 0o600)
    XCTAssertEqual(try status(path + ".keys").mode, 0o600)
    XCTAssertEqual(try status(path).user, getuid())
  }

  func testKeyFileIsUnchangedIfItsOwnerCannotBePreserved() async throws {
    // Only root can assign a key file to another user. Any user can try to assign one to root.
    guard getuid() == 0 else { return try giveToRoot() }
    _ = try await StoreKeyring.create(storePath: path, key: cheap("one"))
    chmod(folder, 0o777)
    chmod(path, 0o666)
    chmod(path + ".keys", 0o604)
    let before = try snapshot()
    let (output, status) = try ChildProcess("add a slot unprivileged", [path]).finish()
    XCTAssertEqual(status, 0, output)
    XCTAssertEqual(ChildProcess.answers(in: output), ["permissionDenied"], output)
    XCTAssertEqual(try snapshot(), before)
  }

  private func giveToRoot() throws {
    let root = try XCTUnwrap(FileOwner(of: "/etc/passwd"))
    XCTAssertEqual(root.user, 0)
    try Data("x".utf8).write(to: URL(fileURLWithPath: path))
    let before = try status(path)
    let descriptor = open(path, O_RDWR)
    defer { close(descriptor) }
    assertThrows(.permissionDenied) { try root.transfer(descriptor, path: path) }
    XCTAssertEqual(try status(path), before)
  }
}

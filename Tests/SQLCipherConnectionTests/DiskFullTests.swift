import Foundation
import XCTest

@testable import SQLCipherConnection
@testable import StoreFiles
@testable import StoreKeys

/// A full disk: a typed error, and all acknowledged changes are present afterwards.
final class DiskFullTests: StoreTestCase {
  /// Runs in a process with a mount namespace of its own. Without root, a user namespace grants the necessary rights.
  func testFullDisksAreReportedWithoutLoss() throws {
    let disk = folder + "/disk"
    try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: true)
    let namespaces = getuid() == 0 ? ["--mount"] : ["--user", "--map-root-user", "--mount"]
    let (output, status) = try ChildProcess("fill a disk", [disk], through: ["/usr/bin/unshare"] + namespaces).finish()
    XCTAssertEqual(
      status, 0,
      "the test of a full disk could not run, or failed; it needs unshare (util-linux), and root or unprivileged user namespaces"
        + " (sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0)\n\(output)")
    XCTAssertEqual(ChildProcess.answers(in: output), ["the disk was full"], output)
  }

  func testCompactionWithoutSpaceIsRejectedBeforeItBegins() throws {
    let disk = folder + "/disk"
    try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: true)
    let namespaces = getuid() == 0 ? ["--mount"] : ["--user", "--map-root-user", "--mount"]
    let (output, status) = try ChildProcess("compact on a small disk", [disk], through: ["/usr/bin/unshare"] + namespaces).finish()
    XCTAssertEqual(status, 0, output)
    XCTAssertEqual(ChildProcess.answers(in: output), ["there was no room, and then there was"], output)
  }

  /// Compacts a store without space for the copy, and again with it. Runs in the child process.
  static func compactOnASmallDisk(at disk: String) async throws {
    guard mount("tmpfs", disk, "tmpfs", 0, "size=3m,mode=700") == 0 else {
      return XCTFail("a small disk cannot be mounted here: \(String(cString: strerror(errno)))")
    }
    let path = disk + "/store"
    let keyring = try await StoreKeyring.create(storePath: path, key: cheap("one"))
    let connection = try Connection(opening: path, key: keyring.databaseKey())
    try connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a BLOB)")
    for _ in 0..<30 { try connection.execute("INSERT INTO t (a) VALUES (randomblob(20000))") }
    try connection.execute("DELETE FROM t WHERE id > 20")
    connection.close()
    let before = try Data(contentsOf: URL(fileURLWithPath: path))
    let filler = disk + "/filler"
    let available = try XCTUnwrap(DiskSpace.available(nextTo: path))
    XCTAssertTrue(FileManager.default.createFile(atPath: filler, contents: Data(count: available - 300_000)))
    do {
      _ = try await keyring.compact()
      XCTFail("there is no room")
    } catch let error as StoreAccessError {
      guard case .insufficientDiskSpace(let needed, let available) = error.kind else { return XCTFail("\(error)") }
      XCTAssertGreaterThan(needed, 20 * 20_000)
      XCTAssertLessThan(needed, before.count)
      XCTAssertLessThan(available, needed)
      XCTAssertTrue("\(error)".contains("\(needed) bytes"))
    }
    XCTAssertEqual(try Data(contentsOf: URL(fileURLWithPath: path)).count, before.count)
    XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: disk).sorted(), ["filler", "store", "store.keys"])
    unlink(filler)
    let sizes = try await keyring.compact()
    XCTAssertLessThan(sizes.after, sizes.before)
    print("ANSWER there was no room, and then there was")
  }

  /// Mounts a small disk, and fills it. Runs in the child process.
  static func fillADisk(at disk: String) async throws {
    guard mount("tmpfs", disk, "tmpfs", 0, "size=3m,mode=700") == 0 else {
      return XCTFail("a small disk cannot be mounted here: \(String(cString: strerror(errno)))")
    }
    let path = disk + "/store"
    let keyring = try await StoreKeyring.create(storePath: path, key: cheap("one"))
    var acknowledged: Int64 = 0
    do {
      let connection = try Connection(opening: path, key: keyring.databaseKey())
      try connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a BLOB)")
      let insert = try connection.statement(0, "INSERT INTO t (a) VALUES (randomblob(20000))")
      assertThrows(.diskFull) {
        while true {
          try connection.writeTransaction { try insert.run() }
          acknowledged += 1
        }
      }
      XCTAssertTrue(connection.isInAutocommit)
      XCTAssertEqual(try connection.firstInteger("SELECT count(*) FROM t"), acknowledged)
      connection.close()
    }
    XCTAssertGreaterThan(acknowledged, 20)

    // The disk has no space for a rotation, a backup or a new slot; the store is unchanged.
    let filler = try XCTUnwrap(fopen(disk + "/filler", "w"))
    var block = [UInt8](repeating: 0, count: 4096)
    while fwrite(&block, 1, block.count, filler) == block.count, fflush(filler) == 0 {}
    fclose(filler)
    let key = try keyring.databaseKey().key
    do {
      let pool = try ConnectionPool(path: path, key: keyring.databaseKey())
      await assertThrowsAsync(.diskFull) { try await keyring.rotateDataKey(pool: pool) }
      pool.close()
    } catch let error as StoreAccessError {
      // The disk does not even have space for the log's index.
      XCTAssertTrue([.diskFull, .io(ENOSPC), .io(0)].contains(error.kind), "\(error)")
    }
    await assertThrowsAsync(.diskFull) { try await keyring.backUp(to: disk + "/copy") }
    await assertThrowsAsync(.diskFull) { try await keyring.addSlot(cheap("two")) }

    unlink(disk + "/filler")
    let again = try await StoreKeyring.unlock(storePath: path, key: cheap("one"))
    XCTAssertEqual(try again.databaseKey().key, key)
    let connection = try Connection(opening: path, key: again.databaseKey())
    XCTAssertEqual(try connection.firstInteger("SELECT count(*) FROM t"), acknowledged)
    XCTAssertEqual(try connection.firstText("PRAGMA integrity_check"), "ok")
    connection.close()
    XCTAssertEqual(try StoreVerification.run(path: path, key: again.databaseKey(), level: .full), [])
    // The log may remain, since the disk has no space to copy it into the file. Nothing else does.
    let names = try FileManager.default.contentsOfDirectory(atPath: disk).filter { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }
    XCTAssertEqual(names.sorted(), ["store", "store.keys"])
    print("ANSWER the disk was full")
  }
}

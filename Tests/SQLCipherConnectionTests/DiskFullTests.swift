// A full disk: a typed error, and everything acknowledged is there afterwards.

import Foundation
import XCTest

@testable import SQLCipherConnection
@testable import StoreKeys

final class DiskFullTests: StoreTestCase {
  private var disk: String { folder + "/disk" }

  private func mountDisk() throws {
    guard getuid() == 0 else { throw XCTSkip("only root can mount a small disk") }
    try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: true)
    guard mount("tmpfs", disk, "tmpfs", 0, "size=3m,mode=700") == 0 else {
      throw XCTSkip("a small disk cannot be mounted here: \(String(cString: strerror(errno)))")
    }
    addTeardownBlock { [disk] in umount2(disk, Int32(MNT_DETACH)) }
  }

  func testAFullDiskIsToldAndLosesNothing() async throws {
    try mountDisk()
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

    // Neither a rotation nor a backup nor a new slot fits; the store stays what it was.
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
      // Not even the log's index has room.
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
    // The log may stay, since the disk has no room to copy it into the file; nothing else does.
    let names = try FileManager.default.contentsOfDirectory(atPath: disk).filter { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }
    XCTAssertEqual(names.sorted(), ["store", "store.keys"])
  }
}

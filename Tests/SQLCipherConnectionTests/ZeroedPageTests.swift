import CSQLCipher
import Foundation
import Synchronization
import XCTest

@testable import SQLCipherConnection
@testable import StoreFiles
@testable import StoreKeys

/// Pages of zeros, which SQLCipher treats as never written, are rejected on every read, except for unused pages in a copy.
final class ZeroedPageTests: StoreTestCase {
  private static let pageSize = 4096

  /// Makes a store with rows, values on overflow pages, an index, a full-text table and unused pages.
  private func makeStore(_ name: String = "test.store", seed: Int = 0, key: DatabaseKey? = nil) throws {
    let connection = try Connection.create(path: folder + "/" + name, key: try key ?? testKey())
    defer { connection.close() }
    try connection.execute(
      """
      CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT, other INTEGER REFERENCES t(id)); CREATE INDEX i ON t (substr(text, 1, 8));
      CREATE VIRTUAL TABLE words USING fts4(text, tokenize=unicode61); CREATE TABLE gone (x)
      """)
    let insert = try connection.statement(0, "INSERT INTO t VALUES (?, ?, ?)")
    try connection.writeTransaction {
      for id in Int64(1)...120 {
        let text = String(repeating: "row \((id + Int64(seed)) * 7919 % 10007) ", count: id % 12 == 0 ? 1_500 : 24)
        try insert.bind(1, id)
        try insert.bind(2, text)
        try insert.bind(3, id > 1 ? id - 1 : 1)
        try insert.run()
      }
      try connection.execute(
        "INSERT INTO words (docid, text) SELECT id, text FROM t; INSERT INTO gone SELECT hex(randomblob(3000)) FROM t WHERE id < 30")
    }
    try connection.execute("DELETE FROM gone")
  }

  /// Returns the contents of the store, or nil if it is reported as damaged.
  private func contents(_ path: String) throws -> [String]? {
    do {
      let reader = try Connection(opening: path, key: testKey(isProven: true))
      defer { reader.close() }
      return try reader.readTransaction { try values(reader) }
    } catch let error as StoreAccessError {
      guard case .storeCorrupt = error.kind else { throw error }
      return nil
    }
  }

  private func values(_ reader: Connection) throws -> [String] {
    var lines: [String] = []
    for sql in [
      "SELECT id || text || other FROM t ORDER BY id",
      "SELECT id FROM t WHERE substr(text, 1, 8) >= 'row 5' ORDER BY substr(text, 1, 8), id",
      "SELECT docid FROM words WHERE words MATCH 'row' ORDER BY docid", "SELECT text FROM words ORDER BY docid",
      "SELECT a.id FROM t a JOIN t b ON b.id = a.other ORDER BY a.id",
    ] {
      let select = try reader.statement(sql: sql)
      defer { select.reset() }
      while try select.step() { lines.append(select.text(0)) }
    }
    return lines
  }

  private func data(_ name: String = "test.store") throws -> Data { try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name)) }

  private func write(_ data: Data, _ name: String = "test.store") throws { try data.write(to: URL(fileURLWithPath: folder + "/" + name)) }

  private func range(_ page: Int) -> Range<Int> { page * Self.pageSize..<(page + 1) * Self.pageSize }

  private func findings() throws -> [VerificationFinding] {
    try StoreVerification.run(path: path, key: testKey(isProven: true), level: .full)
  }

  func testZeroedTruncatedExchangedAndForeignPagesAreNeverRead() throws {
    try makeStore()
    // The same key with another salt, as every store has its own.
    try makeStore("other.store", seed: 9, key: DatabaseKey(key: testKey().key, salt: (0..<16).map { $0 &+ 99 }))
    let (good, other) = (try data(), try data("other.store"))
    let expected = try XCTUnwrap(contents(path))
    let count = good.count / Self.pageSize
    XCTAssertGreaterThan(count, 130)
    var reported = 0
    for page in 0..<count {
      var changes: [String: Data] = ["cut": good.prefix(page * Self.pageSize)]
      for (name, bytes) in [
        "zeroed": Data(count: Self.pageSize), "exchanged": good[range((page + 1) % count)], "foreign": other[range(page)],
      ] {
        var changed = good
        changed.replaceSubrange(range(page), with: bytes)
        changes[name] = changed
      }
      for (name, changed) in changes where page > 0 || name != "cut" {
        try write(changed)
        if let values = try contents(path) { XCTAssertEqual(values, expected, "page \(page + 1) \(name)") } else { reported += 1 }
        XCTAssertFalse(try name != "zeroed" && findings().isEmpty, "page \(page + 1) \(name)")
        if testRun?.totalFailureCount ?? 0 > 0 { return }
      }
    }
    XCTAssertGreaterThan(Double(reported), 0.6 * Double(4 * count), "only unused pages are never read")
  }

  func testCopiesNeverRepairZeroedPages() throws {
    try makeStore()
    let good = try data()
    let expected = try XCTUnwrap(contents(path))
    var unused = 0
    let leaves = try FreePages.leaves(path: path, key: testKey())
    XCTAssertGreaterThan(leaves.count, 20)
    for page in 1..<good.count / Self.pageSize {
      var changed = good
      changed.replaceSubrange(range(page), with: Data(count: Self.pageSize))
      try write(changed)
      let copy = folder + "/copy.store"
      let isUnused = leaves.contains(UInt32(page + 1))
      XCTAssertEqual(try findings().contains(.page(page + 1)), !isUnused, "page \(page + 1)")
      do {
        try Connection.prepare(
          path: copy, key: testKey(3), options: ConnectionOptions(), contents: .copy(of: path, key: testKey(), largeValues: { _ in [] }))
        XCTAssertTrue(isUnused, "page \(page + 1) was copied")
        unused += 1
        let reader = try Connection(opening: copy, key: testKey(3))
        XCTAssertEqual(try reader.readTransaction { try values(reader) }, expected)
        reader.close()
        XCTAssertEqual(try StoreVerification.run(path: copy, key: testKey(3), level: .full), [])
        StoreFile.removeDatabase(copy)
      } catch let error as StoreAccessError {
        XCTAssertEqual(error.kind, .storeCorrupt(.pageMAC), "page \(page + 1): \(error)")
        XCTAssertEqual(error.path, path, "it is the store that is damaged, not the copy")
        XCTAssertFalse(isUnused, "page \(page + 1) is unused, and the copy fails: \(error)")
        XCTAssertFalse(StoreFile.exists(copy))
      }
    }
    XCTAssertEqual(unused, leaves.count)
  }

  func testRotationsNeverRepairZeroedPages() async throws {
    let keyring = try await StoreKeyring.create(storePath: path, key: .raw(SecretBytes((0..<32).map { $0 })))
    let connection = try Connection(opening: path, key: keyring.databaseKey())
    try connection.execute("CREATE TABLE t (x); INSERT INTO t VALUES (hex(zeroblob(30000)))")
    connection.close()
    let good = try data()
    let page = good.count / Self.pageSize - 1
    var changed = good
    changed.replaceSubrange(range(page), with: Data(count: Self.pageSize))
    try write(changed)
    let pool = try ConnectionPool(path: path, key: keyring.databaseKey())
    do {
      try await keyring.rotateDataKey(pool: pool)
      XCTFail("page \(page + 1) was copied")
    } catch let error as StoreAccessError {
      XCTAssertEqual(error.kind, .storeCorrupt(.pageMAC), "\(error)")
      XCTAssertEqual(error.path, path, "it is the store that is damaged, not the copy")
    }
    pool.close()
    XCTAssertEqual(try names(), ["test.store", "test.store.keys"])
    XCTAssertEqual(try data()[range(page)].filter { $0 != 0 }, Data(), "the page is as it was")
    let reader = try Connection(opening: path, key: keyring.databaseKey())
    assertThrows(.storeCorrupt(.pageMAC)) { try reader.readTransaction { try reader.firstText("SELECT x FROM t") } }
  }

  func testStoresWithUnwrittenFreePagesAreValidAndGrow() throws {
    try makeStore()
    var changed = try data()
    let leaves = try FreePages.leaves(path: path, key: testKey())
    for leaf in leaves { changed.replaceSubrange(range(Int(leaf) - 1), with: Data(count: Self.pageSize)) }
    try write(changed)
    XCTAssertEqual(try findings(), [])
    let connection = try Connection(opening: path, key: testKey())
    try connection.execute("INSERT INTO gone SELECT hex(randomblob(3000)) FROM t WHERE id < 60")
    XCTAssertEqual(try connection.firstInteger("SELECT count(*) FROM gone WHERE length(x) = 6000"), 59)
    connection.close()
    XCTAssertEqual(try findings(), [])
  }

  func testZeroedLogFramesAreRejected() throws {
    try makeStore()
    let keeper = try Connection(opening: path, key: testKey())
    try keeper.execute("UPDATE t SET text = text || ' more'")
    let log = try data("test.store-wal")
    let frame = 24 + Self.pageSize
    let count = (log.count - 32) / frame
    XCTAssertGreaterThan(count, 30)
    let expected = try keeper.readTransaction { try values(keeper) }
    for index in 0..<count {
      var changed = log
      let start = 32 + index * frame
      changed.replaceSubrange(start + 24..<start + frame, with: Data(count: Self.pageSize))
      Self.repairSums(&changed)
      // In place, while another connection has the log open: its index marks the frame as valid.
      try overwrite(path + "-wal", with: changed)
      var options = ConnectionOptions()
      options.trustsLog = true
      do {
        let reader = try Connection(opening: path, key: testKey(isProven: true), options: options)
        defer { reader.close() }
        let found = try reader.readTransaction { try values(reader) }
        XCTAssertEqual(found, expected, "frame \(index)")
      } catch let error as StoreAccessError {
        XCTAssertEqual(error.kind, .storeCorrupt(.pageMAC), "frame \(index): \(error)")
      }
      // A new connection verifies the whole log first.
      assertThrows(.storeCorrupt(.wal)) { try Connection(opening: path, key: testKey(isProven: true)) }
      // No part of it is copied to the file.
      let before = try data()
      XCTAssertThrowsError(try keeper.pragma("wal_checkpoint(FULL)"), "frame \(index)")
      XCTAssertNil(try zeroPage(of: data()), "frame \(index)")
      try overwrite(path + "-wal", with: log)
      try overwrite(path, with: before)
      if testRun?.totalFailureCount ?? 0 > 0 { break }
    }
    keeper.close()
  }

  private func zeroPage(of data: Data) -> Int? {
    (0..<data.count / Self.pageSize).first { page in data[range(page)].allSatisfy { $0 == 0 } }
  }

  private func overwrite(_ path: String, with data: Data) throws {
    let descriptor = open(path, O_WRONLY)
    defer { _ = Foundation.close(descriptor) }
    XCTAssertEqual(data.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }, data.count)
    XCTAssertEqual(ftruncate(descriptor, off_t(data.count)), 0)
  }

  /// The checksums of a log are not keyed: anyone can correct them.
  private static func repairSums(_ log: inout Data) {
    var bytes = [UInt8](log)
    func word(_ offset: Int, isBig: Bool) -> UInt32 {
      let slice = bytes[offset..<offset + 4]
      return (isBig ? Array(slice) : slice.reversed()).reduce(0) { $0 << 8 | UInt32($1) }
    }
    let isBig = bytes[3] & 1 == 1
    var sums = (word(24, isBig: true), word(28, isBig: true))
    func add(_ range: Range<Int>) {
      for offset in stride(from: range.lowerBound, to: range.upperBound, by: 8) {
        sums.0 = sums.0 &+ word(offset, isBig: isBig) &+ sums.1
        sums.1 = sums.1 &+ word(offset + 4, isBig: isBig) &+ sums.0
      }
    }
    var start = 32
    while start + 24 + pageSize <= bytes.count {
      add(start..<start + 8)
      add(start + 24..<start + 24 + pageSize)
      for (index, sum) in [sums.0, sums.1].enumerated() {
        for byte in 0..<4 { bytes[start + 16 + 4 * index + byte] = UInt8(truncatingIfNeeded: sum >> UInt32(24 - 8 * byte)) }
      }
      start += 24 + pageSize
    }
    log = Data(bytes)
  }

  func testFilesTruncatedWhileTheLogIsInUseAreNotPaddedWithZeros() throws {
    let first = try Connection.create(path: path, key: testKey())
    let text = String(repeating: "text ", count: 20_000)
    try first.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT); INSERT INTO t VALUES (1, '\(text)')")
    first.close()
    let keeper = try Connection(opening: path, key: testKey())
    defer { keeper.close() }
    // The log contains the first page and the page count: SQLite does not compare the file's size.
    try keeper.execute("CREATE TABLE more (x)")
    let good = try data()
    XCTAssertGreaterThan(good.count / Self.pageSize, 20)
    for size in stride(from: 3 * Self.pageSize, to: good.count, by: Self.pageSize / 2) {
      XCTAssertEqual(truncate(path, off_t(size)), 0)
      let reader = try Connection(opening: path, key: testKey(isProven: true))
      let error = assertThrows(.storeCorrupt(.pageMAC)) { try reader.readTransaction { try reader.firstText("SELECT text FROM t") } }
      XCTAssertEqual(error?.extendedCode, ResultCode.rejectedPage, "\(size) bytes")
      reader.close()
      try overwrite(path, with: good)
    }
    XCTAssertEqual(try keeper.readTransaction { try keeper.firstText("SELECT text FROM t") }, text)
  }

  func testLockBytePageIsNotAFinding() throws {
    // Pages up to 1 GiB and beyond, nearly all unused and never written, in a sparse file.
    try makeStore()
    let last = UInt32((1 << 30) / Self.pageSize + 40)
    try extend(to: last)
    XCTAssertEqual(StoreFile.size(path), Int(last) * Self.pageSize)
    XCTAssertEqual(try findings(), [])
    let expected = try XCTUnwrap(contents(path))
    // The pages after the lock-byte page are used first.
    let connection = try Connection(opening: path, key: testKey())
    try connection.execute("INSERT INTO gone SELECT hex(randomblob(3000)) FROM t WHERE id < 40")
    XCTAssertEqual(try connection.firstInteger("SELECT count(*) FROM gone WHERE length(x) = 6000"), 39)
    XCTAssertEqual(try connection.readTransaction { try values(connection) }, expected)
    connection.close()
    XCTAssertEqual(try findings(), [])
    // A zeroed page in use is still damage there.
    let descriptor = open(path, O_WRONLY)
    defer { _ = Foundation.close(descriptor) }
    let used = try XCTUnwrap(pastTheLock(last).first { try pageIsWritten($0) })
    let zeros = [UInt8](repeating: 0, count: Self.pageSize)
    XCTAssertEqual(pwrite(descriptor, zeros, zeros.count, off_t(used - 1) * off_t(Self.pageSize)), zeros.count)
    XCTAssertTrue(try findings().contains(.page(Int(used))))
  }

  private func pastTheLock(_ last: UInt32) -> [UInt32] { Array(UInt32((1 << 30) / Self.pageSize + 2)...last) }

  private func pageIsWritten(_ number: UInt32) throws -> Bool {
    let file = try BareDatabaseFile(path)
    var page = [UInt8](repeating: 0, count: Self.pageSize)
    return try page.withUnsafeMutableBytes {
      try file.read(into: $0, offset: Int64(number - 1) * Int64(Self.pageSize))
      return !GuardedFile.isZero($0)
    }
  }

  /// Extends the page count with unused pages. The lock-byte page belongs to no structure.
  private func extend(to last: UInt32) throws {
    let cipher = try PageCipher(key: testKey())
    let descriptor = open(path, O_RDWR)
    defer { _ = Foundation.close(descriptor) }
    func edit(_ number: UInt32, isNew: Bool, _ body: (inout [UInt8]) -> Void) {
      var page = [UInt8](repeating: 0, count: Self.pageSize)
      let offset = off_t(number - 1) * off_t(Self.pageSize)
      if !isNew {
        XCTAssertEqual(pread(descriptor, &page, page.count, offset), page.count)
        XCTAssertTrue(try page.withUnsafeMutableBytes { try cipher.open($0, number: number) })
      }
      body(&page)
      XCTAssertNoThrow(try page.withUnsafeMutableBytes { try cipher.seal($0, number: number) })
      XCTAssertEqual(pwrite(descriptor, page, page.count, offset), page.count)
    }
    func put(_ value: UInt32, _ offset: Int, _ page: inout [UInt8]) {
      for index in 0..<4 { page[offset + index] = UInt8(truncatingIfNeeded: value >> UInt32(24 - 8 * index)) }
    }
    func number(_ page: [UInt8], _ offset: Int) -> UInt32 { page[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) } }

    let first = UInt32(try data().count / Self.pageSize + 1)
    let lock = UInt32((1 << 30) / Self.pageSize + 1)
    let free = (first...last).filter { $0 != lock }
    var capacity = 0
    var next: UInt32 = 0
    var added: UInt32 = 0
    edit(1, isNew: false) { page in
      // SQLCipher 4 reserves more bytes at the end of a page than this format needs.
      capacity = (Self.pageSize - Int(page[20])) / 4 - 8
      next = number(page, 32)
      added = number(page, 36)
    }
    // The first trunk pages of the free list contain the last pages.
    var start = 0
    while start < free.count {
      let part = free[start..<min(start + capacity + 1, free.count)]
      let trunk = part[part.endIndex - 1]
      edit(trunk, isNew: true) { page in
        put(next, 0, &page)
        put(UInt32(part.count - 1), 4, &page)
        for (index, leaf) in part.dropLast().enumerated() { put(leaf, 8 + 4 * index, &page) }
      }
      next = trunk
      added += UInt32(part.count)
      start += part.count
    }
    edit(1, isNew: false) { page in
      put(next, 32, &page)
      put(added, 36, &page)
      put(last, 28, &page)
    }
    XCTAssertEqual(ftruncate(descriptor, off_t(last) * off_t(Self.pageSize)), 0)
  }
}

/// A counting file system layer, registered as SQLite's default below the library's.
final class DefaultVFSTests: StoreTestCase {
  func testPageGuardWrapsTheDefaultVFS() throws {
    let lower = try XCTUnwrap(sqlite3_vfs_find(nil))
    let own = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    own.initialize(to: lower.pointee)
    own.pointee.pNext = nil
    own.pointee.zName = UnsafePointer(strdup("counting"))
    own.pointee.pAppData = UnsafeMutableRawPointer(lower)
    own.pointee.xOpen = { vfs, name, file, flags, outFlags in
      DefaultVFSTests.opened.withLock { $0 += 1 }
      let lower = vfs?.pointee.pAppData?.assumingMemoryBound(to: sqlite3_vfs.self)
      return lower?.pointee.xOpen?(lower, name, file, flags, outFlags) ?? SQLITE_CANTOPEN
    }
    XCTAssertEqual(sqlite3_vfs_register(own, 1), SQLITE_OK)
    defer {
      // The registration remains in SQLite; the guard over it is no longer used.
      sqlite3_vfs_register(lower, 1)
    }
    let connection = try Connection.create(path: path, key: testKey())
    try connection.execute("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
    XCTAssertEqual(try connection.firstInteger("SELECT x FROM t"), 1)
    connection.close()
    let count = Self.opened.withLock { $0 }
    XCTAssertGreaterThan(count, 3, "the database, its log, the copies that creation makes")
    sqlite3_vfs_register(lower, 1)
    XCTAssertEqual(try Connection(opening: path, key: testKey()).firstInteger("SELECT x FROM t"), 1)
    XCTAssertEqual(Self.opened.withLock { $0 }, count)
  }

  private static let opened = Mutex(0)
}

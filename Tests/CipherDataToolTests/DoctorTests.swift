import CipherDataToolKit
import Foundation
import XCTest

/// `cipherdata doctor`: the result of each check, and the built tool.
final class DoctorTests: XCTestCase {
  private let mounts = """
    27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
    40 27 0:35 / /tmp rw,nosuid - tmpfs tmpfs rw,size=1g
    41 27 0:36 / /mnt/with\\040blank rw,relatime shared:7 master:1 - nfs4 server:/share rw,vers=4.2
    42 27 8:1 / /data rw,relatime - ext4 /dev/sda1 rw,data=writeback,barrier=0
    43 27 8:1 / /cd ro,relatime - iso9660 /dev/sr0 ro
    nonsense
    """

  private func grades(_ path: String) throws -> [Finding.Grade] {
    DiskExamination.findings(try XCTUnwrap(Mount.of(path, in: mounts))).map(\.grade)
  }

  func testTheFileSystemOfAPathIsFound() throws {
    XCTAssertEqual(Mount.of("/home/a/b", in: mounts)?.type, "ext4")
    XCTAssertEqual(Mount.of("/tmp", in: mounts)?.type, "tmpfs")
    XCTAssertEqual(Mount.of("/tmpx/store", in: mounts)?.folder, "/")
    XCTAssertEqual(Mount.of("/mnt/with blank/x", in: mounts)?.type, "nfs4")
    XCTAssertNil(Mount.of("/a", in: "nonsense"))
  }

  func testFileSystemsWithoutLocksOrSyncsAreAdvisedAgainst() throws {
    XCTAssertEqual(try grades("/home"), [.good])
    XCTAssertEqual(try grades("/tmp/a"), [.advice])
    XCTAssertEqual(try grades("/mnt/with blank/a"), [.advice])
    XCTAssertEqual(try grades("/data/a"), [.good, .advice, .advice])
    XCTAssertEqual(try grades("/cd/a").filter { $0 == .note }.count, 2)
  }

  func testIneffectiveSyncsAreReported() {
    XCTAssertEqual(DiskExamination.finding(ofSync: .milliseconds(4), preloaded: "").value, "4.0 ms")
    XCTAssertEqual(DiskExamination.finding(ofSync: .milliseconds(4), preloaded: "").grade, .good)
    XCTAssertEqual(DiskExamination.finding(ofSync: .microseconds(3), preloaded: "").grade, .note)
    XCTAssertEqual(DiskExamination.finding(ofSync: nil, preloaded: "").grade, .note)
    XCTAssertEqual(DiskExamination.finding(ofSync: .milliseconds(4), preloaded: "/usr/lib/libeatmydata.so").grade, .failure)
  }

  func testUnencryptedSwapIsReported() {
    let head = "Filename\tType\tSize\tUsed\tPriority\n"
    XCTAssertEqual(MemoryExamination.swap(head, isEncrypted: { _ in false }).grade, .good)
    XCTAssertEqual(MemoryExamination.swap(head + "/dev/sda2 partition 1 0 -2\n", isEncrypted: { _ in false }).grade, .advice)
    XCTAssertEqual(MemoryExamination.swap(head + "/dev/dm-1 partition 1 0 -2\n", isEncrypted: { $0 == "/dev/dm-1" }).grade, .good)
    XCTAssertEqual(MemoryExamination.swap(head + "/dev/zram0 partition 1 0 -2\n", isEncrypted: { _ in false }).grade, .good)
    let mixed = MemoryExamination.swap(head + "/dev/zram0 partition 1 0 -2\n/swapfile file 1 0 -3\n", isEncrypted: { _ in false })
    XCTAssertEqual(mixed.grade, .advice)
    XCTAssertEqual(mixed.value, "/swapfile")
  }

  func testCoreDumpsLockedMemoryAndDebuggers() {
    XCTAssertEqual(MemoryExamination.coreDumps(limit: 0, pattern: "core").grade, .good)
    XCTAssertEqual(MemoryExamination.coreDumps(limit: .max, pattern: "core").grade, .advice)
    XCTAssertEqual(MemoryExamination.coreDumps(limit: 0, pattern: "|/usr/lib/systemd/systemd-coredump %P").grade, .advice)
    XCTAssertEqual(MemoryExamination.lockedMemory(limit: 8 << 20).grade, .good)
    XCTAssertEqual(MemoryExamination.lockedMemory(limit: 0).grade, .advice)
    XCTAssertEqual(MemoryExamination.debuggers(scope: "1").grade, .good)
    XCTAssertEqual(MemoryExamination.debuggers(scope: "0").grade, .note)
    XCTAssertEqual(MemoryExamination.debuggers(scope: nil).grade, .note)
  }

  func testModesOfFiles() {
    func grade(_ name: String, _ mode: mode_t, owner: uid_t = 5) -> Finding.Grade {
      FileExamination.finding(of: "/a/\(name)", mode: S_IFREG | mode, owner: owner, storeOwner: 5).grade
    }
    XCTAssertEqual(grade("x.store", 0o600), .good)
    XCTAssertEqual(grade("x.store", 0o644), .note)
    XCTAssertEqual(grade("x.store.keys", 0o640), .advice)
    XCTAssertEqual(grade("x.store", 0o660), .advice)
    XCTAssertEqual(grade("x.store", 0o600, owner: 0), .advice)
  }

  func testDoctorExaminesAStoreAndExitsAccordingly() async throws {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    XCTAssertEqual(chmod(fixture.store + ".keys", 0o644), 0)
    let result = try fixture.run(["doctor", "test.store", "--format", "json"])
    XCTAssertEqual(result.status, 1, result.error)
    guard case .array(let findings)? = try JSONParser.parse(result.output)["findings"] else { return XCTFail(result.output) }
    func grade(_ area: String, _ subject: String) -> String? {
      findings.first { $0["area"] == .string(area) && $0["subject"] == .string(subject) }?["grade"]?.plainText
    }
    XCTAssertEqual(grade("files", "test.store.keys"), "advice")
    XCTAssertEqual(grade("files", "test.store"), "good")
    for subject in ["cipherdata", "SQLCipher", "SQLite", "libcrypto"] { XCTAssertNotNil(grade("library", subject), subject) }
    for subject in ["encryption", "journal_mode", "synchronous", "temp_store", "space", "keys"] {
      XCTAssertNotNil(grade("store", subject), subject)
    }
    for subject in ["file system", "sync"] { XCTAssertNotNil(grade("disk", subject), subject) }
    for subject in ["swap", "core dumps", "locked memory"] { XCTAssertNotNil(grade("memory", subject), subject) }
    // It leaves no files behind.
    XCTAssertFalse(try FileManager.default.contentsOfDirectory(atPath: fixture.folder.url.path).contains { $0.hasPrefix(".cipherdata-") })
  }

  func testLockedStoresAreExaminedFromOutside() async throws {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    let before = try Data(contentsOf: URL(fileURLWithPath: fixture.store))
    let result = try fixture.run(["doctor", "test.store", "--locked"], passphrase: nil)
    XCTAssertTrue(result.output.contains("Files\n"), result.output)
    XCTAssertFalse(result.output.contains("Store\n"))
    XCTAssertEqual(try Data(contentsOf: URL(fileURLWithPath: fixture.store)), before)
    XCTAssertEqual(try fixture.run(["doctor", "nothing.store", "--locked"], passphrase: nil).status, 66)
    XCTAssertEqual(try fixture.run(["doctor", "test.store"], passphrase: "other").status, 77)
    try await damaged(fixture)
  }

  private func damaged(_ fixture: ToolFixture) async throws {
    let handle = try FileHandle(forUpdating: URL(fileURLWithPath: fixture.store))
    for page in 1..<40 {
      try handle.seek(toOffset: UInt64(page * 4_096 + 100))
      try handle.write(contentsOf: Data([1, 2, 3, 4]))
    }
    try handle.close()
    XCTAssertEqual(try fixture.run(["doctor", "test.store"]).status, 74)
  }
}

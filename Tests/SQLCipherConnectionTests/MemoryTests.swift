// Errors without memory and for files that are temporarily unreadable: neither is reported as damage or as missing encryption.

import CLibcrypto
import CSQLCipher
import Foundation
import XCTest
import _FailingLibcrypto

@testable import SQLCipherConnection
@testable import StoreFiles
@testable import StoreKeys

extension ChildProcessTests {
  /// Derives a key with 1 GiB of memory where a quarter of that is available.
  func deriveInLittleMemory() throws {
    let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ").first.flatMap { UInt($0) } ?? 0
    var limit = rlimit()
    limit.rlim_cur = rlim_t(pages * UInt(getpagesize()) + 256 << 20)
    limit.rlim_max = limit.rlim_cur
    guard setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0 else {
      throw StoreAccessError.system(errno, path: nil, operation: .open)
    }
    _ = try Cryptography.scrypt(SecretBytes(utf8: "one"), salt: [UInt8](repeating: 0, count: 16), log2N: 20, blockSize: 8, parallelism: 1)
  }
}

extension ChildProcessTests {
  /// Verifies intact data with fewer and fewer allocations for libcrypto. Returns the distinct outcomes of each operation.
  func checkInNoMemory() throws -> [String] {
    guard failing_libcrypto_is_installed() == 1 else { return ["libcrypto has memory already"] }
    let authenticator = try PageAuthenticator(key: testKey())
    let cipher = try PageCipher(key: testKey())
    var page = [UInt8](repeating: 5, count: try testKey().format.pageSize)
    try page.withUnsafeMutableBytes { try cipher.seal($0, number: 3) }
    let key = SecretBytes([UInt8](repeating: 1, count: 32))
    let nonce = [UInt8](repeating: 2, count: Cryptography.nonceSize)
    let box = try Cryptography.seal(key, key: key, nonce: nonce, authenticating: [3])
    var chunk = [UInt8](repeating: 0, count: 48)
    let chunks = try ChunkCipher(key: key, header: [4])
    try chunk.withUnsafeMutableBytes { output in
      try [UInt8](repeating: 6, count: 32).withUnsafeBytes { try chunks.seal($0, 0, isLast: true, into: output) }
    }
    let sealed = chunk
    let path = NSTemporaryDirectory() + "/cipherdata-\(UUID().uuidString)"
    defer { for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) } }
    let connection = try Connection.create(path: path, key: testKey())
    defer { connection.close() }
    try connection.execute("CREATE TABLE t (a)")
    let file = try BareDatabaseFile(path)

    func outcomes(_ check: () throws -> Bool) -> String {
      var found: Set<String> = []
      for count in 0..<60 {
        // The error queue has its memory from here on.
        ERR_clear_error()
        failing_libcrypto_allow(count)
        var isSound = false
        let outcome = kind { isSound = try check() }
        failing_libcrypto_allow(.max)
        // libcrypto does not always report why it failed, and the process itself has memory here.
        if outcome.hasPrefix("encryptionUnavailable") { continue }
        found.insert(outcome == "ok" ? "\(isSound)" : outcome)
      }
      return found.sorted().joined(separator: " ")
    }
    return [
      outcomes {
        var page = page
        return try page.withUnsafeMutableBytes { try authenticator.isAuthentic($0, number: 3) }
      },
      outcomes {
        var page = page
        return try page.withUnsafeMutableBytes { try cipher.open($0, number: 3) }
      },
      outcomes {
        var page = page
        try page.withUnsafeMutableBytes { try cipher.seal($0, number: 3) }
        return true
      },
      outcomes { try Cryptography.open(box, key: key, nonce: nonce, authenticating: [3]) == key },
      outcomes {
        let chunks = try ChunkCipher(key: key, header: [4])
        var output = [UInt8](repeating: 0, count: 32)
        return try output.withUnsafeMutableBytes { output in
          try sealed.withUnsafeBytes { try chunks.open($0, 0, isLast: true, into: output) }
        }
      },
      outcomes { try WriteAheadLog.isAuthentic(path + "-wal", authenticator: authenticator) },
      outcomes { try WriteAheadLog.hasAuthenticFirstPage(path + "-wal", authenticator: authenticator) },
      outcomes { try file.isFirstPageAuthentic(testKey()) || true },
    ]
  }
}

final class MemoryTests: StoreTestCase {
  func testKeyDerivationReportsFailedAllocations() throws {
    let (output, status) = try ChildProcess("derive in little memory").finish()
    XCTAssertEqual(status, 0, output)
    XCTAssertEqual(ChildProcess.answers(in: output), ["outOfMemory"], output)
  }

  func testFailedAllocationsOfChecksAreNotReportedAsDamage() throws {
    let (output, status) = try ChildProcess("check in no memory").finish()
    XCTAssertEqual(status, 0, output)
    XCTAssertEqual(ChildProcess.answers(in: output), Array(repeating: "outOfMemory true", count: 8), output)
  }

  func testOutOfMemoryCodesAreReportedAsSuch() {
    XCTAssertEqual(StoreAccessError.sqlite(SQLITE_NOMEM, handle: nil, path: nil, operation: .open).kind, .outOfMemory)
    XCTAssertEqual(StoreAccessError.system(ENOMEM, path: nil, operation: .open).kind, .outOfMemory)
  }

  func testUnreadableLogsAreNotMistakenForTheirEnd() throws {
    let connection = try Connection.create(path: path, key: testKey())
    try connection.execute("CREATE TABLE t (a)")
    connection.close()
    let authenticator = try PageAuthenticator(key: testKey())
    XCTAssertTrue(try WriteAheadLog.isAuthentic(path + "-wal", authenticator: authenticator))
    // Reading a folder as a file is a system error.
    XCTAssertThrowsError(try WriteAheadLog.isAuthentic(folder, authenticator: authenticator))
    XCTAssertThrowsError(try WriteAheadLog.hasAuthenticFirstPage(folder, authenticator: authenticator))
  }

  func testInputAndMemoryErrorsOfChecksAreNotDamage() throws {
    assertThrows(.io(0)) { try StoreVerification.checkIsDamage("Page 5: unable to get the page. error code=266", path: path) }
    assertThrows(.outOfMemory) { try StoreVerification.checkIsDamage("Page 5: unable to get the page. error code=7", path: path) }
    try StoreVerification.checkIsDamage("Page 5: unable to get the page. error code=522", path: path)
    try StoreVerification.checkIsDamage("Page 5: unable to get the page. error code=11", path: path)
    try StoreVerification.checkIsDamage("row 3 missing from index i", path: path)
  }
}

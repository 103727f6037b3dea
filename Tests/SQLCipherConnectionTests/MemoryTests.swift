// What is told where no memory is left, and where something cannot be read for the time being: neither is damage, nor a lack of encryption.

import CSQLCipher
import Foundation
import XCTest

@testable import SQLCipherConnection

extension ChildProcessTests {
  /// Stretches a passphrase with 1 GiB, of which there is a quarter.
  func deriveInLittleMemory() throws {
    let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ").first.flatMap { UInt($0) } ?? 0
    var limit = rlimit()
    limit.rlim_cur = rlim_t(pages * UInt(getpagesize()) + 256 << 20)
    limit.rlim_max = limit.rlim_cur
    guard setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0 else {
      throw StoreAccessError.system(errno, path: nil, operation: "limit")
    }
    _ = try Cryptography.scrypt(SecretBytes(utf8: "one"), salt: [UInt8](repeating: 0, count: 16), log2N: 20, blockSize: 8, parallelism: 1)
  }
}

final class MemoryTests: StoreTestCase {
  func testADerivationWithoutMemorySaysSo() throws {
    let (output, status) = try ChildProcess("derive in little memory").finish()
    XCTAssertEqual(status, 0, output)
    XCTAssertEqual(ChildProcess.answers(in: output), ["outOfMemory"], output)
  }

  func testCodesOfLittleMemoryAreToldAsSuch() {
    XCTAssertEqual(StoreAccessError.sqlite(SQLITE_NOMEM, handle: nil, path: nil, operation: "open").kind, .outOfMemory)
    XCTAssertEqual(StoreAccessError.system(ENOMEM, path: nil, operation: "open").kind, .outOfMemory)
  }

  func testALogThatCannotBeReadIsNoEndOfTheLog() throws {
    let connection = try Connection.create(path: path, key: testKey())
    try connection.execute("CREATE TABLE t (a)")
    connection.close()
    let authenticator = try PageAuthenticator(key: testKey())
    XCTAssertTrue(try WriteAheadLog.isAuthentic(path + "-wal", authenticator: authenticator))
    // Reading a folder as a file is an error of the system.
    XCTAssertThrowsError(try WriteAheadLog.isAuthentic(folder, authenticator: authenticator))
    XCTAssertThrowsError(try WriteAheadLog.holdsAuthenticFirstPage(folder, authenticator: authenticator))
  }

  func testALineOfTheCheckThatNamesAnErrorOfInputOrMemoryIsNoDamage() throws {
    assertThrows(.io(0)) { try StoreVerification.checkIsDamage("Page 5: unable to get the page. error code=266", path: path) }
    assertThrows(.outOfMemory) { try StoreVerification.checkIsDamage("Page 5: unable to get the page. error code=7", path: path) }
    try StoreVerification.checkIsDamage("Page 5: unable to get the page. error code=522", path: path)
    try StoreVerification.checkIsDamage("Page 5: unable to get the page. error code=11", path: path)
    try StoreVerification.checkIsDamage("row 3 missing from index i", path: path)
  }
}

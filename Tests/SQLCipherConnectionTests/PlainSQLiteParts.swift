// The child process that loads plain SQLite in addition to SQLCipher.

import Foundation
import XCTest

@testable import SQLCipherConnection
@testable import StoreKeys

extension ChildProcessTests {
  /// Writes alternately to a store and, with the plain SQLite that this process has loaded, to a plain database.
  func besidePlainSQLite(_ path: String, isDeep: Bool) throws {
    // RTLD_DEEPBIND: the library resolves its own symbols first, as in an application linked that way.
    guard let library = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL | (isDeep ? 0x8 : 0)) else {
      return XCTFail("plain SQLite is needed: run Scripts/install-dependencies --tests")
    }
    typealias Open = @convention(c) (UnsafePointer<CChar>?, UnsafeMutablePointer<OpaquePointer?>?) -> Int32
    typealias Execute = @convention(c) (OpaquePointer?, UnsafePointer<CChar>?, OpaquePointer?, OpaquePointer?, OpaquePointer?) -> Int32
    typealias Close = @convention(c) (OpaquePointer?) -> Int32
    let open = unsafeBitCast(try XCTUnwrap(dlsym(library, "sqlite3_open")), to: Open.self)
    let execute = unsafeBitCast(try XCTUnwrap(dlsym(library, "sqlite3_exec")), to: Execute.self)
    let close = unsafeBitCast(try XCTUnwrap(dlsym(library, "sqlite3_close")), to: Close.self)
    let connection = try Connection(opening: path, key: testKey())
    func tell() throws {
      let count = try connection.firstInteger("SELECT count(*) FROM t") ?? -1
      print("ANSWER \(count) \(try connection.firstText("PRAGMA integrity_check") ?? "")")
      fflush(nil)
    }
    try connection.writeTransaction { try connection.execute("INSERT INTO t (a) VALUES ('first')") }
    try tell()
    var plain: OpaquePointer?
    XCTAssertEqual(open(path + ".plain", &plain), 0)
    XCTAssertEqual(execute(plain, "CREATE TABLE t (a)", nil, nil, nil), 0)
    for number in 0..<200 {
      try connection.writeTransaction { try connection.execute("INSERT INTO t (a) VALUES (\(number))") }
      XCTAssertEqual(execute(plain, "INSERT INTO t VALUES (\(number))", nil, nil, nil), 0)
    }
    // Plain SQLite cannot read the store, and does not change it.
    var other: OpaquePointer?
    XCTAssertEqual(open(path, &other), 0)
    XCTAssertEqual(execute(other, "SELECT count(*) FROM sqlite_master", nil, nil, nil), 26)
    XCTAssertEqual(close(other), 0)
    try connection.writeTransaction { try connection.execute("INSERT INTO t (a) VALUES ('last')") }
    XCTAssertEqual(close(plain), 0)
    try tell()
    connection.close()
  }
}

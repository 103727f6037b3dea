import Foundation
import XCTest
import _TestSupport

@testable import SQLCipherConnection
@testable import StoreKeys

/// SQLCipher's own shell opens the library's files and vice versa, with the documented pragmas.
final class InteropTests: StoreTestCase {
  private func shell(_ file: String, _ sql: String) throws -> String {
    try ProgramRun(["sqlcipher", "-batch", file, sql]).output
  }

  /// The shell's version, 3 or 4. It must equal that of the linked library; another one proves less.
  private func shellVersion() throws -> Int {
    let output = try shell(":memory:", "PRAGMA key = 'x'; PRAGMA cipher_version")
    // SQLCipher 4 first prints a message about the key.
    let version = output.split(separator: "\n").compactMap { line in line.firstIndex(of: ".").flatMap { Int(line[..<$0]) } }.first
    let found = try XCTUnwrap(version, "the sqlcipher shell is missing: run Scripts/install-dependencies --tests (it said: \(output))")
    XCTAssertEqual(found, LibraryVersion.isSQLCipher4 ? 4 : 3, "the sqlcipher shell in PATH is of another version than the linked library")
    return found
  }

  /// The pragmas that the documentation of each format states.
  private func pragmas(_ format: SQLCipherFormat, shell: Int) -> String {
    var text = ""
    if shell == 4 && format.version == 3 { text += "PRAGMA cipher_compatibility = 3; " }
    if format == .portable { text += "PRAGMA cipher_page_size = 4096; " }
    return text
  }

  private var formats: [SQLCipherFormat] {
    LibraryVersion.isSQLCipher4 ? [.portable, .sqlcipher3, .sqlcipher4] : [.portable, .sqlcipher3]
  }

  func testTheShellOpensAStoreWithASQLCipherPassphrase() async throws {
    let version = try shellVersion()
    for format in formats where format.version <= version {
      let path = folder + "/\(format.version)-\(format.pageSize)"
      let keyring = try await StoreKeyring.create(storePath: path, key: .sqlcipherPassphrase("it's a passphrase", format))
      let connection = try Connection(opening: path, key: keyring.databaseKey())
      try connection.execute("CREATE TABLE t (a); INSERT INTO t VALUES (40 + 2)")
      connection.close()
      let output = try shell(path, "PRAGMA key = 'it''s a passphrase'; \(pragmas(format, shell: version))SELECT 'answer', a FROM t")
      XCTAssertTrue(output.contains("answer|42"), "\(format): \(output)")
    }
  }

  func testTheShellOpensAStoreWithItsDataKey() async throws {
    let version = try shellVersion()
    let keyring = try await StoreKeyring.create(storePath: path, key: cheap("one"))
    let key = try keyring.databaseKey()
    let connection = try Connection(opening: path, key: key)
    try connection.execute("CREATE TABLE t (a); INSERT INTO t VALUES (40 + 2)")
    connection.close()
    let hex = key.key.withUnsafeBytes { $0.map { String(format: "%02x", $0) }.joined() }
    let output = try shell(path, "PRAGMA key = \"x'\(hex)'\"; \(pragmas(.portable, shell: version))SELECT 'answer', a FROM t")
    XCTAssertTrue(output.contains("answer|42"), output)
  }

  func testStoresCreatedByTheShellOpen() async throws {
    let version = try shellVersion()
    for format in formats where format.version <= version {
      let path = folder + "/\(format.version)-\(format.pageSize)"
      let output = try shell(
        path, "PRAGMA key = 'passphrase'; \(pragmas(format, shell: version))CREATE TABLE t (a); INSERT INTO t VALUES (42)")
      XCTAssertFalse(output.contains("Error"), output)
      let keyring = try await StoreKeyring.unlock(storePath: path, key: .sqlcipherPassphrase("passphrase", format))
      let connection = try Connection(opening: path, key: keyring.databaseKey())
      XCTAssertEqual(try connection.firstInteger("SELECT a FROM t"), 42)
      connection.close()
      XCTAssertEqual(try StoreVerification.run(path: path, key: keyring.databaseKey(), level: .full), [])
      await assertThrowsAsync(.unreadableStore) {
        let wrong = try await StoreKeyring.unlock(storePath: path, key: .sqlcipherPassphrase("Passphrase", format))
        return try Connection(opening: path, key: wrong.databaseKey())
      }
    }
  }

  private static let fixtureFormats: [String: SQLCipherFormat] = ["portable": .portable, "v3": .sqlcipher3, "v4": .sqlcipher4]

  func testEveryFormatOfBothVersionsHasItsFixtures() throws {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Fixtures").path
    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
    for version in [3, 4] {
      for (name, format) in Self.fixtureFormats where format.version <= version {
        for file in ["passphrase.store", "slots.store", "slots.store.keys"] {
          XCTAssertTrue(names.contains("by\(version)-\(name)-\(file)"), "\(name) by SQLCipher \(version): \(file)")
        }
      }
    }
  }

  func testFixturesOfBothVersionsOpen() async throws {
    let fixtures = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Fixtures").path
    for name in try FileManager.default.contentsOfDirectory(atPath: fixtures).sorted() where name.hasSuffix(".store") {
      for file in [name, name + ".keys"] where FileManager.default.fileExists(atPath: fixtures + "/" + file) {
        try FileManager.default.copyItem(atPath: fixtures + "/" + file, toPath: folder + "/" + file)
      }
      let path = folder + "/" + name
      // The name contains the writer, the format and the kind of key: "by3-portable-slots.store".
      let parts = name.dropLast(6).split(separator: "-")
      let format = try XCTUnwrap(Self.fixtureFormats[String(parts[1])], name)
      let key: StoreKey = parts[2] == "slots" ? cheap("fixture") : .sqlcipherPassphrase("fixture", format)
      do {
        let keyring = try await StoreKeyring.unlock(storePath: path, key: key)
        let databaseKey = try keyring.databaseKey()
        let connection = try Connection(opening: path, key: databaseKey)
        XCTAssertEqual(try connection.firstText("SELECT text FROM t WHERE id = 3"), "drei \u{1f41f}", name)
        XCTAssertEqual(try connection.firstInteger("SELECT sum(length(text)) FROM t"), 30_017, name)
        connection.close()
        XCTAssertEqual(try StoreVerification.run(path: path, key: databaseKey, level: .full), [], name)
      } catch let error as StoreAccessError {
        guard case .unsupportedFormat = error.kind, format.version == 4, !LibraryVersion.isSQLCipher4 else {
          XCTFail("\(name): \(error)")
          continue
        }
      }
    }
  }

  /// Writes the fixtures of the linked library if the environment requests it; see `Fixtures/README.md`.
  func testFixturesAreWrittenOnRequest() async throws {
    guard let target = ProcessInfo.processInfo.environment["CIPHERDATA_WRITE_FIXTURES"] else { return }
    let version = LibraryVersion.isSQLCipher4 ? 4 : 3
    for (name, format) in Self.fixtureFormats where format.version <= version {
      for (sort, key) in [("slots", cheap("fixture")), ("passphrase", .sqlcipherPassphrase("fixture", format))] {
        let path = "\(target)/by\(version)-\(name)-\(sort).store"
        let keyring = try await StoreKeyring.create(storePath: path, key: key, label: "fixture", format: format)
        let connection = try Connection(opening: path, key: keyring.databaseKey())
        try connection.execute(
          """
          CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT); CREATE INDEX i ON t (text);
          INSERT INTO t VALUES (1, 'one'), (2, 'zwei'), (3, 'drei \u{1f41f}'), (4, 'four'), (5, hex(zeroblob(15000)))
          """)
        connection.close()
      }
    }
  }
}

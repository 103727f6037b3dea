import CSQLCipher
package import Foundation

/// A value as SQLite stores it.
package enum FixtureValue: Sendable, Hashable {
  case null
  case int(Int64)
  case real(Double)
  case text(String)
  case blob(Data)
  /// Text whose bytes can be invalid UTF-8.
  case rawText([UInt8])
}

/// An error while writing a fixture.
package struct FixtureError: Error, CustomStringConvertible {
  package let description: String
}

/// A SQLite file for a fixture, plaintext or encrypted with a SQLCipher passphrase, written statement by statement.
package final class FixtureDatabase {
  private var pointer: OpaquePointer?
  private var statements: [String: OpaquePointer] = [:]

  /// Creates a file.
  ///
  /// - Parameters:
  ///   - passphrase: SQLCipher's passphrase; nil for a plaintext file.
  ///   - settings: Pragmas after the key, such as `cipher_page_size = 4096`.
  package init(_ url: URL, passphrase: String? = nil, settings: [String] = []) throws {
    guard sqlite3_open_v2(url.path, &pointer, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil) == SQLITE_OK else {
      throw FixtureError(description: "cannot create \(url.path)")
    }
    if let passphrase {
      let bytes = Array(passphrase.utf8)
      guard sqlite3_key(pointer, bytes, Int32(bytes.count)) == SQLITE_OK else { throw failure("key") }
    }
    for setting in settings { try run("PRAGMA " + setting) }
  }

  deinit { close() }

  /// Finalizes all statements and closes the file.
  package func close() {
    for statement in statements.values { sqlite3_finalize(statement) }
    statements = [:]
    sqlite3_close_v2(pointer)
    pointer = nil
  }

  /// Runs statements without values.
  package func run(_ sql: String) throws {
    guard sqlite3_exec(pointer, sql, nil, nil, nil) == SQLITE_OK else { throw failure(sql) }
  }

  /// Inserts a row.
  package func insert(into table: String, _ values: [(column: String, value: FixtureValue)]) throws {
    let names = values.map { "\"\($0.column)\"" }.joined(separator: ", ")
    let marks = Array(repeating: "?", count: values.count).joined(separator: ", ")
    try run("INSERT INTO \"\(table)\" (\(names)) VALUES (\(marks))", values.map(\.value))
  }

  /// Runs a statement with values.
  package func run(_ sql: String, _ values: [FixtureValue]) throws {
    var statement = statements[sql]
    if statement == nil {
      guard sqlite3_prepare_v2(pointer, sql, -1, &statement, nil) == SQLITE_OK else { throw failure(sql) }
      statements[sql] = statement
    }
    defer { sqlite3_reset(statement) }
    let copy = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    for (position, value) in values.enumerated() {
      let index = Int32(position + 1)
      let code: Int32
      switch value {
      case .null: code = sqlite3_bind_null(statement, index)
      case .int(let value): code = sqlite3_bind_int64(statement, index, value)
      case .real(let value): code = sqlite3_bind_double(statement, index, value)
      case .text(let value):
        let bytes = Array(value.utf8)
        code = bytes.withUnsafeBufferPointer { buffer in
          buffer.withMemoryRebound(to: CChar.self) { sqlite3_bind_text(statement, index, $0.baseAddress, Int32(bytes.count), copy) }
        }
        if bytes.isEmpty { sqlite3_bind_text(statement, index, "", 0, copy) }
      case .rawText(let bytes):
        code = bytes.withUnsafeBufferPointer { buffer in
          buffer.withMemoryRebound(to: CChar.self) { sqlite3_bind_text(statement, index, $0.baseAddress, Int32(bytes.count), copy) }
        }
      case .blob(let data):
        code =
          data.isEmpty
          ? sqlite3_bind_zeroblob(statement, index, 0)
          : data.withUnsafeBytes { sqlite3_bind_blob(statement, index, $0.baseAddress, Int32(data.count), copy) }
      }
      guard code == SQLITE_OK else { throw failure(sql) }
    }
    guard sqlite3_step(statement) == SQLITE_DONE else { throw failure(sql) }
  }

  private func failure(_ sql: String) -> FixtureError {
    FixtureError(description: "\(String(cString: sqlite3_errmsg(pointer))) in: \(sql.prefix(300))")
  }
}

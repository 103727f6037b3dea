import Foundation
import SQLCipherConnection
import StoreKeys
import SyncCore

// The values of a hub in columns. Digests and UUIDs are blobs with the highest byte first, so that SQLite orders them as SyncCore does.

/// A value that a statement can be run with.
protocol HubColumnValue {
  func bind(to statement: Statement, at index: Int32) throws
}

extension Int64: HubColumnValue {
  func bind(to statement: Statement, at index: Int32) throws { try statement.bind(index, self) }
}

extension Int: HubColumnValue {
  func bind(to statement: Statement, at index: Int32) throws { try statement.bind(index, self) }
}

extension String: HubColumnValue {
  func bind(to statement: Statement, at index: Int32) throws { try statement.bind(index, self) }
}

extension Array: HubColumnValue where Element == UInt8 {
  func bind(to statement: Statement, at index: Int32) throws { try withUnsafeBytes { try statement.bindBlob(index, $0) } }
}

extension UUID: HubColumnValue {
  func bind(to statement: Statement, at index: Int32) throws {
    try Swift.withUnsafeBytes(of: uuid) { try statement.bindBlob(index, $0) }
  }
}

extension Digest: HubColumnValue {
  func bind(to statement: Statement, at index: Int32) throws {
    let words = (words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian)
    try Swift.withUnsafeBytes(of: words) { try statement.bindBlob(index, $0) }
  }
}

extension RecordSum: HubColumnValue {
  /// The size of a sum in a column, in bytes.
  static let columnSize = 24

  func bind(to statement: Statement, at index: Int32) throws {
    try Swift.withUnsafeBytes(of: (count.bigEndian, high.bigEndian, low.bigEndian)) { try statement.bindBlob(index, $0) }
  }
}

extension ZoneID: HubColumnValue {
  func bind(to statement: Statement, at index: Int32) throws {
    try Swift.withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { try statement.bindBlob(index, $0) }
  }
}

extension AccountID: HubColumnValue {
  func bind(to statement: Statement, at index: Int32) throws {
    try Swift.withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { try statement.bindBlob(index, $0) }
  }
}

extension DeviceID: HubColumnValue {
  func bind(to statement: Statement, at index: Int32) throws { try statement.bind(index, Int64(bitPattern: value)) }
}

extension Optional: HubColumnValue where Wrapped == Int64 {
  func bind(to statement: Statement, at index: Int32) throws {
    if let self { try statement.bind(index, self) } else { try statement.bindNull(index) }
  }
}

extension Statement {
  func digest(_ column: Int32) throws -> Digest {
    let words = try words(column, count: 4)
    return Digest(words[0], words[1], words[2], words[3])
  }

  func recordSum(_ column: Int32) throws -> RecordSum {
    let words = try words(column, count: 3)
    return RecordSum(count: Int64(bitPattern: words[0]), high: words[1], low: words[2])
  }

  func zoneID(_ column: Int32) throws -> ZoneID {
    let words = try words(column, count: 2)
    return ZoneID(high: words[0], low: words[1])
  }

  func accountID(_ column: Int32) throws -> AccountID {
    let words = try words(column, count: 2)
    return AccountID(high: words[0], low: words[1])
  }

  func uuid(_ column: Int32) throws -> UUID {
    let bytes = blobBuffer(column)
    guard bytes.count == MemoryLayout<uuid_t>.size else { throw Self.invalidValue }
    return UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
  }

  func bytes(_ column: Int32) -> [UInt8] { Array(blobBuffer(column)) }

  private func words(_ column: Int32, count: Int) throws -> [UInt64] {
    let bytes = blobBuffer(column)
    guard bytes.count == 8 * count else { throw Self.invalidValue }
    return (0..<count).map { UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8 * $0, as: UInt64.self)) }
  }

  private static var invalidValue: StoreAccessError { StoreAccessError(.storeCorrupt(.value), path: nil, operation: .readValue) }
}

extension Connection {
  /// Runs a statement with values, and returns the result of `read` for its first row, or nil without one.
  func first<Result>(
    _ statement: HubStatement, _ values: any HubColumnValue..., read: (Statement) throws -> Result
  ) throws -> Result? {
    let statement = try prepared(statement, values)
    defer { statement.reset() }
    return try statement.step() ? try read(statement) : nil
  }

  /// Runs a statement with values, and returns the results of `read` for its rows.
  func all<Result>(_ statement: HubStatement, _ values: any HubColumnValue..., read: (Statement) throws -> Result) throws -> [Result] {
    let statement = try prepared(statement, values)
    defer { statement.reset() }
    var results: [Result] = []
    while try statement.step() { results.append(try read(statement)) }
    return results
  }

  /// Runs a statement with values, and calls `body` with each row.
  func forEach(_ statement: HubStatement, _ values: any HubColumnValue..., body: (Statement) throws -> Void) throws {
    let statement = try prepared(statement, values)
    defer { statement.reset() }
    while try statement.step() { try body(statement) }
  }

  /// Returns whether a statement with values has a row.
  func hasRow(_ statement: HubStatement, _ values: any HubColumnValue...) throws -> Bool {
    let statement = try prepared(statement, values)
    defer { statement.reset() }
    return try statement.step()
  }

  /// Runs a statement with values that returns no rows.
  func run(_ statement: HubStatement, _ values: any HubColumnValue...) throws {
    let statement = try prepared(statement, values)
    defer { statement.reset() }
    try statement.run()
  }

  /// Returns a prepared statement with values for its parameters. Each statement is used for one purpose at a time.
  private func prepared(_ statement: HubStatement, _ values: [any HubColumnValue]) throws -> Statement {
    let statement = try self.statement(statement.rawValue, statement.sql)
    for (index, value) in values.enumerated() { try value.bind(to: statement, at: Int32(index + 1)) }
    return statement
  }
}

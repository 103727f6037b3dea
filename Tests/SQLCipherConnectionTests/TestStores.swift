// Temporary folders, cheap keys and small stores for the tests of this module.

import Foundation
import XCTest

@testable import SQLCipherConnection
@testable import StoreFiles
@testable import StoreKeys

/// A test with a folder of its own that is removed afterwards.
class StoreTestCase: XCTestCase {
  /// The folder, with a path that needs no quoting.
  private(set) var folder = ""
  /// A path inside it.
  var path: String { folder + "/test.store" }

  override func setUpWithError() throws {
    folder = NSTemporaryDirectory() + "cipherdata-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  override func tearDownWithError() throws {
    try FileManager.default.removeItem(atPath: folder)
  }

  /// Every file of the folder with its bytes, except the shared-memory index, which holds no data.
  func snapshot() throws -> [String: Data] {
    var result: [String: Data] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) where !name.hasSuffix("-shm") {
      var status = stat()
      guard lstat(folder + "/" + name, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
      result[name] = try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name))
    }
    return result
  }

  /// The names in the folder.
  func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder).sorted() }
}

/// A fixed key: tests need no random one.
func testKey(_ seed: UInt8 = 1, format: SQLCipherFormat = .portable, isProven: Bool = false) throws -> DatabaseKey {
  try DatabaseKey(
    key: SecretBytes((0..<32).map { $0 &* 7 &+ seed }), salt: (0..<16).map { $0 &* 5 &+ seed }, format: format, isProven: isProven)
}

/// Asserts that an expression throws a `StoreAccessError` of a kind, and hands it back.
@discardableResult
func assertThrows<Result>(
  _ kind: StoreAccessError.Kind, file: StaticString = #filePath, line: UInt = #line, _ body: () throws -> Result
) -> StoreAccessError? {
  do {
    _ = try body()
    XCTFail("expected \(kind)", file: file, line: line)
  } catch let error as StoreAccessError {
    XCTAssertEqual(error.kind, kind, "\(error)", file: file, line: line)
    return error
  } catch {
    XCTFail("expected \(kind), not \(error)", file: file, line: line)
  }
  return nil
}

/// A store without a log whose process is killed in the middle of a transaction: what it leaves.
struct InterruptedStore {
  private let path: String
  private let file: Data
  private let journal: Data

  /// How such a store is opened.
  static let options = {
    var options = ConnectionOptions()
    options.journalMode = .delete
    options.cacheSizeKiB = 64
    return options
  }()

  /// Begins a transaction in a store that has a table `t` of one column, and takes it back.
  init(_ path: String, _ key: DatabaseKey) throws {
    let connection = try Connection(opening: path, key: key, options: Self.options)
    defer { connection.close() }
    // More than the cache holds: pages reach the file before the end of the transaction.
    try connection.execute("BEGIN; INSERT INTO t VALUES (zeroblob(1000000))")
    self.path = path
    file = try Data(contentsOf: URL(fileURLWithPath: path))
    journal = try Data(contentsOf: URL(fileURLWithPath: path + "-journal"))
    XCTAssertGreaterThan(journal.count, 512)
  }

  /// Leaves the store as the killed process does. It stays the same file: others may have it open.
  func put() throws {
    try file.write(to: URL(fileURLWithPath: path))
    try journal.write(to: URL(fileURLWithPath: path + "-journal"))
  }
}

extension Connection {
  /// The first column of the first row.
  func firstInteger(_ sql: String) throws -> Int64? {
    let statement = try statement(sql: sql)
    defer { statement.reset() }
    return try statement.step() ? statement.int64(0) : nil
  }

  /// The first column of the first row.
  func firstText(_ sql: String) throws -> String? {
    let statement = try statement(sql: sql)
    defer { statement.reset() }
    return try statement.step() ? statement.optionalText(0) : nil
  }
}

/// The stores of these tests have no large values.
extension StoreKeyring {
  func backUp(to path: String, progress: ProgressHandler? = nil) async throws {
    try await backUp(to: path, largeValues: { _ in [] }, progress: progress)
  }

  func backUp(
    to path: String, key: StoreKey, onOpen: @escaping @Sendable (Connection) throws -> Void = { _ in }, progress: ProgressHandler? = nil
  ) async throws -> StoreKeyring {
    try await backUp(to: path, key: key, largeValues: { _ in [] }, onOpen: onOpen, progress: progress)
  }

  func rotateDataKey(pool: ConnectionPool, newKey: DatabaseKey? = nil, progress: ProgressHandler? = nil) async throws {
    try await rotateDataKey(pool: pool, newKey: newKey, largeValues: { _ in [] }, progress: progress)
  }
}

import Foundation
import XCTest

@testable import SQLCipherConnection
@testable import StoreFiles
@testable import StoreKeys

/// A test with a temporary folder.
class StoreTestCase: XCTestCase {
  /// The folder, with a path that needs no quoting.
  private(set) var folder = ""
  /// The path of the store in the folder.
  var path: String { folder + "/test.store" }

  override func setUpWithError() throws {
    folder = NSTemporaryDirectory() + "cipherdata-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  override func tearDownWithError() throws {
    try FileManager.default.removeItem(atPath: folder)
  }

  /// The contents of all files in the folder, except for the shared-memory index, which contains no data.
  func snapshot() throws -> [String: Data] {
    var result: [String: Data] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) where !name.hasSuffix("-shm") {
      var status = stat()
      guard lstat(folder + "/" + name, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
      result[name] = try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name))
    }
    return result
  }

  func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder).sorted() }
}

/// Returns a fixed key: tests need no random one.
func testKey(_ seed: UInt8 = 1, format: SQLCipherFormat = .portable, isProven: Bool = false) throws -> DatabaseKey {
  try DatabaseKey(
    key: SecretBytes((0..<32).map { $0 &* 7 &+ seed }), salt: (0..<16).map { $0 &* 5 &+ seed }, format: format, isProven: isProven)
}

/// Asserts that an expression throws a `StoreAccessError` of a kind, and returns the error.
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

/// The files of a store without a log, as a process leaves them that is killed in the middle of a transaction.
struct InterruptedStore {
  private let path: String
  private let file: Data
  private let journal: Data

  /// The options for such a store.
  static let options = {
    var options = ConnectionOptions()
    options.journalMode = .delete
    options.cacheSizeKiB = 64
    return options
  }()

  /// Starts a transaction in a store with a table `t` of one column, captures the files, and rolls back.
  init(_ path: String, _ key: DatabaseKey) throws {
    let connection = try Connection(opening: path, key: key, options: Self.options)
    defer { connection.close() }
    // More than the cache holds: pages are written to the file before the transaction ends.
    try connection.execute("BEGIN; INSERT INTO t VALUES (zeroblob(1000000))")
    self.path = path
    file = try Data(contentsOf: URL(fileURLWithPath: path))
    journal = try Data(contentsOf: URL(fileURLWithPath: path + "-journal"))
    XCTAssertGreaterThan(journal.count, 512)
  }

  /// Restores the captured state. The file keeps its identity: other connections can have it open.
  func put() throws {
    try file.write(to: URL(fileURLWithPath: path))
    try journal.write(to: URL(fileURLWithPath: path + "-journal"))
  }
}

extension Connection {
  func firstInteger(_ sql: String) throws -> Int64? {
    let statement = try statement(sql: sql)
    defer { statement.reset() }
    return try statement.step() ? statement.int64(0) : nil
  }

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

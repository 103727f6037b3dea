import CipherData
import Foundation
import Logging
import Synchronization
import XCTest

@testable import Walk

/// A traversal without prefetching takes few statements, and reads everything.
final class WalkTests: XCTestCase {
  override class func setUp() {
    LoggingSystem.bootstrap { _ in StatementLog() }
  }

  func testTraversalWithoutPrefetchingUsesFewStatements() async throws {
    let shop = Shop(in: FileManager.default.temporaryDirectory)
    defer { try? FileManager.default.removeItem(at: shop.folder) }
    try await shop.fill(books: 10_000)
    let container = try await shop.open()
    StatementLog.forget()
    let sight = try await container.performBackgroundTask { try walk($0) }
    let statements = StatementLog.statements
    try container.close()
    let years = (0..<10_000).reduce(0) { $0 + 1800 + $1 * 31 % 100 % 200 }
    XCTAssertEqual(sight.yearsOfBirth, years)
    XCTAssertEqual(sight.letters, 3 * (0..<10_000).reduce(0) { $0 + "Tag \($1 * 17 % 50)".count })
    XCTAssertLessThanOrEqual(statements.count, 100, "\(Dictionary(statements.map { ($0, 1) }, uniquingKeysWith: +))")
  }
}

/// Records statements as an application can: the library logs each at the level `debug`.
private struct StatementLog: LogHandler {
  private static let texts = Mutex<[String]>([])
  static var statements: [String] { texts.withLock { $0 } }
  static func forget() { texts.withLock { $0 = [] } }

  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.debug
  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    Self.texts.withLock { $0.append("\(event.message)") }
  }
}

import XCTest

/// Rules for transactions: code that reads or writes rows receives a transaction as a parameter, and no code finds one by its thread.
final class TransactionRuleTests: XCTestCase {
  /// A pool reports a request for its writer inside the writer's own block, and observers report a write inside their calls. Both would
  /// deadlock. No request depends on it.
  private static let asksForThreads = [
    "Sources/SQLCipherConnection/Pool/ConnectionPool+Writer.swift", "Sources/ObjectStore/Changes/TransactionObservation.swift",
  ]
  private static let words = ["pthread_self", "Thread.current", "ThreadTransaction"]

  /// The folders of code that reads and writes rows.
  private static let folders = [
    "Batch/", "Derivation/", "Engine/", "Explain/", "Fetching/", "Generations/", "History/StoreEngine+History", "Queries/", "Saving/",
    "Transfer/",
  ]

  func testRequestsDoNotDependOnTheirThread() {
    for (file, text) in Repository.sources where !Self.asksForThreads.contains(where: file.hasSuffix) {
      for word in Self.words {
        for line in text.lines(containing: word) { XCTFail("\(file):\(line + 1) contains \(word); hand the transaction down instead") }
      }
    }
  }

  func testRowAccessReceivesATransaction() {
    for folder in Self.folders {
      let sources = Repository.sources.filter { $0.file.hasPrefix("Sources/SQLCipherStore/\(folder)") }
      XCTAssertFalse(sources.isEmpty, "\(folder) no longer exists; list its replacement")
      for (file, text) in sources {
        for line in text.lines(containing: "Connection") {
          let code = text.code[line]
          // Registering functions and a transaction's own property need a connection.
          if code.contains("import SQLCipherConnection") || code.contains("on connection: Connection") { continue }
          if code.contains("var connection: Connection {") { continue }
          // The attaching connection makes a copy.
          if code.contains("removal(from connection: Connection, ") { continue }
          XCTFail("\(file):\(line + 1) takes a connection; take a ReadTransaction or a WriteTransaction")
        }
      }
    }
  }
}

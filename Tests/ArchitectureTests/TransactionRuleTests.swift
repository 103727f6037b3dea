// Rules for transactions: nobody finds one by asking which thread it is on; what reads or writes rows is handed one.
import XCTest

final class TransactionRuleTests: XCTestCase {
  /// A pool says so where its writer is asked for inside its own block: whoever did would wait for himself. No request goes by it.
  private static let asksForThreads = ["Sources/SQLCipherConnection/Pool/ConnectionPool+Writer.swift"]
  private static let words = ["pthread_self", "Thread.current", "ThreadTransaction"]

  /// Where rows are read and written.
  private static let folders = ["Batch", "Derivation", "Engine", "Explain", "Fetch", "Queries", "Rows", "Save", "Transfer"]

  func testNoRequestGoesByTheThreadItIsMadeOn() {
    for (file, text) in Repository.sources where !Self.asksForThreads.contains(where: file.hasSuffix) {
      for word in Self.words {
        for line in text.lines(containing: word) { XCTFail("\(file):\(line + 1) contains \(word); hand the transaction down instead") }
      }
    }
  }

  func testWhatReadsOrWritesRowsIsHandedATransaction() {
    for folder in Self.folders {
      let sources = Repository.sources.filter { $0.file.hasPrefix("Sources/SQLCipherStore/\(folder)/") }
      XCTAssertFalse(sources.isEmpty, "\(folder) is gone; list what took its work")
      for (file, text) in sources {
        for line in text.lines(containing: "Connection") {
          let code = text.code[line]
          // Functions are made known to a connection, and every transaction may be asked for its own.
          if code.contains("import SQLCipherConnection") || code.contains("on connection: Connection") { continue }
          if code.contains("var connection: Connection {") { continue }
          // A copy is made by the connection that attaches it.
          if code.contains("removal(from connection: Connection, ") { continue }
          XCTFail("\(file):\(line + 1) takes a connection; take a ReadTransaction or a WriteTransaction")
        }
      }
    }
  }
}

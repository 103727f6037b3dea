import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// Runs the same queries on a store and, as independently written SQL, in SQLite's shell on the store's plaintext copy. This verifies
/// SQLCipher's engine against SQLite's, and the library's queries against the documented tables.
final class PlainSQLiteTests: XCTestCase {
  /// Returns the output of SQLite's shell for each statement on a plaintext file.
  private func ask(_ file: URL, _ statements: [String], in folder: URL) throws -> [[String]] {
    let (script, answers) = (folder.appendingPathComponent("questions.sql"), folder.appendingPathComponent("answers"))
    // The rows of each result are delimited by lines that occur in no result.
    try (".bail on\n" + statements.map { "SELECT '#';\n\($0);\n" }.joined() + "SELECT '#';\n").write(
      to: script, atomically: false, encoding: .utf8)
    try Data().write(to: answers)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["sqlite3", "-batch", "-noheader", "-separator", " ", "-readonly", file.path]
    process.standardInput = try FileHandle(forReadingFrom: script)
    process.standardOutput = try FileHandle(forWritingTo: answers)
    try process.run()
    process.waitUntilExit()
    let text = try String(contentsOf: answers, encoding: .utf8)
    XCTAssertEqual(process.terminationStatus, 0, "sqlite3 is needed (Scripts/install-dependencies --tests): \(text.suffix(300))")
    let parts = text.components(separatedBy: "#\n").dropFirst().dropLast()
    return parts.map { $0.split(separator: "\n").map(String.init) }
  }

  /// Returns the rows of a statement on the encrypted file.
  private func rows(_ connection: Connection, _ sql: String) throws -> [String] {
    let statement = try connection.statement(sql: sql)
    defer { statement.reset() }
    var rows: [String] = []
    while try statement.step() { rows.append((0..<Int32(statement.columnCount)).map { statement.text($0) }.joined(separator: " ")) }
    return rows
  }

  private func text(_ slot: Slot) -> String {
    if case .int(let number) = slot { return "\(number)" }
    return "\(slot)"
  }

  /// Returns the library's result.
  private func answer(_ open: OpenStore, _ question: RandomQuery) throws -> [String] {
    if question.request.resultType == .dictionaries {
      return try open.dictionaries(question.request).rows.map { $0.map(text).joined(separator: " ") }
    }
    return try open.values("number", question.request).map(text)
  }

  func testSQLiteShellReturnsTheSameResultsFromAPlaintextCopy() throws {
    var telling = 0
    let schemas = RandomSteps.count(4)
    for seed in 1...schemas {
      var schema = RandomSchema(seed: UInt64(seed))
      let store = try TestStore()
      let open = try store.open(schema.model())
      try schema.fill(open, count: 40)
      let questions = (0..<200).map { $0 % 10 == 0 ? schema.groups() : schema.question() }
      let plain = store.folder.file("plain.sqlite")
      try waitFor { [url = store.url] in try await SQLCipherStoreFile.unlock(at: url, key: TestStore.key).exportPlaintext(to: plain) }
      let answers = try ask(plain, questions.map(\.sql), in: store.folder.url)
      XCTAssertEqual(answers.count, questions.count)
      let connection = try Connection(opening: store.url.path, key: store.databaseKey())
      for (question, expected) in zip(questions, answers) {
        let what = "seed \(seed): \(question.request.predicate?.predicateFormat ?? "")\n\(question.sql)"
        XCTAssertEqual(try answer(open, question), expected, what)
        XCTAssertEqual(try rows(connection, question.sql), expected, what)
        telling += (1..<40).contains(expected.count) ? 1 : 0
      }
      connection.close()
      try open.close()
    }
    XCTAssertGreaterThan(telling, schemas * 80, "Too few queries distinguish objects.")
  }
}

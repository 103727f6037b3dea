import Foundation
import XCTest

/// Tables own their statements: SQL occurs only in the files of its tables, and where requests are translated to SQL.
final class StatementRuleTests: XCTestCase {
  private static let owner = "Sources/SQLCipherStore/Schema/JoinStatements.swift"
  private static let columns = ["table", "near", "nearEntity", "far", "farEntity", "farOrder", "nearOrder"]
  /// The names of a join table's columns in the layout.
  private static let layoutNames = [
    "sourceColumn", "sourceEntityColumn", "targetColumn", "targetEntityColumn", "targetOrderColumn", "sourceOrderColumn",
  ]

  private static let folder = "Sources/SQLCipherStore/"
  /// The files with statements on tables, each for one kind of table.
  private static let owners = [
    "Schema/EntityStatements.swift", "Schema/EntityStatements+Batch.swift", "Schema/EntityStatements+Definition.swift",
    "Schema/JoinStatements.swift", "Schema/BookkeepingStatements.swift", "Schema/HistoryStatements.swift",
    "Schema/IdentityStatements.swift", "Schema/SideTables.swift",
    "Schema/FullTextIndex.swift",
    "Schema/SchemaAuxiliary.swift",
  ]
  /// The files that translate requests and derived attributes to SQL, which only reads; the SQL fragment that is checked for this; and
  /// compound queries.
  private static let generators = [
    "Queries/", "Derivation/StoreDerivation+Values.swift", "SQL/SQLFragment.swift",
  ]

  /// Words of lines that read, write or create tables. The events of triggers (`INSERT`, `UPDATE OF`) are not statements.
  private static let reading = ["SELECT ", " FROM ", "JOIN "]
  private static let writing = ["INTO ", "UPDATE OR ", " SET ", "DELETE FROM ", "CREATE ", "DROP ", "ALTER ", "REINDEX "]

  /// The string literals of a line, including their interpolations, without its comment.
  private static func literals(_ line: Substring, _ code: Substring) -> Substring {
    // In the code, comments are blank to the end of the line. A literal keeps its closing quotes; a multi-line one keeps only the outer
    // ones.
    if code.allSatisfy(\.isWhitespace) { return line.drop(while: \.isWhitespace).hasPrefix("//") ? "" : line }
    guard let first = code.utf8.firstIndex(of: UInt8(ascii: "\"")), let last = code.utf8.lastIndex(of: UInt8(ascii: "\"")) else {
      return ""
    }
    let start = code.utf8.distance(from: code.startIndex, to: first)
    let end = code.utf8.distance(from: code.startIndex, to: last)
    return line[line.utf8.index(line.startIndex, offsetBy: start)...line.utf8.index(line.startIndex, offsetBy: end)]
  }

  func testTableStatementsOccurOnlyInTableFilesAndTheRequestGenerator() throws {
    for file in Self.owners { XCTAssertTrue(Repository.exists(Self.folder + file), "\(file) is not there") }
    var found = 0
    for (path, text) in Repository.sources where path.hasPrefix(Self.folder) {
      let file = String(path.dropFirst(Self.folder.count))
      let isOwner = Self.owners.contains(file)
      let isGenerator = Self.generators.contains(where: file.hasPrefix)
      for (index, line) in text.lines.enumerated() {
        let literals = Self.literals(line, text.code[index])
        if isOwner {
          found += Self.reading.contains(where: literals.contains) ? 1 : 0
          continue
        }
        for word in (isGenerator ? [] : Self.reading) + Self.writing where literals.contains(word) {
          XCTFail("\(file):\(index + 1) writes SQL (\(word)): give it to the statements of the table that it is over")
        }
      }
    }
    XCTAssertGreaterThan(found, 60, "texts are not found where they are")
  }

  func testOnlyTheGeneratorUsesJoinTablesInQueries() throws {
    for (path, text) in Repository.sources where path.hasPrefix(Self.folder) {
      let file = String(path.dropFirst(Self.folder.count))
      guard !Self.owners.contains(file), !Self.generators.contains(where: file.hasPrefix) else { continue }
      for (index, line) in text.code.enumerated() where line.contains("side.source(") || line.contains("side.table ") {
        XCTFail("\(file):\(index + 1) reads a join table in a query of its own: \(line.trimmingCharacters(in: .whitespaces))")
      }
    }
  }

  func testJoinTableColumnNamesOccurOnlyInTheirFile() throws {
    let text = try Repository.text(Self.owner)
    let declaration = try XCTUnwrap(text.components(separatedBy: "struct JoinSide").dropFirst().first?.components(separatedBy: "\n}").first)
    for column in Self.columns {
      XCTAssertTrue(declaration.contains("fileprivate let \(column): String"), "\(column) of JoinSide is seen outside its file")
    }
  }

  func testJoinTableStatementsOccurOnlyInTheirFiles() throws {
    var read = 0
    for (file, text) in Repository.sources where file.hasPrefix("Sources/SQLCipherStore/") && file != Self.owner {
      read += 1
      for line in text.lines {
        for insertion in line.components(separatedBy: "\\(").dropFirst() {
          for name in Self.layoutNames where insertion.contains(".\(name)") {
            XCTFail("\(file) writes a join table's column into a text: \(line.trimmingCharacters(in: .whitespaces))")
          }
        }
      }
    }
    XCTAssertGreaterThan(read, 50, "the sources are not where this test looks for them")
  }

  func testStatementNumbersAreAssignedInOnePlace() throws {
    for (file, text) in Repository.sources where file.hasPrefix("Sources/SQLCipherStore/") {
      // A number followed by a text; `statement(sql:)` has no number.
      for (index, line) in text.code.enumerated() {
        for call in line.components(separatedBy: "connection.statement(").dropFirst() where !call.hasPrefix("sql:") {
          let isNumber = call.first?.isNumber == true || call.contains(" + ") || call.contains(" * ")
          XCTAssertFalse(isNumber, "\(file):\(index + 1) computes the number of a statement: give it a case")
        }
      }
    }
  }
}

// Tables own their statements: who writes SQL over a join table does it in the one file that knows its columns.
import Foundation
import XCTest

final class StatementRuleTests: XCTestCase {
  private static let owner = "Sources/SQLCipherStore/Schema/JoinStatements.swift"
  private static let columns = ["table", "near", "nearEntity", "far", "farEntity", "farOrder", "nearOrder"]
  /// What a join table's columns are called in the layout.
  private static let layoutNames = [
    "sourceColumn", "sourceEntityColumn", "targetColumn", "targetEntityColumn", "targetOrderColumn", "sourceOrderColumn",
  ]

  func testNobodyButTheirFileKnowsTheNamesOfAJoinTablesColumns() throws {
    let text = try Repository.text(Self.owner)
    let declaration = try XCTUnwrap(text.components(separatedBy: "struct JoinSide").dropFirst().first?.components(separatedBy: "\n}").first)
    for column in Self.columns {
      XCTAssertTrue(declaration.contains("fileprivate let \(column): String"), "\(column) of JoinSide is seen outside its file")
    }
  }

  func testNoTextOverAJoinTableStandsElsewhere() throws {
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

  func testNumbersOfStatementsAreHandedOutInOnePlace() throws {
    for (file, text) in Repository.sources where file.hasPrefix("Sources/SQLCipherStore/") {
      // A number, and a text behind it; `statement(sql:)` keeps no number.
      for (index, line) in text.code.enumerated() {
        for call in line.components(separatedBy: "connection.statement(").dropFirst() where !call.hasPrefix("sql:") {
          let isNumber = call.first?.isNumber == true || call.contains(" + ") || call.contains(" * ")
          XCTAssertFalse(isNumber, "\(file):\(index + 1) computes the number of a statement: give it a case")
        }
      }
    }
  }
}

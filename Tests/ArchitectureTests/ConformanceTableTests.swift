import Foundation
import XCTest

/// Compares the tables of behaviors (Documentation/Conformance.md) and options (Documentation/StoreOptions.md) with the tests that they
/// name.
final class ConformanceTableTests: XCTestCase {
  private static let table = "Documentation/Conformance.md"
  private static let optionTable = "Documentation/StoreOptions.md"

  func testTestsNamedInTheTableExist() throws {
    let known = try Self.testNames()
    for (table, count) in [(Self.table, 50), (Self.optionTable, 20)] {
      let named = Self.namedTests(try Repository.text(table))
      XCTAssertGreaterThanOrEqual(named.count, count, "\(table) names hardly any test: has its form changed?")
      let unknown = Set(named).subtracting(known).sorted()
      XCTAssertEqual(unknown, [], "\(table) names what is no test of this repository")
    }
  }

  func testEveryOptionOfCoreDataHasARowWithATest() throws {
    let options = try Repository.text("Sources/ObjectStore/Coordinator/CoreDataOption.swift").split(separator: "\"").filter {
      $0.hasPrefix("NS")
    }
    XCTAssertEqual(options.count, 25)
    let rows = try Repository.text(Self.optionTable).split(separator: "\n")
    for option in options {
      let row = rows.first { $0.hasPrefix("| ") && $0.contains("`\(option)`") }
      XCTAssertFalse(Self.namedTests(String(row ?? "")).isEmpty, "\(Self.optionTable) has no row with a test for \(option)")
    }
  }

  func testTheTableHasEveryRow() throws {
    let counts: [(Character, Int)] = [("M", 28), ("S", 22), ("C", 27), ("F", 30), ("P", 15), ("K", 18), ("D", 19), ("U", 25)]
    let rows = Set(
      try Repository.text(Self.table).split(separator: "\n").compactMap { line in
        line.hasPrefix("| ") ? line.dropFirst(2).prefix { $0.isLetter || $0.isNumber } : nil
      })
    for (letter, count) in counts {
      for number in 1...count where !rows.contains("\(letter)\(number)") { XCTFail("\(Self.table) has no row \(letter)\(number)") }
    }
  }

  /// Returns the table entries of the form `Class.testName`.
  private static func namedTests(_ text: String) -> [String] {
    text.split(separator: "`").map(String.init).filter { name in
      let parts = name.split(separator: ".")
      return parts.count == 2 && parts[1].hasPrefix("test") && name.allSatisfy { $0.isLetter || $0.isNumber || $0 == "." || $0 == "_" }
    }
  }

  /// Returns all tests of the repository as `Class.testName`. Tests of a base class also occur under the names of its subclasses.
  private static func testNames() throws -> Set<String> {
    var tests: [String: Set<String>] = [:]
    var bases: [String: String] = [:]
    for file in Repository.swiftFiles(in: "Tests") + Repository.swiftFiles(in: "Examples") where !file.contains("/Fixtures/") {
      var current = ""
      for line in SwiftText(try Repository.text(file)).code {
        let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" && $0 != ":" }
        // Only top-level types have tests.
        if line.first != " ", let place = words.firstIndex(where: { ["class", "struct", "enum", "extension"].contains($0) }),
          place + 1 < words.count,
          !["func", "var"].contains(words[place + 1])
        {
          current = String(words[place + 1].prefix { $0 != ":" })
          if words[place] == "class", place + 2 < words.count { bases[current] = String(words[place + 2]) }
        } else if let place = words.firstIndex(of: "func"), place + 1 < words.count, words[place + 1].hasPrefix("test") {
          tests[current, default: []].insert(String(words[place + 1]))
        }
      }
    }
    var names: Set<String> = []
    for type in Set(tests.keys).union(bases.keys) {
      var ancestor: String? = type
      while let name = ancestor {
        for test in tests[name] ?? [] { names.insert("\(type).\(test)") }
        ancestor = bases[name] == name ? nil : bases[name]
      }
    }
    return names
  }
}

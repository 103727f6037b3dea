import CipherDataToolKit
import ObjectQuery
import XCTest

/// Sort orders and assignments in option values, and the positions of errors.
final class OptionTextTests: XCTestCase {
  func testAnOrderHasKeysWithDirections() throws {
    let cases: [(String, [(String, Bool)])] = [
      ("name", [("name", true)]), ("-installedSize,name", [("installedSize", false), ("name", true)]),
      ("section.name desc, name asc", [("section.name", false), ("name", true)]),
      ("+name , n DESC", [("name", true), ("n", false)]), ("tags.@count descending", [("tags.@count", false)]), ("desc", [("desc", true)]),
    ]
    for (text, keys) in cases {
      XCTAssertEqual(
        try OptionText.sortDescriptors(text), keys.map { FetchSortDescriptor($0.0, ascending: $0.1) }, text)
    }
  }

  func testOrdersMayContainExpressions() throws {
    XCTAssertEqual(
      try OptionText.sortDescriptors("modulus(size, 10) desc, name"),
      [
        FetchSortDescriptor(expression: try FetchExpression(format: "modulus(size, 10)"), ascending: false), FetchSortDescriptor("name"),
      ])
  }

  func testAssignmentsHaveKeysAndExpressions() throws {
    let assignments = try OptionText.assignments(#"price = price * 2, name=uppercase(name), note = "a, = b", home.city = nil"#)
    XCTAssertEqual(assignments.map(\.key), ["price", "name", "note", "home.city"])
    XCTAssertEqual(
      assignments.map(\.value),
      [
        try FetchExpression(format: "price * 2"), try FetchExpression(format: "uppercase(name)"), .constant(.string("a, = b")),
        .constant(.null),
      ])
  }

  func testErrorsNameTheOptionAndThePosition() {
    func message(_ body: () throws -> some Any) -> String {
      do {
        _ = try body()
        return "no error"
      } catch {
        XCTAssertEqual((error as? ToolError)?.status, .usage)
        return "\(error)"
      }
    }
    XCTAssertTrue(message { try OptionText.sortDescriptors("name,") }.hasPrefix("--sort: a key is empty (column 6)"))
    XCTAssertTrue(message { try OptionText.sortDescriptors("-name desc") }.contains("two directions"))
    XCTAssertTrue(message { try OptionText.sortDescriptors("name, length( desc") }.hasSuffix("(column 14)"))
    XCTAssertTrue(message { try OptionText.assignments("price") }.contains("(column 1)"))
    XCTAssertTrue(message { try OptionText.assignments("price = 1, name == 2") }.hasSuffix("(column 18)"))
    XCTAssertTrue(message { try OptionText.assignments("price = 1, price = 2") }.contains("price is set twice (column 12)"))
    XCTAssertTrue(message { try OptionText.assignments("a + b = 1") }.contains("name of a property"))
    XCTAssertTrue(message { try OptionText.predicate("name ==", option: "--having") }.hasPrefix("--having: "))
    XCTAssertTrue(message { try OptionText.properties("count(name) AS", option: "--select") }.hasPrefix("--select: "))
  }
}

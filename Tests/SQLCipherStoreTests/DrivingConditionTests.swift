import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// A fetch starts with the most selective condition, whatever its kind.
final class DrivingConditionTests: XCTestCase {
  private typealias Models = SpecificationModels

  /// A store of 6,000 items with sizes 0 to 5,999 and unique codes. 5,000 have the tag “common”, ten have “rare”, and each has one tag per
  /// hundred.
  private func onItems(_ body: (TestStore, OpenStore) throws -> Void) throws {
    var item = Models.entity(
      "Item", [Models.text("code"), Models.integer("size"), Models.text("kind"), Models.toMany("tags", "Tag", "items")], unique: [["code"]])
    item.indexes = [FetchIndexDescription(name: "bySize", elements: [.ascending("size")])]
    let tag = Models.entity("Tag", [Models.text("name"), Models.toMany("items", "Item", "tags")], unique: [["name"]])
    let store = try TestStore()
    let open = try store.open(Models.frozen([item, tag]))
    try open.save { save in
      let common = try save.insert("Tag", ["name": .text("common")])
      let rare = try save.insert("Tag", ["name": .text("rare")])
      let hundreds = try (0..<60).map { try save.insert("Tag", ["name": .text("hundred \($0)")]) }
      for number in 0..<6_000 {
        let id = try save.insert(
          "Item", ["code": .text("c\(number)"), "size": .int(Int64(number)), "kind": .text(number % 2 == 0 ? "even" : "odd")])
        var tags = [hundreds[number / 100]]
        if number < 5_000 { tags.append(common) }
        if number % 600 == 0 { tags.append(rare) }
        try save.change(id, "tags", add: tags)
      }
    }
    try body(store, open)
  }

  private func explain(_ format: String, _ open: OpenStore, sortedBy key: String? = nil) throws -> FetchExplanation.Statement {
    var fetch = FetchSpecification(entityName: "Item", predicate: try FetchPredicate(format: format))
    if let key { fetch.sortDescriptors = [FetchSortDescriptor(key)] }
    return try XCTUnwrap(open.store.explain(fetch, in: open.scope).statements.last)
  }

  func testFetchStartsWithTheMostSelectiveCondition() throws {
    try onItems { _, open in
      for key in [nil, "code"] {
        let few = try explain("size > 5990 AND ANY tags.name == 'common'", open, sortedBy: key)
        XCTAssertEqual(few.plan.first?.index?.name, "bySize", "\(few)")
        let rare = try explain("size > 10 AND ANY tags.name == 'rare'", open, sortedBy: key)
        XCTAssertEqual(rare.plan.first?.index?.origin, .key, "\(rare)")
        XCTAssertEqual(
          rare.plan.first?.children.first?.index?.entityName ?? rare.plan.dropFirst().first?.children.first?.index?.entityName, "Tag")
        let middle = try explain("size < 3000 AND ANY tags.name == 'common'", open, sortedBy: key)
        XCTAssertEqual(middle.plan.first?.index?.name, "bySize", "3,000 are fewer than 5,000")
        let two = try explain("ANY tags.name == 'common' AND ANY tags.name == 'rare'", open, sortedBy: key)
        XCTAssertTrue(two.text.contains("IN (SELECT") && two.text.contains("EXISTS (SELECT"), two.text)
      }
      let one = try explain("code == 'c17' AND ANY tags.name == 'common'", open)
      XCTAssertEqual(one.plan.first?.index?.origin, .uniqueness)
    }
  }

  func testUniqueConditionsAreNotCounted() throws {
    try onItems { store, open in
      let fetch = FetchSpecification(
        entityName: "Item", predicate: try FetchPredicate(format: "code == 'c17' AND ANY tags.name == 'common'"))
      XCTAssertEqual(try store.statements { XCTAssertEqual(try open.count(fetch), 1) }.count, 1)
      let counted = FetchSpecification(entityName: "Item", predicate: try FetchPredicate(format: "size < 17 AND ANY tags.name == 'common'"))
      XCTAssertEqual(try store.statements { XCTAssertEqual(try open.count(counted), 17) }.count, 3)
    }
  }

  func testFetchStartsAtARelatedObjectIfSelective() throws {
    let item = Models.entity(
      "Item", [Models.text("code"), Models.integer("size"), Models.toOne("section", "Section", "items")], unique: [["code"]])
    let section = Models.entity(
      "Section", [Models.text("name"), Models.toOne("parent", "Section"), Models.toMany("items", "Item", "section")])
    let store = try TestStore()
    let model = try Models.frozen([item, section])
    var open = try store.open(model)
    func fill(_ sections: Int, _ items: Int) throws {
      try open.save { save in
        let top = try save.insert("Section", ["name": .text("top")])
        for number in 0..<sections {
          let id = try save.insert("Section", ["name": .text("section \(number)"), "parent": number % 10 == 0 ? top.slot : .null])
          for item in 0..<items {
            try save.insert("Item", ["code": .text("c\(sections) \(number) \(item)"), "size": .int(Int64(item)), "section": id.slot])
          }
        }
      }
    }
    func count(_ format: String) throws -> Int {
      try open.count(FetchSpecification(entityName: "Item", predicate: FetchPredicate(format: format)))
    }
    try fill(40, 30)
    try open.insert("Item", ["code": .text("nowhere")])
    for (format, expected) in [
      ("section.name CONTAINS '9'", 120), ("section.name CONTAINS '9' AND size < 3", 12), ("section.name LIKE '*1'", 120),
      ("section.parent.name == 'top'", 120), ("section.name ==[c] 'SECTION 3'", 30), ("section.name CONTAINS 'x'", 0),
      ("section.name > 'section 8'", 30),
    ] {
      let statement = try explain(format, open)
      XCTAssertEqual(statement.plan.first?.index?.origin, .relationship, "\(format): \(statement)")
      XCTAssertEqual(try count(format), expected, format)
    }
    XCTAssertEqual(try explain("section.name CONTAINS '9' AND code == 'nowhere'", open).plan.first?.index?.origin, .uniqueness)
    for format in ["NOT section.name CONTAINS '9'", "section.name == nil"] {
      XCTAssertEqual(try explain(format, open).plan.first?.access, .scan, "those without a section count too")
    }
    // Too many for a scan. The cached count stays valid for several saves.
    try fill(4_200, 0)
    try open.close()
    open = try store.open(model)
    XCTAssertEqual(try explain("section.name CONTAINS '9'", open).plan.first?.access, .scan)
    XCTAssertEqual(try count("section.name CONTAINS '9'"), 120)
  }

  func testEveryStartingConditionHasTheSameResults() throws {
    try onItems { _, open in
      let tags = ["common", "rare", "hundred 3", "nobody"]
      func numbers(_ tag: String) -> Set<Int> {
        switch tag {
        case "common": Set(0..<5_000)
        case "rare": Set(stride(from: 0, to: 6_000, by: 600))
        case "hundred 3": Set(300..<400)
        default: []
        }
      }
      for low in [-1, 0, 350, 2_500, 5_985, 7_000] {
        for tag in tags {
          for other in tags {
            let format = "size > \(low) AND ANY tags.name == '\(tag)' AND ANY tags.name == '\(other)' AND kind == 'even'"
            let expected = numbers(tag).intersection(numbers(other)).filter { $0 > low && $0 % 2 == 0 }.sorted()
            var fetch = FetchSpecification(entityName: "Item", predicate: try FetchPredicate(format: format))
            fetch.sortDescriptors = [FetchSortDescriptor("size")]
            XCTAssertEqual(try open.values("size", fetch), expected.map { .int(Int64($0)) }, format)
            XCTAssertEqual(try open.count(fetch), expected.count, format)
            fetch.sortDescriptors = [FetchSortDescriptor("code")]
            fetch.fetchLimit = 3
            fetch.fetchOffset = 1
            let window = expected.map { "c\($0)" }.sorted().dropFirst().prefix(3)
            XCTAssertEqual(try open.texts("code", fetch), Array(window), format)
          }
        }
      }
    }
  }
}

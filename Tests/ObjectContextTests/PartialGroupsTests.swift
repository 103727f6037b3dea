import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

/// Grouping by values of to-one destinations has the same results in SQL as in memory, with equal, empty or missing destinations.
final class PartialGroupsTests: XCTestCase {
  private let model = ManagedObjectModel {
    Entity("Item") {
      Attribute("name", .string)
      Attribute("size", .integer64)
      Attribute("weight", .double)
      Relationship("section", to: "Section", inverse: "items")
    }
    Entity("Section") {
      Attribute("name", .string)
      Attribute("rank", .integer32)
      Relationship("items", toMany: "Item", inverse: "section")
    }
  }

  /// Two sections with one name, one without a name, and items without a section.
  private func fill(_ context: ManagedObjectContext) throws {
    let first = try context.make("Section", ["name": "a", "rank": 1])
    let second = try context.make("Section", ["name": "a", "rank": 2])
    let unnamed = try context.make("Section", ["rank": 1])
    let other = try context.make("Section", ["name": "b", "rank": 3])
    for (section, name, size, weight) in [
      (first, "x", 1, 0.5), (first, "y", 2, 1), (second, "z", 40, 2), (unnamed, "u", 8, 4), (other, "v", -16, 8),
    ] {
      try context.make("Item", ["section": section, "name": name, "size": size, "weight": weight])
    }
    try context.make("Item", ["section": second, "weight": 0.25])
    try context.make("Item", ["name": "n", "size": 5])
    try context.make("Item", [:])
    try context.save()
  }

  private func rows(
    _ context: ManagedObjectContext, _ properties: String, by keys: String, order: [String], where condition: String? = nil
  ) throws -> [String] {
    var request = FetchRequest<[String: Any]>(entityName: "Item")
    request.propertiesToFetch = try FetchProperty.list(format: properties)
    request.propertiesToGroupBy = try FetchProperty.list(format: keys)
    request.sortDescriptors = try order.map { FetchSortDescriptor(expression: try FetchExpression(format: $0)) }
    request.predicate = try condition.map { try FetchPredicate(format: $0) }
    return try context.fetch(request).map { row in row.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ") }
  }

  func testGroupsByDestinationValueCombineEqualDestinations() async throws {
    try await onEachStore(model: model, classes: ManagedObjectClasses()) { stack in
      try fill(stack.makeContext())
      let context = stack.makeContext()
      XCTAssertEqual(
        try rows(
          context,
          "section.name AS s, count(*) AS n, count(size) AS k, sum(size) AS total, min(name) AS low, max(name) AS high, "
            + "average(size) AS mean",
          by: "section.name", order: ["section.name"]),
        [
          "high=u k=2 low=n mean=6.5 n=3 total=13",
          "high=z k=3 low=x mean=14.333333333333334 n=4 s=a total=43", "high=v k=1 low=v mean=-16.0 n=1 s=b total=-16",
        ])
      XCTAssertEqual(
        try rows(
          context, "section.name AS s, section.rank AS r, sum(size) AS total", by: "section.name, section.rank", order: ["total", "s"]),
        ["r=3 s=b total=-16", "r=1 s=a total=3", "total=5", "r=1 total=8", "r=2 s=a total=40"])
      XCTAssertEqual(
        try rows(
          context, "section.name AS s, count(*) AS n", by: "section.name", order: ["n", "s"], where: "size > 1 AND section.rank < 3"),
        ["n=1", "n=2 s=a"])
      // Requires each object: reals are summed in their order, and equal values count once.
      XCTAssertEqual(
        try rows(context, "section.name AS s, sum(weight) AS w, count(distinct size) AS n", by: "section.name", order: ["w"]),
        ["n=3 s=a w=3.75", "n=2 w=4.0", "n=1 s=b w=8.0"])
    }
  }
}

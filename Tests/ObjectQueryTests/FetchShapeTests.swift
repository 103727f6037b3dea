import ObjectModel
import ObjectQuery
import XCTest

/// Plan caches use the shape of a fetch as their key, so everything that changes a statement belongs to the shape.
final class FetchShapeTests: XCTestCase {
  /// Properties that stores do not translate to SQL, with the component that uses them.
  private static let outsideStatements: [String: String] = [
    "fetchBatchSize": "batched results fetch keys, and rows by key",
    "includesPendingChanges": "the context merges unsaved changes",
    "allowsInMemoryFiltering": "the context splits the request before a store receives it",
    "returnsObjectsAsFaults": "the context",
    "shouldRefreshRefetchedObjects": "the context",
    "relationshipKeyPathsForPrefetching": "the context sends a request for each path",
    "affectedStores": "the coordinator selects the stores",
  ]
  /// A change of each other property of a request for dictionaries.
  private static let changes: [String: @Sendable (inout FetchSpecification) throws -> Void] = [
    "entityName": { $0.entityName = "Novel" },
    "predicate": { $0.predicate = try FetchPredicate(format: "pages > 10") },
    "sortDescriptors": { $0.sortDescriptors = [FetchSortDescriptor("title")] },
    "fetchLimit": { $0.fetchLimit = 10 },
    "fetchOffset": { $0.fetchOffset = 10 },
    "resultType": { $0 = FetchSpecification(entityName: "Book") },
    "includesSubentities": { $0.includesSubentities = false },
    "includesPropertyValues": { $0.includesPropertyValues = false },
    "propertiesToFetch": { $0.propertiesToFetch = ["title"] },
    "propertiesToGroupBy": {
      $0.propertiesToFetch = ["pages"]
      $0.propertiesToGroupBy = ["pages"]
    },
    "havingPredicate": {
      $0.propertiesToFetch = ["pages"]
      $0.propertiesToGroupBy = ["pages"]
      $0.havingPredicate = try FetchPredicate(format: "pages > 10")
    },
    "returnsDistinctResults": { $0.returnsDistinctResults = true },
  ]

  func testEveryPropertyOfARequestChangesTheShapeOrIsNotPartOfStatements() throws {
    let labels = Set(Mirror(reflecting: FetchSpecification(entityName: "Book")).children.compactMap(\.label))
    XCTAssertGreaterThan(labels.count, 10)
    for label in labels {
      XCTAssertTrue(
        (Self.changes[label] == nil) != (Self.outsideStatements[label] == nil),
        "\(label) is new: if it changes the SQL, add it to FetchShape and here; otherwise say here which component uses it")
    }
    XCTAssertEqual(Set(Self.changes.keys).union(Self.outsideStatements.keys), labels)
  }

  func testRequestsThatDifferInOnePropertyHaveDifferentShapes() throws {
    let library = try Library()
    func shape(_ specification: FetchSpecification) throws -> FetchShape {
      FetchShape(try FetchResolver(model: library.model).resolve(specification), specification: specification)
    }
    var standard = FetchSpecification(entityName: "Book")
    standard.resultType = .dictionaries
    var shapes: [FetchShape: String] = [try shape(standard): "the unchanged request"]
    for (label, change) in Self.changes {
      var changed = standard
      try change(&changed)
      XCTAssertNil(shapes.updateValue(label, forKey: try shape(changed)), "\(label) has the shape of another request")
    }
  }
}

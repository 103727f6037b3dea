import ObjectModel
import ObjectQuery
import XCTest

/// Requests are values that are built step by step.
final class FetchRequestTests: XCTestCase {
  func testRequestsAreBuiltInOneExpression() {
    let request = FetchRequest<ManagedObjectID>(entityName: "Book")
      .where(.compare("pages", .greater, 5)).where(.compare("title", .notEqual, nil))
      .sorted(by: "title", comparison: .caseInsensitive).sorted(by: "pages", ascending: false).limit(10).offset(5)
    XCTAssertEqual(request.resultType, .objectIDs)
    XCTAssertEqual(request.predicate, .and([.compare("pages", .greater, 5), .compare("title", .notEqual, nil)]))
    XCTAssertEqual(
      request.sortDescriptors,
      [
        FetchSortDescriptor("title", comparison: .caseInsensitive), FetchSortDescriptor("pages", ascending: false),
      ])
    XCTAssertEqual(request.fetchLimit, 10)
    XCTAssertEqual(request.fetchOffset, 5)
  }

  func testChangedRequestsDoNotAffectTheirOriginal() {
    let all = FetchRequest<[String: Any]>(entityName: "Book", sortDescriptors: [FetchSortDescriptor("title")])
    let some = all.limit(3)
    XCTAssertEqual(all.fetchLimit, 0)
    XCTAssertEqual(some.fetchLimit, 3)
    XCTAssertEqual(some.resultType, .dictionaries)
  }
}

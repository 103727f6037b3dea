import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

/// Dictionaries and decoded rows in a context: Swift values, groups, saved values only, several stores (rows F8, F13 to F15, F17, F23,
/// U20).
final class DictionaryTests: XCTestCase {
  private let model = ManagedObjectModel {
    Entity("Item") {
      Attribute("name", .string)
      Attribute("section", .string)
      Attribute("size", .integer32)
      Attribute("price", .decimal)
      Attribute("weight", .double)
      Attribute("made", .date)
      Attribute("code", .uuid)
      Attribute("site", .uri)
      Attribute("isNew", .boolean)
      Attribute("extra", .transformable)
      Relationship("owner", to: "Owner", inverse: "items")
    }
    Entity("Owner") {
      Attribute("name", .string)
      Relationship("items", toMany: "Item", inverse: "owner")
    }
  }
  private static let code = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))

  private func fill(_ context: ManagedObjectContext) throws {
    let owner = try context.make("Owner", ["name": "o"])
    for (name, section, size) in [("a", "x", 1), ("b", "x", 2), ("c", "y", 4)] {
      try context.make(
        "Item",
        [
          "name": name, "section": section, "size": size, "price": Decimal(size) / 10, "weight": Double(size) / 2,
          "made": Date(timeIntervalSinceReferenceDate: Double(size)), "code": Self.code,
          "site": URL(string: "https://\(name).example") as Any,
          "isNew": size > 1, "extra": [size], "owner": owner,
        ])
    }
    try context.make("Item", ["name": "d"])
    try context.save()
  }

  private func onItems(_ body: (Stack, ManagedObjectContext) throws -> Void) async throws {
    try await onEachStore(model: model, classes: ManagedObjectClasses()) { stack in
      try fill(stack.makeContext())
      try body(stack, stack.makeContext())
    }
  }

  private func request(_ properties: String = "", by keys: String = "", having: String? = nil, order: String...) throws -> FetchRequest<
    [String: Any]
  > {
    var request = FetchRequest<[String: Any]>(entityName: "Item")
    if !properties.isEmpty { request.propertiesToFetch = try FetchProperty.list(format: properties) }
    if !keys.isEmpty { request.propertiesToGroupBy = try FetchProperty.list(format: keys) }
    request.havingPredicate = try having.map { try FetchPredicate(format: $0) }
    request.sortDescriptors = order.map { FetchSortDescriptor($0) }
    return request
  }

  // MARK: Dictionaries

  func testValuesHaveTheirSwiftTypes() async throws {
    try await onItems { _, context in
      let rows = try context.fetch(
        try request(
          """
          count(*) AS n, sum(size), sum(price), average(size), max(made) AS made, min(code) AS code, max(site) AS site, max(isNew) AS new, \
          sum(weight), median(price), min(name)
          """))
      let row = try XCTUnwrap(rows.first)
      XCTAssertEqual(row.count, 11)
      XCTAssertEqual(row["n"] as? Int64, 4)
      XCTAssertEqual(row["sum(size)"] as? Int64, 7)
      XCTAssertEqual(row["sum(price)"] as? Decimal, Decimal(string: "0.7"))
      XCTAssertEqual(row["average(size)"] as? Double, 7.0 / 3)
      XCTAssertEqual(row["made"] as? Date, Date(timeIntervalSinceReferenceDate: 4))
      XCTAssertEqual(row["code"] as? UUID, Self.code)
      XCTAssertEqual(row["site"] as? URL, URL(string: "https://c.example"))
      XCTAssertEqual(row["new"] as? Bool, true)
      XCTAssertEqual(row["sum(weight)"] as? Double, 3.5)
      XCTAssertEqual(row["median(price)"] as? Decimal, Decimal(string: "0.2"))
      XCTAssertEqual(row["min(name)"] as? String, "a")
    }
  }

  func testMissingValuesHaveNoKey() async throws {
    try await onItems { _, context in
      let rows = try context.fetch(try request("section, sum(size) AS s, max(size) AS m", by: "section", order: "section"))
      XCTAssertEqual(rows.map { $0["section"] as? String }, [nil, "x", "y"])
      XCTAssertEqual(rows.map { $0["s"] as? Int64 }, [0, 3, 4])
      XCTAssertEqual(Set(rows[0].keys), ["s"])
    }
  }

  func testObjectsAreReturnedAsIDsAndEntitiesAsNames() async throws {
    try await onItems { _, context in
      let rows = try context.fetch(try request("SELF AS me, objectID, owner, entity, name", order: "name"))
      let items = try context.objects("Item", by: "name")
      XCTAssertEqual(rows.map { $0["me"] as? ManagedObjectID }, items.map(\.objectID))
      XCTAssertEqual(rows.map { $0["objectID"] as? ManagedObjectID }, items.map(\.objectID))
      XCTAssertEqual(rows.map { $0["owner"] as? ManagedObjectID }, items.map { $0.one("owner")?.objectID })
      XCTAssertNil(rows[3]["owner"])
      XCTAssertEqual(rows.map { $0["entity"] as? String }, ["Item", "Item", "Item", "Item"])
    }
  }

  func testResultTypesDetermineTheSwiftType() async throws {
    try await onItems { _, context in
      var request = try request()
      request.propertiesToFetch = [
        .expression(try FetchExpression(format: "count(*)"), as: "n", resultType: .integer32),
        .expression(try FetchExpression(format: "sum(size)"), as: "s", resultType: .double),
        .expression(try FetchExpression(format: "sum(weight)"), as: "w", resultType: .float),
      ]
      let row = try XCTUnwrap(try context.fetch(request).first)
      XCTAssertEqual(row["n"] as? Int32, 4)
      XCTAssertEqual(row["s"] as? Double, 7)
      XCTAssertEqual(row["w"] as? Float, 3.5)
    }
  }

  func testDictionariesAndTheirCountShowSavedValues() async throws {
    try await onItems { _, context in
      try context.make("Item", ["name": "e", "section": "z", "size": 100])
      context.delete(try context.named("a", "Item"))
      try context.named("b", "Item").setValue(50, forKey: "size")
      let request = try request("section, sum(size) AS s", by: "section", having: "section != nil", order: "section")
      XCTAssertEqual(try context.fetch(request).map { $0["s"] as? Int64 }, [3, 4])
      XCTAssertEqual(try context.count(for: request), 2)
      XCTAssertEqual(try context.count(for: FetchRequest<[String: Any]>(entityName: "Item")), 4)
      try context.save()
      XCTAssertEqual(try context.fetch(request).map { $0["s"] as? Int64 }, [50, 4, 100])
    }
  }

  func testObjectCountIgnoresDictionaryOptions() async throws {
    try await onItems { _, context in
      var objects = FetchRequest<ManagedObject>(entityName: "Item")
      objects.specification.propertiesToGroupBy = ["section"]
      objects.specification.returnsDistinctResults = true
      objects.specification.propertiesToFetch = ["section"]
      XCTAssertEqual(try context.count(for: objects), 4)
    }
  }

  func testGroupedFetchUsesOneStatement() async throws {
    try await onItems { stack, context in
      stack.statements?.reset()
      let request = try request("section, count(*) AS n", by: "section", having: "n > $least", order: "n")
      var bound = request
      bound.havingPredicate = bound.havingPredicate?.withSubstitutionVariables(["least": 1])
      XCTAssertEqual(try context.fetch(bound).map { $0["n"] as? Int64 }, [2])
      XCTAssertThrowsError(try context.fetch(request)) {
        XCTAssertEqual($0 as? FetchPredicateError, .unsubstitutedVariable(name: "least"))
      }
      guard let statements = stack.statements else { return }
      XCTAssertEqual(statements.count, 1)
      XCTAssertTrue(statements.texts[0].contains(" GROUP BY "), statements.texts[0])
      XCTAssertTrue(statements.texts[0].contains(" HAVING count(*) > ?"), statements.texts[0])
    }
  }

  // MARK: Decoding

  private struct Section: Decodable, Equatable {
    var section: String?
    var n: Int
    var total: Decimal?
    var mean: Double?
    var newest: Date?
  }

  func testRowsAreDecodedByTheNamesOfColumns() async throws {
    try await onItems { _, context in
      let sections = try context.fetch(
        try request(
          "section, count(*) AS n, sum(price) AS total, average(size) AS mean, max(made) AS newest", by: "section", order: "section"),
        as: Section.self)
      XCTAssertEqual(
        sections,
        [
          Section(section: nil, n: 1, total: 0, mean: nil, newest: nil),
          Section(section: "x", n: 2, total: Decimal(string: "0.3"), mean: 1.5, newest: Date(timeIntervalSinceReferenceDate: 2)),
          Section(section: "y", n: 1, total: Decimal(string: "0.4"), mean: 4, newest: Date(timeIntervalSinceReferenceDate: 4)),
        ])
    }
  }

  func testRowsCanHaveNestedTypes() async throws {
    enum Name: String, Decodable { case a, b, c, d }
    struct Item: Decodable {
      var title: Name
      var size: Int8?
      var asDouble: Float
      var code: UUID?
      var site: URL?
      var isNew: Bool?
      var extra: [Int]?
      var ownerName: String?
      enum CodingKeys: String, CodingKey {
        case title = "name"
        case size, asDouble, code, site, isNew, extra
        case ownerName = "owner.name"
      }
    }
    try await onItems { _, context in
      let items = try context.fetch(
        try request("name, size, length(name) AS asDouble, code, site, isNew, extra, owner.name", order: "name"), as: Item.self)
      XCTAssertEqual(items.map(\.title), [.a, .b, .c, .d])
      XCTAssertEqual(items.map(\.size), [1, 2, 4, nil])
      XCTAssertEqual(items.map(\.asDouble), [1, 1, 1, 1])
      XCTAssertEqual(items.map(\.code), [Self.code, Self.code, Self.code, nil])
      XCTAssertEqual(items[0].site, URL(string: "https://a.example"))
      XCTAssertEqual(items.map(\.isNew), [false, true, true, nil])
      XCTAssertEqual(items.map(\.extra), [[1], [2], [4], nil])
      XCTAssertEqual(items.map(\.ownerName), ["o", "o", "o", nil])
    }
  }

  func testOneColumnCanBeDecodedAsSingleValues() async throws {
    try await onItems { _, context in
      XCTAssertEqual(try context.fetch(try request("name", order: "name"), as: String.self), ["a", "b", "c", "d"])
      XCTAssertEqual(try context.fetch(try request("sum(size)"), as: Int.self), [7])
      XCTAssertEqual(
        try context.fetch(try request("section, min(name) AS first", by: "section", order: "section"), as: [String: String].self),
        [["first": "d"], ["section": "x", "first": "a"], ["section": "y", "first": "c"]])
    }
  }

  func testMismatchedTypeErrorNamesTheColumn() async throws {
    struct Wrong: Decodable { var name: Int }
    struct Missing: Decodable { var section: String }
    struct Unknown: Decodable { var nothing: String }
    struct Small: Decodable { var s: Int8 }
    func message(_ error: any Error) -> String {
      switch error {
      case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
        DecodingError.keyNotFound(_, let context),
        DecodingError.dataCorrupted(let context):
        context.debugDescription
      default: "\(error)"
      }
    }
    try await onItems { _, context in
      XCTAssertThrowsError(try context.fetch(try request("name"), as: Wrong.self)) {
        XCTAssertEqual(message($0), "The column “name” of “Item” holds a value of type String, which is or fits no Int.")
      }
      XCTAssertThrowsError(try context.fetch(try request("section", order: "section"), as: Missing.self)) {
        XCTAssertEqual(
          message($0),
          "The column “section” of “Item” has no value here: make the property optional, or leave objects without a value out by the predicate."
        )
      }
      XCTAssertThrowsError(try context.fetch(try request("section, name"), as: Unknown.self)) {
        XCTAssertEqual(message($0), "The dictionaries of “Item” have no column “nothing”; they have section, name.")
      }
      XCTAssertThrowsError(try context.fetch(try request("sum(size) * 100 AS s"), as: Small.self)) {
        XCTAssertEqual(message($0), "The column “s” of “Item” holds a value of type Int64, which is or fits no Int8.")
      }
      XCTAssertThrowsError(try context.fetch(try request("section, name"), as: String.self)) {
        XCTAssertEqual(message($0), "A row of “Item” has 2 columns: decode a type with coding keys.")
      }
    }
  }

  // MARK: Several stores

  private func onTwoStores(_ body: (PersistentStoreCoordinator, ManagedObjectContext) throws -> Void) async throws {
    for kind in StoreKind.allCases {
      let folder = try TemporaryFolder()
      let coordinator = try PersistentStoreCoordinator(managedObjectModel: model)
      for name in ["0.store", "1.store"] {
        try await coordinator.addPersistentStore(
          with: kind == .inMemory ? PersistentStoreDescription(type: .inMemory) : .encrypted(in: folder, name))
      }
      let context = ManagedObjectContext(coordinator: coordinator)
      for (number, (name, section)) in [("a", "x"), ("d", "y"), ("b", "x"), ("c", nil), ("E", "y")].enumerated() {
        let item = try context.make("Item", ["name": name, "size": number])
        try item.setValue(section, forKey: "section")
        try context.assign(item, to: coordinator.persistentStores[number % 2])
      }
      try context.save()
      try body(coordinator, ManagedObjectContext(coordinator: coordinator))
      for store in coordinator.persistentStores { try coordinator.remove(store) }
    }
  }

  func testDictionariesOfSeveralStoresAreSortedTogether() async throws {
    try await onTwoStores { _, context in
      func names(_ request: FetchRequest<[String: Any]>) throws -> [String] {
        try context.fetch(request).compactMap { $0["name"] as? String }
      }
      var byName = try request("name, section", order: "name")
      XCTAssertEqual(try names(byName), ["E", "a", "b", "c", "d"])
      byName.sortDescriptors = [FetchSortDescriptor("name", ascending: false, comparison: .caseInsensitive)]
      XCTAssertEqual(try names(byName), ["E", "d", "c", "b", "a"])
      byName.fetchOffset = 1
      byName.fetchLimit = 3
      XCTAssertEqual(try names(byName), ["d", "c", "b"])
      XCTAssertEqual(try context.count(for: byName), 3)
      XCTAssertEqual(try context.fetch(byName).map { $0.keys.count }, [2, 1, 2])
      // A sort key need not be a fetched property, nor a property at all.
      var all = try request(order: "name")
      all.sortDescriptors = [FetchSortDescriptor(expression: try FetchExpression(format: "0 - size"))]
      XCTAssertEqual(try names(all), ["E", "c", "b", "d", "a"])
      XCTAssertEqual(Set(try XCTUnwrap(try context.fetch(all).first).keys), ["name", "section", "size"])
      let computed = try request("0 - size AS less, name", order: "less")
      XCTAssertEqual(try names(computed), ["E", "c", "b", "d", "a"])
    }
  }

  func testEqualDictionariesOfSeveralStoresAreReturnedOnce() async throws {
    try await onTwoStores { _, context in
      var sections = try request("section", order: "section").distinct()
      XCTAssertEqual(try context.fetch(sections).map { $0["section"] as? String }, [nil, "x", "y"])
      XCTAssertEqual(try context.count(for: sections), 3)
      sections.fetchOffset = 1
      sections.fetchLimit = 1
      XCTAssertEqual(try context.fetch(sections).map { $0["section"] as? String }, ["x"])
    }
  }

  func testGroupsOfSeveralStoresAreCombined() async throws {
    try await onTwoStores { coordinator, context in
      var groups = try request("section, count(*) AS n", by: "section", order: "section")
      XCTAssertEqual(try context.fetch(groups).map { $0["n"] as? Int64 }, [1, 2, 2])
      XCTAssertEqual(try context.count(for: groups), 3)
      XCTAssertEqual(try context.fetch(try request("count(*) AS n")).map { $0["n"] as? Int64 }, [5])
      groups.affectedStores = [coordinator.persistentStores[0].identifier]
      XCTAssertEqual(try context.fetch(groups).map { $0["n"] as? Int64 }, [2, 1])
    }
  }
}

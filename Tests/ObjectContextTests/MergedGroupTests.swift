import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import XCTest
import _TestSupport

/// Groups and aggregates over several stores equal those of one store with the same rows (rows F13 to F15, F17, F23).
final class MergedGroupTests: XCTestCase {
  private let model = ManagedObjectModel {
    Entity("Book") {
      Attribute("title", .string)
      Attribute("pages", .integer64)
      Attribute("year", .integer16)
      Attribute("price", .decimal)
      Attribute("rating", .double)
      Attribute("published", .date)
      Attribute("inPrint", .boolean)
      Attribute("code", .uuid)
      Relationship("author", to: "Author", inverse: "books")
    }
    Entity("Novel", parent: "Book")
    Entity("Author") {
      Attribute("name", .string)
      Attribute("born", .integer16)
      Relationship("mentor", to: "Author", inverse: "pupils")
      Relationship("pupils", toMany: "Author", inverse: "mentor")
      Relationship("books", toMany: "Book", inverse: "author")
    }
  }
  private var random = SeededGenerator(seed: 20_261_122)

  private func pick<Element>(_ elements: [Element]) -> Element { elements[Int.random(in: 0..<elements.count, using: &random)] }
  private func chance(_ of: Int) -> Bool { Int.random(in: 0..<of, using: &random) == 0 }

  private struct Row {
    var entity: String
    var values: [String: Any]
    /// The number of the related row in the same part.
    var target: (key: String, number: Int)?
  }

  /// Rows in as many parts as there are stores: objects only refer to objects of the same store.
  private func makeParts(_ count: Int) -> [[Row]] {
    (0..<count).map { part in
      var rows: [Row] = (0..<5).map { number in
        var values: [String: Any] = [:]
        if !chance(5) { values["name"] = pick(["Ada", "ada", "Bob", "é", "e\u{301}", ""]) }
        if !chance(5) { values["born"] = pick([1, 2, 3]) }
        return Row(
          entity: "Author", values: values, target: number == 0 || chance(3) ? nil : ("mentor", Int.random(in: 0..<number, using: &random)))
      }
      // The last part is small, so that most groups are not in every store.
      for _ in 0..<(part == 2 ? 6 : 40) {
        var values: [String: Any] = ["year": Int.random(in: 0..<7, using: &random)]
        if !chance(4) { values["title"] = pick(["", "a", "A", "ab", "é", "e\u{301}", "ß", "日本", "z\u{0}y"]) }
        if !chance(4) { values["pages"] = pick([0, 1, 2, 3, -1, 5, Int.max, Int.min]) }
        if !chance(4) { values["price"] = Decimal(Int.random(in: -30...300, using: &random)) / 10 }
        if !chance(4) { values["rating"] = pick([0, 0.1, 0.2, 0.3, -0.5, 3.25, 1e16, 1e300, -1e300]) }
        if !chance(4) { values["published"] = Date(timeIntervalSinceReferenceDate: Double(Int.random(in: -3...3, using: &random))) }
        if !chance(3) { values["inPrint"] = chance(2) }
        if !chance(3) { values["code"] = UUID(uuid: (UInt8(pick([1, 2, 3])), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }
        rows.append(
          Row(
            entity: chance(4) ? "Novel" : "Book", values: values,
            target: chance(4) ? nil : ("author", Int.random(in: 0..<5, using: &random))))
      }
      return rows
    }
  }

  private func context(_ kinds: [StoreKind], _ folder: TemporaryFolder, observer: SQLObserver? = nil) async throws -> ManagedObjectContext {
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: model)
    for (number, kind) in kinds.enumerated() {
      var description = kind == .inMemory ? PersistentStoreDescription(type: .inMemory) : .encrypted(in: folder, "\(number).store")
      if kind == .sqlcipher { description.sqlObserver = observer }
      try await coordinator.addPersistentStore(with: description)
    }
    return ManagedObjectContext(coordinator: coordinator)
  }

  /// Inserts each part into a separate store, or all into the only one.
  private func fill(_ context: ManagedObjectContext, _ parts: [[Row]]) throws {
    let stores = context.persistentStoreCoordinator.persistentStores
    for (number, part) in parts.enumerated() {
      var objects: [ManagedObject] = []
      for row in part {
        let object = try context.make(row.entity, row.values)
        try context.assign(object, to: stores[min(number, stores.count - 1)])
        if let (key, target) = row.target { try object.setValue(objects[target], forKey: key) }
        objects.append(object)
      }
    }
    try context.save()
  }

  private func close(_ contexts: ManagedObjectContext...) throws {
    for context in contexts {
      for store in context.persistentStoreCoordinator.persistentStores { try context.persistentStoreCoordinator.remove(store) }
    }
  }

  // MARK: Random groups

  private let keys = [
    "author", "author.name", "author.mentor", "author.born", "year", "pages", "price", "rating", "published", "inPrint", "title", "entity",
    "code", "year %% 3", "length(title)", "price * 2", "author.books.@count", "TERNARY(pages > 1, 1, 0)", "canonical(title)",
  ]
  private let numbers = [
    "pages", "price", "rating", "year", "inPrint", "year * 2", "pages * 2", "price + 1", "author.born", "length(title)", "3",
  ]

  private func aggregate() -> String {
    let distinct = chance(3) ? "distinct " : ""
    switch Int.random(in: 0..<9, using: &random) {
    case 0: return "count(*)"
    case 1: return "count(\(distinct)\(pick(keys)))"
    case 2:
      return "\(pick(["min", "max"]))(\(pick(["title", "published", "pages", "price", "rating", "author.name", "inPrint", "code"])))"
    case 3: return "\(pick(["median", "mode", "stddev"]))(\(distinct)\(pick(numbers)))"
    case 4, 5: return "average(\(distinct)\(pick(numbers)))"
    default: return "sum(\(distinct)\(pick(numbers)))"
    }
  }

  private func scalar(of groups: [String]) -> String {
    switch Int.random(in: 0..<5, using: &random) {
    case 0 where !groups.isEmpty: return pick(groups)
    case 1: return "\(aggregate()) + 1"
    case 2: return "TERNARY(\(condition(of: groups)), 1, 0)"
    default: return aggregate()
    }
  }

  private func condition(of groups: [String]) -> String {
    switch Int.random(in: 0..<9, using: &random) {
    case 0: return "\(pick(groups + ["max(title)"])) != nil"
    case 1: return "n \(pick([">", "<=", "==", "!="])) \(Int.random(in: 0...9, using: &random))"
    case 2: return "count(*) BETWEEN {2, \(Int.random(in: 2...20, using: &random))}"
    case 3: return "sum(price) > \(Int.random(in: -5...60, using: &random)).5"
    case 4: return "min(title) BEGINSWITH[c] 'a' OR max(year) IN {1, 3, 6}"
    case 5: return "average(rating) < median(rating)"
    case 6: return "NOT (sum(pages) == max(pages) AND count(distinct author) > 1)"
    case 7 where groups.contains("author"): return "author.name BEGINSWITH 'A' OR NONE author.books.title == 'a' OR author.born < count(*)"
    default: return "$n %% 2 == \(Int.random(in: 0...1, using: &random))"
    }
  }

  private func request() throws -> (FetchSpecification, String) {
    var fetch = FetchSpecification(entityName: "Book")
    let groups = chance(5) ? [] : (0..<Int.random(in: 1...2, using: &random)).map { _ in pick(keys) }
    var properties = ["count(*) AS n"]
    for (number, group) in groups.enumerated() where !chance(4) && !["author", "author.mentor"].contains(group) {
      properties.append("\(group) AS g\(number)")
    }
    if groups.contains("author"), chance(2) { properties.append("author.name AS who, author.mentor.name, author.books.@sum.price AS all") }
    for number in 0..<Int.random(in: 0...3, using: &random) {
      properties.append("\(scalar(of: groups.filter { !$0.hasPrefix("author") })) AS e\(number)")
    }
    fetch.propertiesToFetch = try FetchProperty.list(format: properties.joined(separator: ", "))
    if !groups.isEmpty { fetch.propertiesToGroupBy = try FetchProperty.list(format: groups.joined(separator: ", ")) }
    var text = "\(properties) by \(groups)"
    if chance(2) {
      let having = (0..<Int.random(in: 1...2, using: &random)).map { _ in "(\(condition(of: groups)))" }
        .joined(separator: pick([" AND ", " OR "]))
      fetch.havingPredicate = try FetchPredicate(format: having)
      text += " having \(having)"
    }
    if chance(3) {
      fetch.predicate = try FetchPredicate(format: pick(["pages > 0", "author != nil", "year < 5 OR rating == nil", "FALSEPREDICATE"]))
    }
    if chance(4) { fetch.includesSubentities = false }
    if chance(4) { fetch.returnsDistinctResults = true }
    // The keys of objects, which break ties, differ with several stores.
    if groups.contains(where: { ["author", "author.mentor"].contains($0) }), !fetch.returnsDistinctResults { return (fetch, text) }
    for _ in 0..<Int.random(in: 0...2, using: &random) {
      // Distinct rows can only be sorted by fetched properties.
      let key = chance(2) || fetch.returnsDistinctResults ? "n" : scalar(of: groups)
      fetch.sortDescriptors.append(
        FetchSortDescriptor(
          expression: try FetchExpression(format: key), ascending: chance(2), comparison: chance(3) ? .caseInsensitive : .binary))
      text += " order \(key)"
    }
    if chance(3) { fetch.fetchLimit = Int.random(in: 1...6, using: &random) }
    if chance(4) { fetch.fetchOffset = Int.random(in: 1...4, using: &random) }
    return (fetch, text)
  }

  /// Rows as comparable texts, sorted if the fetch specifies no order.
  private func texts(_ fetch: FetchSpecification, _ context: ManagedObjectContext) throws -> [String] {
    let texts = try context.dictionaryResults(of: fetch).rows.map { "\($0.values)" }
    let isOrdered = !fetch.sortDescriptors.isEmpty || fetch.fetchLimit > 0 || fetch.fetchOffset > 0
    return isOrdered ? texts : texts.sorted()
  }

  func testRandomGroupsOverSeveralStoresMatchOneStore() async throws {
    for kinds in [[StoreKind.sqlcipher, .inMemory], [.inMemory, .sqlcipher, .sqlcipher]] {
      let folder = try TemporaryFolder()
      let parts = makeParts(kinds.count)
      let (several, one) = (try await context(kinds, folder), try await context([.inMemory], folder))
      try fill(several, parts)
      try fill(one, parts)
      var answered = 0
      for _ in 0..<250 {
        let (fetch, text) = try request()
        let expected: [String]
        do { expected = try texts(fetch, one) } catch {
          XCTAssertThrowsError(try texts(fetch, several), "\(text): \(error)")
          continue
        }
        XCTAssertEqual(try texts(fetch, several), expected, text)
        var counted = FetchRequest<[String: Any]>(entityName: "Book")
        counted.specification = fetch
        counted.specification.resultType = .dictionaries
        XCTAssertEqual(try several.count(for: counted), expected.count, text)
        answered += 1
      }
      XCTAssertGreaterThan(answered, 150)
      try close(several, one)
    }
  }

  // MARK: Execution paths

  private func fetch(_ properties: String, by keys: String = "", _ context: ManagedObjectContext) throws -> [[Slot]] {
    var fetch = FetchSpecification(entityName: "Book")
    fetch.propertiesToFetch = try FetchProperty.list(format: properties)
    if !keys.isEmpty { fetch.propertiesToGroupBy = try FetchProperty.list(format: keys) }
    return try context.dictionaryResults(of: fetch).rows.map(\.values)
  }

  func testSumsThatOverflowInOneStoreAreExactInTotal() async throws {
    let folder = try TemporaryFolder()
    let context = try await context([.sqlcipher, .sqlcipher], folder)
    try fill(
      context,
      [
        [Row(entity: "Book", values: ["pages": Int.max, "rating": 1e300]), Row(entity: "Book", values: ["pages": 5, "rating": 0.1])],
        [Row(entity: "Book", values: ["pages": -10, "rating": -1e300]), Row(entity: "Book", values: ["rating": 0.2])],
      ])
    XCTAssertEqual(try fetch("sum(pages), average(pages), count(pages)", context), [[.int(.max - 5), .real(0x1p63 / 3), .int(3)]])
    XCTAssertEqual(try fetch("sum(rating), median(rating)", context), [[.real(0.1 + 0.2), .real((0.1 + 0.2) / 2)]])
    try close(context)
  }

  func testEmptyAggregatesReturnOneRowOrNone() async throws {
    let folder = try TemporaryFolder()
    let context = try await context([.sqlcipher, .inMemory], folder)
    XCTAssertEqual(
      try fetch("count(*), sum(pages), max(pages), median(price), 1 AS one", context), [[.int(0), .int(0), .null, .null, .int(1)]])
    XCTAssertEqual(try fetch("count(*)", by: "year", context), [])
    try close(context)
  }

  func testObjectsOfTwoStoresWithEqualKeysAreDistinct() async throws {
    let folder = try TemporaryFolder()
    let context = try await context([.inMemory, .sqlcipher], folder)
    let part = [Row(entity: "Author", values: ["name": "A"]), Row(entity: "Book", values: ["year": 1], target: ("author", 0))]
    try fill(context, [part, part])
    XCTAssertEqual(try fetch("count(distinct author), count(distinct author.name)", context), [[.int(2), .int(1)]])
    var groups = FetchRequest<[String: Any]>(entityName: "Book")
    groups.propertiesToFetch = try FetchProperty.list(format: "author, author.name AS name, count(*) AS n")
    groups.propertiesToGroupBy = ["author"]
    let rows = try context.fetch(groups)
    XCTAssertEqual(rows.map { $0["n"] as? Int64 }, [1, 1])
    let ids = rows.compactMap { $0["author"] as? ManagedObjectID }
    XCTAssertEqual(Set(ids), Set(try context.objects("Author").map(\.objectID)))
    XCTAssertEqual(try context.count(for: groups), 2)
    try close(context)
  }

  func testUnsupportedAggregatesThrowWithASolution() async throws {
    let folder = try TemporaryFolder()
    let context = try await context([.inMemory, .sqlcipher], folder)
    let part = [Row(entity: "Author", values: ["name": "A"]), Row(entity: "Book", values: ["year": 1], target: ("author", 0))]
    try fill(context, [part, part])
    XCTAssertEqual(try fetch("count(coalesce(author, author.mentor))", context), [[.int(2)]])
    XCTAssertThrowsError(try fetch("count(distinct coalesce(author, author.mentor))", context)) { error in
      XCTAssertEqual((error as? StoreError)?.code, .invalidRequest, "\(error)")
      XCTAssertTrue("\(error)".contains("affectedStores"), "\(error)")
    }
    try close(context)
  }

  func testCombinableAggregatesAreComputedByTheStores() async throws {
    let folder = try TemporaryFolder()
    let observer = SQLObserver()
    let context = try await context([.sqlcipher, .sqlcipher], folder, observer: observer)
    try fill(context, makeParts(2))
    observer.reset()
    _ = try fetch("count(*), count(pages), sum(year), average(year), min(price), max(title)", context)
    XCTAssertEqual(observer.count, 2)
    XCTAssertTrue(observer.statements.allSatisfy { !$0.contains("GROUP BY") }, "\(observer.statements)")
    observer.reset()
    _ = try fetch("median(pages), count(distinct title)", by: "year", context)
    XCTAssertEqual(observer.count, 2)
    var groups = FetchRequest<[String: Any]>(entityName: "Book")
    groups.propertiesToFetch = try FetchProperty.list(format: "sum(year)")
    XCTAssertTrue(try context.explain(groups).description.contains("2 stores"))
    try close(context)
  }
}

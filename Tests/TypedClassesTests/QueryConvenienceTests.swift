import CipherData
import Foundation
import XCTest

/// Typed queries and updates in the form that developers write first.
final class QueryConvenienceTests: XCTestCase {
  private func assert<Object: ManagedObject>(
    _ request: FetchRequest<Object>, _ format: String, _ arguments: (any FetchConstantConvertible)?..., line: UInt = #line
  ) throws {
    let expected = try FetchPredicate(format: format, argumentArray: arguments)
    XCTAssertEqual(request.predicate, expected, "\(request.predicate?.predicateFormat ?? "nil")", line: line)
  }

  func testABooleanIsACondition() throws {
    try assert(Message.all.where { $0.isUnread }, "isUnread == TRUE")
    try assert(Message.all.where { !$0.isUnread }, "NOT isUnread == TRUE")
    try assert(Package.all.where { $0.essential && $0.name == "a" }, "essential == TRUE AND name == 'a'")
    try assert(Package.all.where { $0.name == "a" || $0.essential }, "name == 'a' OR essential == TRUE")
    try assert(
      Package.all.where { !$0.essential && $0.essential || $0.essential },
      "NOT essential == TRUE AND essential == TRUE OR essential == TRUE")
    try assert(Section.all.where { $0.packages.any { $0.essential == true } }, "SUBQUERY(packages, $x1, $x1.essential == TRUE).@count > 0")
    try assert(
      Package.all.where {
        $0.essential
        $0.name == "a"
        if true { !$0.essential }
      }, "essential == TRUE AND name == 'a' AND NOT essential == TRUE")
  }

  func testDatesAreComparedWithNow() throws {
    let before = Date()
    let request = Message.all.where { $0.sentAt < .now && $0.sentAt != .distantPast }
    guard case .and(let items)? = request.predicate, items.count == 2, case .comparison(let comparison) = items[0],
      case .constant(.date(let date)) = comparison.right
    else { return XCTFail("\(String(describing: request.predicate))") }
    XCTAssertEqual(comparison.op, .less)
    XCTAssertTrue((before...Date()).contains(date))
    let time = Date(timeIntervalSinceReferenceDate: 9)
    let missing: Date? = nil
    try assert(
      Participant.all.where { $0.joinedAt >= time && $0.joinedAt <= time && $0.joinedAt > missing },
      "joinedAt >= %@ AND joinedAt <= %@ AND joinedAt > nil", time, time)
    try assert(Message.all.where { $0.sentAt == $0.sentAt }, "sentAt == sentAt")
  }

  func testSortOrdersAreKeyPaths() {
    XCTAssertEqual(Package.all.sorted(by: \.name).sortDescriptors, Package.all.sorted { $0.name }.sortDescriptors)
    XCTAssertEqual(
      Package.all.sorted(by: \.section.name, order: .reverse).sorted(by: \.installedSize).sortDescriptors,
      Package.all.sorted { ($0.section.name.descending, $0.installedSize) }.sortDescriptors)
  }

  // MARK: One object

  private func archive() async throws -> ManagedObjectContext {
    let container = try DebianArchiveModel.makeContainer(persistentStoreDescriptions: [PersistentStoreDescription(type: .inMemory)])
    try await container.loadPersistentStores()
    let context = container.newBackgroundContext()
    for (number, name) in ["apt", "bash", "curl"].enumerated() {
      let package = Package(context: context)
      package.name = name
      (package.version, package.architecture) = ("1", "all")
      package.essential = number > 0
      package.installedSize = Int64(number * 10)
    }
    try context.save()
    return context
  }

  private func code(_ body: () throws -> Void) -> StoreError.Code? {
    do { try body() } catch { return (error as? StoreError)?.code }
    return nil
  }

  func testTheFirstAndTheOnlyObject() async throws {
    let context = try await archive()
    XCTAssertEqual(try context.fetchFirst(Package.all.sorted(by: \.name, order: .reverse))?.name, "curl")
    XCTAssertNil(try context.fetchFirst(Package.all.where { $0.name == "zsh" }))
    XCTAssertEqual(try context.fetchFirst(Package.all.sorted(by: \.name).select { $0.name }), "apt")
    XCTAssertEqual(try context.fetchExactlyOne(Package.all.where { !$0.essential }).name, "apt")
    XCTAssertEqual(code { _ = try context.fetchExactlyOne(Package.all.where { $0.name == "zsh" }) }, .objectNotFound)
    XCTAssertEqual(code { _ = try context.fetchExactlyOne(Package.all.where { $0.essential }) }, .notUnique)
  }

  func testObjectsForIDsHaveTheirClass() async throws {
    let context = try await archive()
    let package = try XCTUnwrap(context.fetchFirst(Package.all))
    let found: Package = try context.object(Package.self, package.objectID)
    XCTAssertTrue(found === package)
    XCTAssertEqual(code { _ = try context.object(Section.self, package.objectID) }, .invalidRequest)
    XCTAssertThrowsError(try context.object(Section.self, package.objectID)) {
      XCTAssertTrue("\($0)".contains("is of the class Package, not of Section"), "\($0)")
    }
    let id = package.objectID
    context.delete(package)
    try context.save()
    XCTAssertEqual(code { _ = try context.object(Package.self, id) }, .objectNotFound)
  }

  // MARK: Many objects

  func testObjectsAreUpdatedByKeyPaths() async throws {
    let context = try await archive()
    let apt = try context.fetchExactlyOne(Package.all.where { $0.name == "apt" })
    let count = try context.update(Package.all.where { $0.installedSize < 15 }) {
      $0.set(\.essential, to: true)
      $0.set(\.installedSize) { $0.installedSize * 2 + 1 }
      $0.set(\.summary, to: "s")
    }
    XCTAssertEqual(count, 2)
    XCTAssertEqual(try context.fetch(Package.all.sorted(by: \.name)).map(\.installedSize), [1, 21, 20])
    XCTAssertTrue(apt.essential, "objects in memory take the values")
    XCTAssertEqual(try context.update(Package.all) { $0.set(\.summary, to: nil) }, 3)
    XCTAssertNil(apt.summary)
    let section = Section(context: context)
    section.name = "admin"
    try context.save()
    XCTAssertEqual(try context.update(Package.all.where { $0.name == "apt" }) { $0.set(\.section, to: section) }, 1)
    XCTAssertEqual(try context.fetchExactlyOne(Package.all.where { $0.section == section }).name, "apt")
    XCTAssertEqual(code { try context.update(Package.all.limit(1)) { $0.set(\.essential, to: true) } }, .invalidRequest)
    XCTAssertEqual(code { try context.update(Package.all) { _ in } }, .invalidRequest, "nothing is named")
  }

  func testObjectsAreDeletedByRequest() async throws {
    let context = try await archive()
    XCTAssertEqual(try context.delete(Package.all.where { $0.essential }), 2)
    XCTAssertEqual(try context.fetch(Package.all).map(\.name), ["apt"])
  }

  func testArraysAreFilteredAndSorted() async throws {
    let context = try await archive()
    let packages = try context.fetch(Package.all.sorted(by: \.name))
    packages[0].installedSize = 99
    XCTAssertEqual(try packages.filtered(using: FetchCondition { $0.installedSize > 15 }).map(\.name), ["apt", "curl"])
    XCTAssertEqual(try packages.filtered(using: try FetchPredicate(format: "installedSize > 15")).map(\.name), ["apt", "curl"])
    XCTAssertEqual(try packages.sorted(using: FetchSortDescriptor("installedSize")).map(\.name), ["bash", "curl", "apt"])
    XCTAssertThrowsError(try packages.sorted(using: [FetchSortDescriptor("instaledSize")])) {
      XCTAssertTrue("\($0)".contains("Did you mean installedSize"), "\($0)")
    }
  }

  func testTextsNumbersAndDictionariesAreSortedByDescriptors() throws {
    XCTAssertEqual(
      try ["b10", "B9", "a"].sorted(using: [FetchSortDescriptor("SELF", comparison: .localizedStandard)]), ["a", "B9", "b10"])
    XCTAssertEqual(try [2, 3, 1].sorted(using: FetchSortDescriptor("self", ascending: false)), [3, 2, 1])
    XCTAssertEqual(
      try ["ccc", "a", "bb"].sorted(using: [FetchSortDescriptor(expression: FetchExpression(format: "length(SELF)"))]), ["a", "bb", "ccc"])
    let rows: [[String: Any]] = [
      ["name": "b", "size": 2, "tags": ["x"]], ["name": "a", "size": 2], ["name": "c"], ["name": "d", "size": 1.5],
    ]
    func names(_ descriptors: FetchSortDescriptor...) throws -> [String] {
      try rows.sorted(using: descriptors).map { $0["name"] as? String ?? "" }
    }
    XCTAssertEqual(try names(FetchSortDescriptor("size"), FetchSortDescriptor("name")), ["c", "d", "a", "b"])
    XCTAssertEqual(try names(FetchSortDescriptor("size", ascending: false)), ["b", "a", "d", "c"])
    XCTAssertEqual(try names(), ["b", "a", "c", "d"])
    XCTAssertThrowsError(try names(FetchSortDescriptor("tags"))) { XCTAssertTrue($0 is FetchPredicateError, "\($0)") }
  }
}

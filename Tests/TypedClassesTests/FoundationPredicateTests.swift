import CipherData
import Foundation
import XCTest

/// Translation of `#Predicate` and `SortDescriptor` to the library's predicates and sort descriptors.
final class FoundationPredicateTests: XCTestCase {
  private func assert<Object: TypedManagedObject>(
    _ predicate: Predicate<Object>, _ format: String, _ arguments: (any FetchConstantConvertible)?..., line: UInt = #line
  ) throws {
    let converted = try FetchPredicate(predicate)
    XCTAssertEqual(converted, try FetchPredicate(format: format, argumentArray: arguments), converted.predicateFormat, line: line)
  }

  func testComparisonsAndLogic() throws {
    try assert(#Predicate<Package> { $0.name == "a" && $0.version != "b" }, "name == 'a' AND version != 'b'")
    try assert(#Predicate<Package> { !($0.name < "a") || $0.essential }, "NOT name < 'a' OR essential == TRUE")
    try assert(#Predicate<Chat> { $0.position > 5 }, "position > 5")
    try assert(#Predicate<Chat> { $0.position >= 5 && $0.position <= 9 }, "position >= 5 AND position <= 9")
    try assert(#Predicate<Package> { $0.summary == nil && $0.section != nil }, "summary == nil AND section != nil")
    try assert(#Predicate<Package> { _ in true }, "TRUEPREDICATE")
    let (date, size): (Date, Int64?) = (Date(timeIntervalSinceReferenceDate: 1), nil)
    try assert(#Predicate<Account> { $0.createdAt > date }, "createdAt > %@", date)
    try assert(#Predicate<Package> { $0.installedSize == size }, "installedSize == nil")
    try assert(#Predicate<TextMessage> { $0.isUnread && $0.text == "a" }, "isUnread == TRUE AND text == 'a'")
  }

  func testOptionals() throws {
    try assert(#Predicate<Package> { $0.section?.name == "a" }, "section.name == 'a'")
    try assert(#Predicate<Package> { $0.section!.name == "a" }, "section.name == 'a'")
    try assert(#Predicate<Message> { $0.replyTo?.sender?.account?.displayName == "a" }, "replyTo.sender.account.displayName == 'a'")
    try assert(#Predicate<Package> { ($0.installedSize ?? 0) > 5 }, "coalesce(installedSize, 0) > 5")
    try assert(
      #Predicate<Package> { $0.section.flatMap { $0.name == "a" } ?? true },
      "(section != nil AND section.name == 'a') OR (NOT section != nil AND TRUEPREDICATE)")
    try assert(#Predicate<Package> { $0.section.flatMap { _ in 5 } == 5 }, "TERNARY(section != nil, 5, nil) == 5")
  }

  func testText() throws {
    try assert(#Predicate<Package> { $0.name.contains("a") && $0.name.starts(with: "b") }, "name CONTAINS 'a' AND name BEGINSWITH 'b'")
    try assert(#Predicate<Package> { $0.name.isEmpty || $0.name.count > 3 }, "name == '' OR length(name) > 3")
    try assert(#Predicate<Package> { $0.name.contains(/a+/) }, "name MATCHES '(?s:.*)(?:a+)(?s:.*)'")
  }

  func testArithmeticAndChoices() throws {
    try assert(#Predicate<Chat> { $0.position * 2 + 1 > $0.position - 3 }, "position * 2 + 1 > position - 3")
    try assert(#Predicate<Chat> { $0.position / 2 == 1 }, "position / 2 == 1")
    try assert(#Predicate<Chat> { $0.position % 2 == 1 }, "modulus(position, 2) == 1")
    try assert(#Predicate<Chat> { -$0.position == 1 }, "-position == 1")
    try assert(#Predicate<StickerMessage> { $0.scale / 2 > 1.5 }, "scale / 2.0 > 1.5")
    try assert(#Predicate<Chat> { ($0.isPinned ? 1 : 2) == 1 }, "TERNARY(isPinned == TRUE, 1, 2) == 1")
    try assert(
      #Predicate<Chat> { if $0.isPinned { $0.position > 1 } else { false } },
      "(isPinned == TRUE AND position > 1) OR (NOT isPinned == TRUE AND FALSEPREDICATE)")
  }

  func testRangesAndLists() throws {
    let (closed, from): (ClosedRange<Int64>, PartialRangeFrom<Int64>) = (1...4, 7...)
    try assert(#Predicate<Chat> { (1...5).contains($0.position) }, "position BETWEEN {1, 5}")
    try assert(#Predicate<Chat> { (1..<5).contains($0.position) }, "position >= 1 AND position < 5")
    try assert(#Predicate<Chat> { closed.contains($0.position) || from.contains($0.position) }, "position BETWEEN {1, 4} OR position >= 7")
    let names = ["a", "b"]
    try assert(#Predicate<Package> { names.contains($0.name) }, "name IN {'a', 'b'}")
    try assert(
      #Predicate<Package> { package in names.contains { package.name.contains($0) } }, "name CONTAINS 'a' OR name CONTAINS 'b'")
  }

  func testCollections() throws {
    try assert(#Predicate<Package> { $0.tags.contains { $0.name == "a" } }, "SUBQUERY(tags, $x1, $x1.name == 'a').@count > 0")
    try assert(#Predicate<Package> { $0.tags.allSatisfy { $0.name == "a" } }, "SUBQUERY(tags, $x1, NOT $x1.name == 'a').@count == 0")
    try assert(#Predicate<Package> { $0.tags.isEmpty || $0.tags.count > 3 }, "tags.@count == 0 OR tags.@count > 3")
    try assert(#Predicate<Package> { $0.tags.filter { $0.name == "a" }.count > 3 }, "SUBQUERY(tags, $x1, $x1.name == 'a').@count > 3")
    try assert(
      #Predicate<Section> { section in section.packages.contains { $0.tags.contains { $0.name == section.name } } },
      "SUBQUERY(packages, $x1, SUBQUERY($x1.tags, $x2, $x2.name == name).@count > 0).@count > 0")
    try assert(#Predicate<Chat> { $0.messages.first?.isUnread == true }, "messages[FIRST].isUnread == TRUE")
    try assert(#Predicate<Chat> { $0.messages[2].isUnread }, "messages[2].isUnread == TRUE")
  }

  func testObjectsAndClasses() async throws {
    try assert(#Predicate<Message> { $0 is TextMessage }, "entity == CAST('TextMessage', 'Entity')")
    try assert(#Predicate<Message> { $0.sender == $0.replyTo?.sender }, "sender == replyTo.sender")
    let container = try DebianArchiveModel.makeContainer(persistentStoreDescriptions: [PersistentStoreDescription(type: .inMemory)])
    try await container.loadPersistentStores()
    let context = container.newBackgroundContext()
    let names = ["games", "devel"]
    for name in names {
      let (section, package) = (Section(context: context), Package(context: context))
      section.name = name
      (package.name, package.version, package.architecture, package.section) = ("in \(name)", "1", "all", section)
    }
    try context.save()
    let objectID = try XCTUnwrap(context.fetch(Section.all.where { $0.name == "devel" }).first).objectID
    let request = try Package.all.where(#Predicate { $0.section?.objectID == objectID })
    XCTAssertEqual(try context.fetch(request).map(\.name), ["in devel"])
    let sorted = try Package.all.sorted(by: SortDescriptor(\.section?.name), SortDescriptor(\.name, order: .reverse))
    XCTAssertEqual(try context.fetch(sorted).map(\.name), ["in devel", "in games"])
    let coded = try JSONDecoder().decode(ManagedObjectID.self, from: JSONEncoder().encode(objectID))
    XCTAssertEqual(coded, objectID)
  }

  func testUnsupportedExpressionsAreReported() throws {
    func assert<Object: TypedManagedObject>(_ predicate: Predicate<Object>, names text: String, line: UInt = #line) {
      XCTAssertThrowsError(try FetchPredicate(predicate), line: line) { error in
        guard case .unsupported(let part, _)? = error as? FetchPredicateError else { return XCTFail("\(error)", line: line) }
        XCTAssertTrue(part.contains(text), part, line: line)
      }
    }
    assert(#Predicate<Message> { ($0 as? TextMessage)?.text == "a" }, names: "ConditionalCast")
    assert(#Predicate<Package> { $0.name.utf8.count > 3 }, names: "key path")
    assert(#Predicate<Account> { $0.settings.flatMap { $0["a"] } == "b" }, names: "DictionaryKeySubscript")
  }

  func testExpressionsOfFoundation() throws {
    XCTAssertEqual(try FetchExpression(#Expression<Chat, Int64> { $0.position * 2 }), try FetchExpression(format: "position * 2"))
    let expression = try FetchExpression(#Expression<Package, Int> { $0.tags.filter { $0.name == "a" }.count })
    XCTAssertEqual(expression, try FetchExpression(format: "SUBQUERY(tags, $x1, $x1.name == 'a').@count"))
    let request = Package.all.where { _ in FetchField<Int, Int>(expression) > 3 }
    XCTAssertEqual(request.predicate, try FetchPredicate(format: "SUBQUERY(tags, $x1, $x1.name == 'a').@count > 3"))
  }

  func testSortDescriptorsAndKeyPaths() throws {
    XCTAssertEqual(try FetchSortDescriptor(SortDescriptor(\Package.name)), FetchSortDescriptor("name"))
    XCTAssertEqual(
      try FetchSortDescriptor(SortDescriptor(\Package.installedSize, order: .reverse)),
      FetchSortDescriptor("installedSize", ascending: false))
    XCTAssertEqual(try FetchSortDescriptor(SortDescriptor(\Package.name, comparator: .lexical)), FetchSortDescriptor("name"))
    XCTAssertEqual(
      try FetchSortDescriptor(\Package.section?.name, comparison: .localized), FetchSortDescriptor("section.name", comparison: .localized))
    XCTAssertEqual(
      try FetchSortDescriptor(\Message.replyTo?.sender?.account?.displayName), FetchSortDescriptor("replyTo.sender.account.displayName"))
    XCTAssertEqual(try FetchSortDescriptor(\TextMessage.sentAt), FetchSortDescriptor("sentAt"))
    XCTAssertThrowsError(try FetchSortDescriptor(\Package.name.count))
    XCTAssertThrowsError(try FetchSortDescriptor(SortDescriptor(\Package.shout)))
  }
}

extension Package {
  /// A property that is not in the model.
  fileprivate var shout: String { name.uppercased() }
}

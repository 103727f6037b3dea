import CipherData
import Foundation
import XCTest

/// An enumeration of the application, stored in a string attribute.
private enum Role: String, FetchOperand {
  case owner, member
}

/// Typed queries build the same predicates as the format language, and can be composed at run time.
final class TypedQueryTests: XCTestCase {
  private func assert<Object: ManagedObject>(
    _ request: FetchRequest<Object>, _ format: String, _ arguments: (any FetchConstantConvertible)?..., line: UInt = #line
  ) throws {
    let expected = try FetchPredicate(format: format, argumentArray: arguments)
    XCTAssertEqual(request.predicate, expected, "\(request.predicate?.predicateFormat ?? "nil")", line: line)
  }

  // MARK: Predicate trees

  func testComparisonsMatchTheFormatLanguage() throws {
    let date = Date(timeIntervalSinceReferenceDate: 5)
    let uuid = UUID()
    try assert(Package.all.where { $0.name == "swift" }, "name == 'swift'")
    try assert(Package.all.where { $0.installedSize != 5 }, "installedSize != 5")
    try assert(Package.all.where { $0.installedSize > 5 && $0.downloadSize <= -1 }, "installedSize > 5 AND downloadSize <= -1")
    try assert(Package.all.where { $0.installedSize < $0.downloadSize }, "installedSize < downloadSize")
    try assert(Package.all.where { $0.installedSize >= 1.5 || !($0.name == "a") }, "installedSize >= 1.5 OR NOT name == 'a'")
    try assert(Package.all.where { $0.essential == true }, "essential == TRUE")
    try assert(Package.all.where { $0.summary == nil && $0.section != nil }, "summary == nil AND section != nil")
    try assert(Account.all.where { $0.createdAt > date && $0.identifier == uuid }, "createdAt > %@ AND identifier == %@", date, uuid)
    try assert(Account.all.where { $0.balance > 19.99 }, "balance > 19.99")
    try assert(Account.all.where { $0.balance > Decimal(5) }, "balance > %@", Decimal(5))
    try assert(Account.all.where { $0.settings == nil && $0.avatar == Data([1]) }, "settings == nil AND avatar == %@", Data([1]))
    try assert(Account.all.where { $0.profileURL == "https://swift.org" }, "profileURL == 'https://swift.org'")
    try assert(Participant.all.where { $0.role == Role.owner }, "role == 'owner'")
    let (none, some): (String?, Int?) = (nil, 7)
    try assert(Package.all.where { $0.summary == none && $0.installedSize == some }, "summary == nil AND installedSize == 7")
  }

  func testTextComparisonsHaveOptions() throws {
    try assert(
      Package.all.where { $0.name.hasPrefix("lib") && $0.name.hasSuffix("dev") }, "name BEGINSWITH 'lib' AND name ENDSWITH 'dev'")
    try assert(
      Package.all.where { $0.summary.contains("Spiel", [.caseInsensitive, .diacriticInsensitive]) }, "summary CONTAINS[cd] 'Spiel'")
    try assert(Package.all.where { $0.name.like("lib*", .caseInsensitive) }, "name LIKE[c] 'lib*'")
    try assert(Package.all.where { $0.name.matches("a+") }, "name MATCHES 'a+'")
    try assert(Package.all.where { $0.name.equals("A", .caseInsensitive) }, "name ==[c] 'A'")
    try assert(Package.all.where { $0.name.compare(.less, $0.summary, .localeSensitive) }, "name <[l] summary")
    try assert(Package.all.where { $0.name.lowercased() == "a" && $0.name.count > 3 }, "lowercase(name) == 'a' AND length(name) > 3")
    try assert(Package.all.where { $0.name.uppercased().hasPrefix($0.architecture) }, "uppercase(name) BEGINSWITH architecture")
    try assert(Package.all.where { $0.name.search("text adv* -\"a b") }, "name SEARCH 'text adv* -\"a b\"'")
    try assert(Package.all.where { $0.maintainer.name.search(TextQuery.word("a") || .prefix("b")) }, "maintainer.name SEARCH 'a OR b*'")
    try assert(Package.all.where { $0.search("x") && $0.name.relevance(to: "x") > 1.5 }, "SELF SEARCH 'x' AND relevance(name, 'x') > 1.5")
    XCTAssertEqual(
      Package.all.where { $0.name.search("x") && $0.summary.search("y") }.sortedByRelevance().sortDescriptors,
      [FetchSortDescriptor(expression: try FetchExpression(format: "relevance(name, 'x') + relevance(summary, 'y')"), ascending: false)])
    XCTAssertEqual(Package.all.where { !$0.name.search("x") }.sortedByRelevance().sortDescriptors, [])
    try assert(Package.all.where { $0.name.isEmpty }, "name == ''")
  }

  func testListsAndRanges() throws {
    try assert(Package.all.where { $0.name.isIn(["a", "b"]) }, "name IN {'a', 'b'}")
    try assert(Package.all.where { ["a", "b"].contains($0.name) }, "name IN {'a', 'b'}")
    try assert(Package.all.where { $0.installedSize.isIn(10...20) }, "installedSize BETWEEN {10, 20}")
    try assert(Package.all.where { (10...20).contains($0.installedSize) }, "installedSize BETWEEN {10, 20}")
    try assert(Package.all.where { (10..<20).contains($0.installedSize) }, "installedSize >= 10 AND installedSize < 20")
    try assert(Package.all.where { $0.installedSize.isBetween(10, $0.downloadSize) }, "installedSize BETWEEN {10, downloadSize}")
  }

  func testArithmetic() throws {
    try assert(Package.all.where { $0.installedSize * 2 + 5 > $0.downloadSize - 3 }, "installedSize * 2 + 5 > downloadSize - 3")
    try assert(Package.all.where { $0.installedSize / 2 % 7 == 1 }, "modulus(installedSize / 2, 7) == 1")
    try assert(Package.all.where { (-$0.installedSize).magnitude < 9 }, "abs(-installedSize) < 9")
    let date = Date(timeIntervalSinceReferenceDate: 5)
    try assert(Message.all.where { $0.sentAt + 60 < date }, "sentAt + 60 < %@", date)
    try assert(Message.all.where { $0.sentAt.seconds(since: $0.replyTo.sentAt) > 60 }, "sentAt - replyTo.sentAt > 60")
    try assert(Package.all.where { ($0.summary ?? $0.name) == "x" }, "coalesce(summary, name) == 'x'")
  }

  func testToOneChainsNeedNoOptionalChaining() throws {
    try assert(Message.all.where { $0.sender.account.displayName == "Ann" }, "sender.account.displayName == 'Ann'")
    try assert(Message.all.where { $0.replyTo.sender == $0.sender }, "replyTo.sender == sender")
    try assert(Chat.all.where { $0.pinnedMessage.sender.account == nil }, "pinnedMessage.sender.account == nil")
  }

  func testCollectionsAreQueriedByClosures() throws {
    try assert(Package.all.where { $0.tags.any { $0.name == "a" } }, "SUBQUERY(tags, $x1, $x1.name == 'a').@count > 0")
    try assert(Package.all.where { $0.tags.all { $0.name == "a" } }, "SUBQUERY(tags, $x1, NOT $x1.name == 'a').@count == 0")
    try assert(Package.all.where { $0.tags.none { $0.name == "a" } }, "SUBQUERY(tags, $x1, $x1.name == 'a').@count == 0")
    try assert(
      Section.all.where { $0.packages.count { $0.installedSize > 9 } > 2 }, "SUBQUERY(packages, $x1, $x1.installedSize > 9).@count > 2")
    try assert(Package.all.where { $0.tags.isEmpty || $0.tags.count >= 3 }, "tags.@count == 0 OR tags.@count >= 3")
    try assert(
      Section.all.where { $0.packages.sum { $0.installedSize } > 9 && $0.packages.average { $0.installedSize } < 2.5 },
      "packages.@sum.installedSize > 9 AND packages.@avg.installedSize < 2.5")
    try assert(
      Section.all.where { $0.packages.min { $0.name } == "a" && $0.packages.max { $0.maintainer.name } == "b" },
      "packages.@min.name == 'a' AND packages.@max.maintainer.name == 'b'")
    try assert(
      Section.all.where { $0.packages.where { $0.essential == true }.sum { $0.installedSize } > 9 },
      "SUBQUERY(packages, $x1, $x1.essential == TRUE).@sum.installedSize > 9")
    try assert(
      Section.all.where { $0.packages.where { $0.essential == true }.any { $0.name == "a" } },
      "SUBQUERY(packages, $x1, $x1.essential == TRUE AND $x1.name == 'a').@count > 0")
  }

  func testInnerClosuresMayUseOuterObjects() throws {
    try assert(
      Section.all.where { section in
        section.packages.any { package in package.name == section.name && package.tags.any { $0.name == package.name } }
      },
      "SUBQUERY(packages, $x1, $x1.name == name AND SUBQUERY($x1.tags, $x2, $x2.name == $x1.name).@count > 0).@count > 0")
    // An inner collection of the outermost object does not reuse a variable.
    try assert(
      Section.all.where { section in section.packages.any { first in section.packages.any { $0.installedSize > first.installedSize } } },
      "SUBQUERY(packages, $x1, SUBQUERY(packages, $x2, $x2.installedSize > $x1.installedSize).@count > 0).@count > 0")
  }

  func testOrderedRelationshipsHaveElements() throws {
    try assert(Chat.all.where { $0.messages.first.isUnread == true }, "messages[FIRST].isUnread == TRUE")
    try assert(Chat.all.where { $0.messages.last.sender == nil }, "messages[LAST].sender == nil")
    try assert(Chat.all.where { $0.messages[2].editCount > 0 }, "messages[2].editCount > 0")
  }

  func testEntitiesAreTestedByClass() throws {
    try assert(Message.all.where { $0.is(TextMessage.self) }, "entity == CAST('TextMessage', 'Entity')")
    try assert(
      Chat.all.where { $0.pinnedMessage.is(Message.self) },
      "pinnedMessage.entity IN %@",
      [FetchConstant.entity("Message"), .entity("PhotoMessage"), .entity("StickerMessage"), .entity("TextMessage")])
  }

  func testSubclassesHaveInheritedFields() throws {
    try assert(TextMessage.all.where { $0.text == "hi" && $0.isUnread == true }, "text == 'hi' AND isUnread == TRUE")
    XCTAssertEqual(TextMessage.all.entityName, "TextMessage")
  }

  func testTwelveConditionsInOneExpression() throws {
    let request = Package.all.where {
      $0.name == "a" && $0.version != "b" && $0.architecture.hasPrefix("c") && $0.priority == nil && $0.essential == true
        && $0.installedSize > 1 && $0.downloadSize < 2 && $0.summary.contains("d") && $0.section.name == "e" && $0.maintainer.email == "f"
        && $0.tags.count > 3
        && $0.homepage != nil
    }
    guard case .and(let items)? = request.predicate else { return XCTFail("\(String(describing: request.predicate))") }
    XCTAssertEqual(items.count, 12)
  }

  // MARK: Composition at run time

  func testConditionsAreAddedOneByOne() throws {
    try assert(Package.all.where { $0.name == "a" }.where { $0.essential == true }, "name == 'a' AND essential == TRUE")
    func packages(minimum: Int?, without names: [String]) -> FetchRequest<Package> {
      Package.all.where {
        $0.essential == false
        if let minimum { $0.installedSize >= minimum }
        for name in names { $0.name != name }
      }
    }
    try assert(packages(minimum: nil, without: []), "essential == FALSE")
    try assert(packages(minimum: 4, without: ["a", "b"]), "essential == FALSE AND installedSize >= 4 AND (name != 'a' AND name != 'b')")
  }

  func testConditionsAreValues() throws {
    let big = FetchCondition<Package> { $0.installedSize > 1000 }
    let essential = FetchCondition<Package> { $0.essential == true }
    try assert(Package.all.where(big && !essential), "installedSize > 1000 AND NOT essential == TRUE")
    try assert(Package.all.where(big || essential), "installedSize > 1000 OR essential == TRUE")
    try assert(Section.all.where { $0.packages.any { $0.matches(big) } }, "SUBQUERY(packages, $x1, $x1.installedSize > 1000).@count > 0")
    try assert(PackageRelation.all.where { $0.package.matches(big) }, "package.installedSize > 1000")
    XCTAssertEqual(try JSONDecoder().decode(FetchCondition<Package>.self, from: JSONEncoder().encode(big)), big)
    let sendable: any Sendable & Hashable = big
    XCTAssertEqual(AnyHashable(sendable), AnyHashable(big))
  }

  func testAMovedConditionKeepsItsOwnVariables() throws {
    let tagged = FetchCondition<Package> { package in package.tags.any { $0.name == package.name } }
    try assert(
      Section.all.where { $0.packages.any { $0.matches(tagged) } },
      "SUBQUERY(packages, $x1, SUBQUERY($x1.tags, $x1_, $x1_.name == $x1.name).@count > 0).@count > 0")
    let parsed = FetchCondition<Package>(try FetchPredicate(format: "TERNARY(essential == TRUE, name, tags[FIRST].name) == SELF.summary"))
    try assert(
      PackageRelation.all.where { $0.package.matches(parsed) },
      "TERNARY(package.essential == TRUE, package.name, package.tags[FIRST].name) == package.summary")
  }

  func testFunctionsMayBeGenericOverSubclasses() throws {
    func unread<Kind: Message>(_ request: FetchRequest<Kind>) -> FetchRequest<Kind> { request.where { $0.isUnread == true } }
    try assert(unread(TextMessage.all), "isUnread == TRUE")
  }

  func testFunctionsMayReturnReusableFields() throws {
    func total<Reach>(_ package: FetchObject<Package, Reach>) -> FetchField<Int64, Int64?> { package.installedSize + package.downloadSize }
    try assert(Package.all.where { total($0) > 5 }, "installedSize + downloadSize > 5")
    try assert(PackageRelation.all.where { total($0.package) > 5 }, "package.installedSize + package.downloadSize > 5")
    XCTAssertEqual(
      Package.all.sorted { total($0).descending }.sortDescriptors,
      [FetchSortDescriptor(expression: try FetchExpression(format: "installedSize + downloadSize"), ascending: false)])
  }

  func testOrders() throws {
    let request = Package.all.sorted { $0.section.name }.sorted { ($0.name.ordered(.localizedStandard).descending, $0.tags.count) }
    XCTAssertEqual(
      request.sortDescriptors,
      [
        FetchSortDescriptor("section.name"), FetchSortDescriptor("name", ascending: false, comparison: .localizedStandard),
        FetchSortDescriptor("tags.@count"),
      ])
    XCTAssertEqual(
      Package.all.sorted { $0.name.count.descending }.sortDescriptors,
      [FetchSortDescriptor(expression: try FetchExpression(format: "length(name)"), ascending: false)])
    let swedish = Locale(identifier: "sv_SE")
    XCTAssertEqual(
      Package.all.sorted { $0.name.ordered(.localized, locale: swedish).descending }.sortDescriptors,
      Package.all.sorted(by: "name", ascending: false, comparison: .localized, locale: swedish).sortDescriptors)
    XCTAssertEqual(Package.all.limit(5).offset(2).fetchLimit, 5)
  }

  // MARK: Results

  func testTypedQueriesAreEvaluatedInMemory() async throws { try await answer(PersistentStoreDescription(type: .inMemory)) }

  func testTypedQueriesAreEvaluatedByTheEncryptedStore() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("TypedQueries-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let key = StoreKey.raw(SecretBytes(Array(repeating: 7, count: 32)))
    try await answer(PersistentStoreDescription(url: folder.appendingPathComponent("archive.store"), key: key))
  }

  private func answer(_ description: PersistentStoreDescription) async throws {
    let container = try DebianArchiveModel.makeContainer(persistentStoreDescriptions: [description])
    try await container.loadPersistentStores()
    let context = container.newBackgroundContext()
    let sections = ["games", "devel"].map { name in
      let section = Section(context: context)
      section.name = name
      return section
    }
    let tag = Tag(context: context)
    tag.name = "role::program"
    for (number, name) in ["chess", "go", "swift", "zig"].enumerated() {
      let package = Package(context: context)
      (package.name, package.version, package.architecture) = (name, "1", "amd64")
      package.section = sections[number / 2]
      package.installedSize = Int64(number) * 100
      if number % 2 == 0 { package.addToTags(tag) }
    }
    let loose = Package(context: context)
    (loose.name, loose.version, loose.architecture) = ("loose", "1", "all")
    try context.save()

    func names(_ request: FetchRequest<Package>) throws -> [String] { try context.fetch(request.sorted { $0.name }).map(\.name) }
    XCTAssertEqual(try names(Package.all.where { $0.section.name == "games" }), ["chess", "go"])
    XCTAssertEqual(try names(Package.all.where { $0.section.name != "games" }), ["loose", "swift", "zig"])
    XCTAssertEqual(try names(Package.all.where { $0.section == sections[1] && $0.tags.contains(tag) }), ["swift"])
    XCTAssertEqual(try names(Package.all.where { $0.section == sections[1].objectID }), ["swift", "zig"])
    XCTAssertEqual(try names(Package.all.where { $0.section.isIn(sections) && $0.section != sections[0] }), ["swift", "zig"])
    XCTAssertEqual(try names(Package.all.where { [sections[1]].contains($0.section) }), ["swift", "zig"])
    XCTAssertEqual(try names(Package.all.where { $0.section == nil }), ["loose"])
    XCTAssertEqual(try names(Package.all.where { $0 == loose }), ["loose"])
    XCTAssertEqual(try names(Package.all.where { $0.isIn([loose.objectID]) }), ["loose"])
    XCTAssertEqual(try names(Package.all.where { $0.section.packages.contains($0) && $0.tags.isEmpty }), ["go", "zig"])
    XCTAssertEqual(try names(Package.all.where { $0.tags.where { $0.name.hasPrefix("role") }.contains(tag) }), ["chess", "swift"])
    let totals = try context.fetch(Section.all.where { $0.packages.sum { $0.installedSize } > 100 })
    XCTAssertEqual(totals.map(\.name), ["devel"])
    XCTAssertEqual(try context.count(for: Package.all.where { $0.installedSize > 0 }.limit(2)), 2)
    XCTAssertEqual(
      try names(Package.all.where { $0.tags.all { $0.packages.count == 2 } && $0.installedSize % 200 == 0 }), ["chess", "swift"])
    XCTAssertEqual(try names(Package.all.where { ($0.section.name ?? $0.version) == "1" }), ["loose"])
    XCTAssertEqual(
      try names(Package.all.where { package in package.section.packages.any { $0.installedSize > package.installedSize } }),
      ["chess", "swift"])
    let sums: [(String?, Int64, Int)] = try context.fetch(
      Package.all.select { ($0.section.name, $0.installedSize.sum, $0.objectCount) }.having { $0.objectCount > 1 }.sorted {
        $0.installedSize.sum
      })
    XCTAssertEqual(sums.map(\.1), [100, 500])
    XCTAssertEqual(try context.count(for: Package.all.select { ($0.section.name, $0.objectCount) }), 3)
  }

  func testConditionsAreEvaluatedForObjectsInMemory() async throws {
    let container = try DebianArchiveModel.makeContainer(persistentStoreDescriptions: [PersistentStoreDescription(type: .inMemory)])
    try await container.loadPersistentStores()
    let context = container.newBackgroundContext()
    let package = Package(context: context)
    package.name = "swift"
    let tagged = FetchCondition<Package> { $0.name.hasPrefix("sw") && $0.tags.any { $0.name == "x" } }
    XCTAssertFalse(try tagged.evaluate(with: package))
    let tag = Tag(context: context)
    tag.name = "x"
    package.addToTags(tag)
    XCTAssertTrue(try tagged.evaluate(with: package))
    XCTAssertThrowsError(try FetchPredicate(format: "nothing == 1").evaluate(with: package)) { XCTAssertTrue($0 is FetchPredicateError) }
  }

  func testSumsOfComputedValuesAreThrownByTheFetch() async throws {
    let container = try DebianArchiveModel.makeContainer(persistentStoreDescriptions: [PersistentStoreDescription(type: .inMemory)])
    try await container.loadPersistentStores()
    let context = container.newBackgroundContext()
    XCTAssertThrowsError(try context.fetch(Section.all.where { $0.packages.sum { $0.installedSize * 2 } > 4 })) { error in
      XCTAssertTrue("\(error)".contains("@sum of a computed value"), "\(error)")
    }
  }
}

import CipherData
import Foundation
import XCTest

/// Selections return tuples of the model's types.
final class TypedSelectionTests: XCTestCase {
  private func context() async throws -> (PersistentContainer, ManagedObjectContext) {
    let container = try DebianArchiveModel.makeContainer(persistentStoreDescriptions: [PersistentStoreDescription(type: .inMemory)])
    try await container.loadPersistentStores()
    let context = container.newBackgroundContext()
    for name in ["devel", "games"] {
      let section = Section(context: context)
      section.name = name
      for number in 1...3 {
        let package = Package(context: context)
        (package.name, package.version, package.architecture, package.section) = ("\(name)\(number)", "1", "all", section)
        package.installedSize = number == 3 ? nil : Int64(number * (name == "games" ? 100 : 10))
      }
    }
    let loose = Package(context: context)
    (loose.name, loose.version, loose.architecture, loose.essential) = ("loose", "2", "all", true)
    try context.save()
    return (container, context)
  }

  func testValuesHaveTheTypesOfTheModel() async throws {
    let (container, context) = try await context()
    let rows: [(String, String?, Int64?, Bool)] = try context.fetch(
      Package.all.where { $0.installedSize != 20 }.sorted { $0.name }.limit(3).select {
        ($0.name, $0.section.name, $0.installedSize, $0.essential)
      })
    XCTAssertEqual(rows.map(\.0), ["devel1", "devel3", "games1"])
    XCTAssertEqual(rows.map(\.1), ["devel", "devel", "games"])
    XCTAssertEqual(rows.map(\.2), [10, nil, 100])
    XCTAssertEqual(rows.map(\.3), [false, false, false])
    let names: [String] = try context.fetch(Section.all.select { $0.name }.sorted { $0.name.descending })
    XCTAssertEqual(names, ["games", "devel"])
    let missing: [String?] = try context.fetch(Package.all.where { $0.essential == true }.select { $0.section.name })
    XCTAssertEqual(missing, [nil])
    withExtendedLifetime(container) {}
  }

  func testObjectsAreSelectedAsTheirIDs() async throws {
    let (container, context) = try await context()
    let rows: [(ManagedObjectID, ManagedObjectID?)] = try context.fetch(
      Package.all.where { $0.name.isIn(["loose", "games1"]) }.sorted { $0.name }.select { ($0, $0.section) })
    let package = try XCTUnwrap(context.existingObject(with: rows[0].0) as? Package)
    XCTAssertEqual(package.section?.objectID, rows[0].1)
    XCTAssertNil(rows[1].1)
    withExtendedLifetime(container) {}
  }

  func testComputedValues() async throws {
    let (container, context) = try await context()
    let rows: [(String, Int?, Int64?, Double?, Int64)] = try context.fetch(
      Package.all.where { $0.section.name == "games" }.sorted { $0.name }
        .select {
          ($0.name.uppercased(), $0.name.count, $0.installedSize * 2, ($0.installedSize * 0.5).as(Double.self), $0.installedSize ?? -1)
        })
    XCTAssertEqual(rows.map(\.0), ["GAMES1", "GAMES2", "GAMES3"])
    XCTAssertEqual(rows.map(\.1), [6, 6, 6])
    XCTAssertEqual(rows.map(\.2), [200, 400, nil])
    XCTAssertEqual(rows.map(\.3), [50, 100, nil])
    XCTAssertEqual(rows.map(\.4), [100, 200, -1])
    XCTAssertThrowsError(try context.fetch(Package.all.select { $0.installedSize * 0.55 })) {
      XCTAssertEqual(($0 as? FetchSelectionError)?.valueType, "Double", "\($0)")
    }
    withExtendedLifetime(container) {}
  }

  func testAggregatesGroupByTheOtherValues() async throws {
    let (container, context) = try await context()
    let rows: [(String?, Int, Int64, Int64?, Double?, Int)] = try context.fetch(
      Package.all.select {
        (
          $0.section.name, $0.objectCount, $0.installedSize.sum, $0.installedSize.maximum, $0.installedSize.average,
          $0.version.distinctCount
        )
      }
      .sorted { $0.section.name })
    XCTAssertEqual(rows.map(\.0), [nil, "devel", "games"])
    XCTAssertEqual(rows.map(\.1), [1, 3, 3])
    XCTAssertEqual(rows.map(\.2), [0, 30, 300])
    XCTAssertEqual(rows.map(\.3), [nil, 20, 200])
    XCTAssertEqual(rows.map(\.4), [nil, 15, 150])
    XCTAssertEqual(rows.map(\.5), [1, 1, 1])
    withExtendedLifetime(container) {}
  }

  func testGroupsAreFilteredOrderedAndCounted() async throws {
    let (container, context) = try await context()
    let selection = Package.all.select { ($0.section.name, $0.installedSize.sum) }
    let big: [(String?, Int64)] = try context.fetch(
      selection.having { $0.installedSize.sum > 10 }.sorted { $0.installedSize.sum.descending })
    XCTAssertEqual(big.map(\.0), ["games", "devel"])
    XCTAssertEqual(try context.fetch(selection.sorted { $0.section.name }.offset(1).limit(1)).map(\.0), ["devel"])
    let counts: [Int] = try context.fetch(Package.all.select { $0.objectCount }.grouped { $0.section }.sorted { $0.objectCount })
    XCTAssertEqual(counts, [1, 3, 3])
    let total: [(Int64, Int, Double?)] = try context.fetch(
      Package.all.select { ($0.installedSize.sum, $0.installedSize.valueCount, $0.installedSize.median) })
    XCTAssertEqual(total.map(\.0), [330])
    XCTAssertEqual(total.map(\.1), [4])
    XCTAssertEqual(total.map(\.2), [60])
    XCTAssertEqual(try context.fetch(Package.all.select { $0.architecture }.distinct()), ["all"])
    withExtendedLifetime(container) {}
  }

  func testAveragesOfDecimalsAreDecimalsAsInTheFormatLanguage() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("TypedSelectionTests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = PersistentStoreDescription(
      url: folder.appendingPathComponent("test.store"), key: .databaseKey(SecretBytes([UInt8](repeating: 5, count: 32))))
    for description in [PersistentStoreDescription(type: .inMemory), file] {
      let container = try MessengerModel.makeContainer(persistentStoreDescriptions: [description])
      try await container.loadPersistentStores()
      let context = container.newBackgroundContext()
      let chat = Chat(context: context)
      (chat.identifier, chat.unreadCount, chat.colorIndex) = (UUID(), 3, 2)
      let balances = try ["0.1", "0.2", "1000.0000000000000000000000001", "0.3"].map { try XCTUnwrap(Decimal(string: $0)) }
      for (number, balance) in balances.enumerated() {
        let account = Account(context: context)
        (account.identifier, account.displayName, account.balance) = (UUID(), number < 2 ? "a" : "b", balance)
        let participant = Participant(context: context)
        (participant.account, participant.chat) = (account, chat)
      }
      try context.save()
      let mean = try XCTUnwrap(Decimal(string: "250.150000000000000000000000025"))
      let median = try XCTUnwrap(Decimal(string: "0.25"))
      let all: [(Decimal?, Decimal?, Decimal, Decimal?, Decimal?)] = try context.fetch(
        Account.all.select { ($0.balance.average, $0.balance.median, $0.balance.sum, $0.balance.minimum, $0.balance.maximum) })
      XCTAssertEqual(all.map(\.0), [mean])
      XCTAssertEqual(all.map(\.1), [median])
      XCTAssertEqual(all.map(\.2), [balances.reduce(0, +)])
      XCTAssertEqual(all.map(\.3), [balances[0]])
      XCTAssertEqual(all.map(\.4), [balances[2]])
      var request = FetchRequest<[String: Any]>(entityName: "Account")
      request.propertiesToFetch = try FetchProperty.list(format: "average(balance) AS a, median(balance) AS m")
      XCTAssertEqual(try context.fetch(request).map { $0["a"] as? Decimal }, [mean])
      XCTAssertEqual(try context.fetch(request).map { $0["m"] as? Decimal }, [median])
      let groups: [(String, Decimal?)] = try context.fetch(
        Account.all.select { ($0.displayName, $0.balance.average) }.grouped { $0.displayName }.sorted { $0.displayName })
      XCTAssertEqual(groups.map(\.0), ["a", "b"])
      XCTAssertEqual(groups.map(\.1), [Decimal(string: "0.15"), Decimal(string: "500.15000000000000000000000005")])
      let none: [Decimal?] = try context.fetch(Account.all.where { $0.balance > 5_000 }.select { $0.balance.average })
      XCTAssertEqual(none, [nil])
      let members: [Decimal?] = try context.fetch(Chat.all.select { $0.participants.average { $0.account.balance } })
      XCTAssertEqual(members, [mean])
      // Averages of other numbers are `Double` values.
      let others: [(Double?, Double?, Double?)] = try context.fetch(
        Chat.all.select { ($0.unreadCount.average, $0.colorIndex.median, $0.position.average) })
      XCTAssertEqual(others.map(\.0), [3])
      XCTAssertEqual(others.map(\.1), [2])
      XCTAssertEqual(others.map(\.2), [0])
      try container.close()
    }
  }

  func testSelectionsEqualDictionaryRequestsOfTheFormatLanguage() throws {
    let selection = Package.all.where { $0.essential == true }.select { ($0.section.name, $0.objectCount, $0.version.distinctCount) }
    var expected = FetchSpecification(entityName: "Package", predicate: .compare("essential", .equal, true))
    expected.resultType = .dictionaries
    expected.propertiesToFetch = try FetchProperty.list(
      format: "section.name AS value1, count(*) AS value2, count(distinct version) AS value3")
    expected.propertiesToGroupBy = try FetchProperty.list(format: "section.name AS key1")
    XCTAssertEqual(selection.specification, expected)
  }
}

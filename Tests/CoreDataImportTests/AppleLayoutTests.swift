import CoreDataImport
import Foundation
import ObjectModel
import ObjectStore
import XCTest
import _CoreDataFixture
import _StoreSpecification

/// Reading Core Data's own layout. A fixture program writes the files; none was made by Apple's software. Some names follow public schemas.
final class AppleLayoutTests: XCTestCase {
  private typealias Build = SpecificationModels

  func testValuesOfEveryTypeAreReadAsWritten() async throws {
    let model = Build.types
    let entity = try XCTUnwrap(model.entity(named: "Sample"))
    var graph = FixtureGraph(model)
    let values: [AttributeType: [Slot]] = [
      .integer16: [.int(-32_768), .int(32_767)], .integer32: [.int(.init(Int32.min)), .int(0)], .integer64: [.int(.min), .int(.max)],
      .boolean: [.int(0), .int(1)], .double: [.real(0.1), .real(-1e300)], .float: [.real(Double(Float(0.1))), .real(3)],
      .date: [.real(700_000_000), .real(-0.25)], .decimal: [Slot(Decimal(string: "12.34") ?? 0), Slot(Decimal(-7))],
      .string: [.text(""), .text("日本 é\u{0}z")], .uri: [.text("https://example.org/é"), .text("x:y")],
      .uuid: [Slot(UUID()), Slot(UUID())], .binary: [.bytes(Data()), .bytes(Data([1, 2, 0]))],
      .transformable: [.bytes(Data("bplist00".utf8)), .bytes(Data([0]))],
    ]
    for row in 0..<2 {
      var object = FixtureObject("Sample", Int64(row + 1))
      for slot in entity.slots { if let type = slot.attributeType { object.values[slot.name] = values[type]?[row] } }
      XCTAssertEqual(object.values.count, entity.slots.count)
      graph.objects.append(object)
    }
    graph.objects.append(FixtureObject("Sample", 9))
    let harness = try ImportHarness(model)
    try AppleFixtureWriter(graph).write(to: harness.source).close()
    let report = try await harness.importAll()
    try await harness.assertHolds(graph)
    XCTAssertEqual(report.notes.map(\.propertyName), ["aTransformable"], "\(report.notes)")
    XCTAssertEqual(report.notes.first?.count, 2)
  }

  func testDecimalsAreReadAsStoredBySQLite() async throws {
    let model = try Build.compiled([Build.entity("Coin", [Build.attribute("value", .decimal)])])
    let harness = try ImportHarness(model)
    let database = try AppleFixtureWriter(FixtureGraph(model)).write(to: harness.source)
    // As text, a DECIMAL column keeps 15 digits exactly.
    let texts = ["0.1", "-19.99", "100", "1E+3", "123456789012345", "0.000001"]
    for (position, text) in texts.enumerated() {
      try database.run("INSERT INTO ZCOIN (Z_PK, Z_ENT, Z_OPT, ZVALUE) VALUES (?, 1, 1, ?)", [.int(Int64(position + 1)), .text(text)])
    }
    database.close()
    try await harness.importAll()
    var graph = FixtureGraph(model)
    for (position, text) in texts.enumerated() {
      let decimal = try XCTUnwrap(Decimal(string: text))
      graph.objects.append(FixtureObject("Coin", Int64(position + 1), ["value": Slot(decimal)]))
    }
    try await harness.assertHolds(graph)
  }

  func testNonzeroNumbersAreTrue() async throws {
    let model = try Build.compiled([Build.entity("Flag", [Build.attribute("isSet", .boolean)])])
    let harness = try ImportHarness(model)
    let database = try AppleFixtureWriter(FixtureGraph(model)).write(to: harness.source)
    try database.run("INSERT INTO ZFLAG (Z_PK, Z_ENT, Z_OPT, ZISSET) VALUES (1, 1, 1, -1), (2, 1, 1, 0), (3, 1, 1, 2)")
    database.close()
    try await harness.importAll()
    try await harness.assertHolds(
      FixtureGraph(model, [1, 0, 1].enumerated().map { FixtureObject("Flag", Int64($0.offset + 1), ["isSet": .int($0.element)]) }))
  }

  func testSubentitiesShareATableAndPropertiesOfTheSameNameAreDistinguished() async throws {
    // Photo.title is text, Video.title a number: two columns, ZTITLE and ZTITLE1.
    let graph = FixtureGraph(
      Build.assets,
      [
        FixtureObject(
          "Photo", 1, ["name": .text("a"), "title": .text("sunset"), "width": .int(3)], toMany: ["posterOf": [2], "notes": [4]]),
        FixtureObject("Letter", 2, ["pages": .int(1), "recipient": .text("you")]),
        FixtureObject(
          "Clip", 3, ["title": .int(7), "seconds": .real(1.5), "start": .int(2)], toOne: ["poster": 0], toMany: ["notes": [5]]),
        FixtureObject("Video", 4, ["title": .int(8)]),
        FixtureObject("Note", 1, ["body": .text("x")], toOne: ["asset": 0], toMany: ["assets": [1, 2]]),
        FixtureObject("Note", 2, [:], toOne: ["asset": 2]),
      ])
    let harness = try ImportHarness(graph.model)
    try AppleFixtureWriter(graph).write(to: harness.source).close()
    let report = try await harness.importAll()
    try await harness.assertHolds(graph)
    XCTAssertEqual(report.entities.map(\.entityName), ["Clip", "Letter", "Note", "Photo", "Video"])
    XCTAssertEqual(report.entities.map(\.count), [1, 1, 2, 1, 1])
    XCTAssertEqual(report.linkCount, 2)
  }

  func testPropertiesOfTheSameNameWithSwappedColumnsAreRejected() async throws {
    let model = try Build.compiled([
      Build.entity("Base", [Build.integer("rank")]), Build.entity("A", [Build.text("label")], parent: "Base"),
      Build.entity("B", [Build.text("label")], parent: "Base"),
    ])
    let harness = try ImportHarness(model)
    let writer = AppleFixtureWriter(FixtureGraph(model, [FixtureObject("A", 1, ["label": .text("mine")])]))
    let database = try writer.write(to: harness.source)
    // The columns can also be numbered the other way around.
    try database.run("UPDATE ZBASE SET ZLABEL1 = ZLABEL, ZLABEL = NULL")
    database.close()
    let error = await assertImportFails(.ambiguousColumns) { try await harness.importAll() }
    XCTAssertEqual(error?.propertyName, "label")
    XCTAssertFalse(FileManager.default.fileExists(atPath: harness.target.path))
  }

  /// The schema of macOS's address book, as public programs that read it show it: a subentity's to-one relationship repeats the entity of
  /// its destination (Z22_OWNER), and two relationships with the same name and destination entity have separate columns
  /// (Z_19PARENTGROUPS1).
  func testNamesOfAPublicSchemaAreMapped() async throws {
    let model = try Build.compiled([
      Build.entity("ABCDEmailAddress", [Build.text("address"), Build.toOne("owner", "ABCDContact", "emailAddresses")]),
      Build.entity("ABCDRecord", [Build.text("uniqueID")]),
      Build.entity(
        "ABCDAbstractGroup", [Build.text("name"), Build.toMany("parentGroups", "ABCDGroup", "childGroups")], parent: "ABCDRecord"),
      Build.entity(
        "ABCDGroup",
        [Build.toMany("childGroups", "ABCDAbstractGroup", "parentGroups"), Build.toMany("contacts", "ABCDContact", "parentGroups")],
        parent: "ABCDAbstractGroup"),
      Build.entity("ABCDSmartGroup", [], parent: "ABCDAbstractGroup"),
      Build.entity(
        "ABCDContact",
        [
          Build.text("firstName"), Build.toMany("parentGroups", "ABCDGroup", "contacts"),
          Build.toMany("emailAddresses", "ABCDEmailAddress", "owner"),
        ], parent: "ABCDRecord"),
      Build.entity("ABCDSubscribedContact", [], parent: "ABCDContact"),
      Build.entity("CNCDContainer", [Build.text("name")], parent: "ABCDRecord"),
    ])
    let harness = try ImportHarness(model)
    let database = try FixtureDatabase(harness.source)
    try database.run(
      """
      CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      INSERT INTO Z_PRIMARYKEY VALUES (11, 'ABCDEmailAddress', 0, 1), (17, 'ABCDRecord', 0, 5), (18, 'ABCDAbstractGroup', 17, 0),
        (19, 'ABCDGroup', 18, 0), (21, 'ABCDSmartGroup', 18, 0), (22, 'ABCDContact', 17, 0), (23, 'ABCDSubscribedContact', 22, 0),
        (25, 'CNCDContainer', 17, 0);
      CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE ZABCDRECORD (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZUNIQUEID VARCHAR, ZNAME VARCHAR, ZFIRSTNAME VARCHAR,
        ZNAME1 VARCHAR);
      CREATE TABLE ZABCDEMAILADDRESS (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZOWNER INTEGER, Z22_OWNER INTEGER,
        ZADDRESS VARCHAR);
      CREATE TABLE Z_22PARENTGROUPS (Z_22CONTACTS INTEGER, Z_19PARENTGROUPS1 INTEGER, PRIMARY KEY (Z_22CONTACTS, Z_19PARENTGROUPS1));
      CREATE TABLE Z_18PARENTGROUPS (Z_18CHILDGROUPS INTEGER, Z_19PARENTGROUPS INTEGER, PRIMARY KEY (Z_18CHILDGROUPS, Z_19PARENTGROUPS));
      INSERT INTO ZABCDRECORD VALUES (1, 25, 1, 'c', NULL, NULL, 'container'), (2, 19, 1, 'g', 'Friends', NULL, NULL),
        (3, 21, 1, 's', 'Recent', NULL, NULL), (4, 22, 1, 'p', NULL, 'Grace', NULL), (5, 23, 1, 'q', NULL, 'Alan', NULL);
      INSERT INTO ZABCDEMAILADDRESS VALUES (1, 11, 1, 5, 23, 'alan@example.com');
      INSERT INTO Z_22PARENTGROUPS VALUES (4, 2), (5, 2);
      INSERT INTO Z_18PARENTGROUPS VALUES (3, 2);
      """)
    database.close()
    try await harness.importAll()
    try await harness.assertHolds(
      FixtureGraph(
        model,
        [
          FixtureObject("CNCDContainer", 1, ["uniqueID": .text("c"), "name": .text("container")]),
          FixtureObject(
            "ABCDGroup", 2, ["uniqueID": .text("g"), "name": .text("Friends")], toMany: ["childGroups": [2], "contacts": [3, 4]]),
          FixtureObject("ABCDSmartGroup", 3, ["uniqueID": .text("s"), "name": .text("Recent")], toMany: ["parentGroups": [1]]),
          FixtureObject("ABCDContact", 4, ["uniqueID": .text("p"), "firstName": .text("Grace")], toMany: ["parentGroups": [1]]),
          FixtureObject(
            "ABCDSubscribedContact", 5, ["uniqueID": .text("q"), "firstName": .text("Alan")],
            toMany: ["parentGroups": [1], "emailAddresses": [5]]),
          FixtureObject("ABCDEmailAddress", 1, ["address": .text("alan@example.com")], toOne: ["owner": 4]),
        ]))
  }

  func testOneToOneAndReflexiveRelationshipsAreImported() async throws {
    let graph = FixtureGraph(
      Build.library,
      [
        FixtureObject("Author", 1, ["name": .text("Ada")], toOne: ["spouse": 1], toMany: ["friends": [1, 2], "pupils": [2]]),
        FixtureObject("Author", 3, ["name": .text("Ben")], toOne: ["spouse": 0], toMany: ["friends": [0]]),
        FixtureObject("Author", 40, ["name": .text("Cleo")], toOne: ["mentor": 0], toMany: ["friends": [0, 2]]),
      ])
    let harness = try ImportHarness(graph.model)
    try AppleFixtureWriter(graph).write(to: harness.source).close()
    try await harness.importAll()
    try await harness.assertHolds(graph)
  }

  func testToManyMembersAreReadFromTheInverse() async throws {
    let chat = Build.entity("Chat", [Build.text("name"), Build.toMany("messages", "Message", "chat")])
    let message = Build.entity("Message", [Build.text("name"), Build.toOne("chat", "Chat", "messages")])
    let objects = [
      FixtureObject("Chat", 1, ["name": .text("c")], toMany: ["messages": [2]]), FixtureObject("Chat", 2, ["name": .text("d")]),
      FixtureObject("Message", 1, ["name": .text("m")], toOne: ["chat": 0]), FixtureObject("Message", 2, ["name": .text("n")]),
    ]
    // The same file under a model that names the inverse twice: Core Data has no second column for it.
    var other = chat
    other.properties.append(Build.toMany("pinned", "Message", "chat"))
    let harness = try ImportHarness(try Build.compiled([other, message]))
    try AppleFixtureWriter(FixtureGraph(try Build.compiled([chat, message]), objects)).write(to: harness.source).close()
    try await harness.importAll()
    var graph = FixtureGraph(harness.model, objects)
    graph.objects[0].toMany["pinned"] = [2]
    try await harness.assertHolds(graph)
  }

  func testOneWayLinksCountForBothDirections() async throws {
    let graph = FixtureGraph(
      Build.library,
      [FixtureObject("Author", 1, toMany: ["friends": [1]]), FixtureObject("Author", 2, toMany: ["friends": [0]])])
    let harness = try ImportHarness(graph.model)
    let database = try AppleFixtureWriter(graph).write(to: harness.source)
    try database.run("DELETE FROM Z_1FRIENDS WHERE REFLEXIVE = 1")
    database.close()
    try await harness.importAll()
    try await harness.assertHolds(graph)
  }

  func testOrderedRelationshipsOfBothKindsKeepTheirOrder() async throws {
    var graph = FixtureGraph(Build.library)
    graph.objects = [FixtureObject("Book", 5, ["title": .text("b")]), FixtureObject("Book", 6), FixtureObject("Book", 2)]
    for key in 1...4 {
      graph.objects.append(FixtureObject("Chapter", Int64(key), ["pages": .int(Int64(key))], toOne: ["book": 0]))
    }
    graph.objects[0].toMany["chapters"] = [5, 3, 6, 4]
    graph.objects.append(
      FixtureObject("Shelf", 1, ["name": .text("s")], toOne: ["first": 2], toMany: ["books": [2, 0, 1], "hidden": [1]]))
    graph.objects.append(FixtureObject("Shelf", 2, toMany: ["books": [0]]))
    graph.objects[0].toMany["shelves"] = [8, 7]
    graph.objects[1].toMany["shelves"] = [7]
    graph.objects[2].toMany["shelves"] = [7]
    let harness = try ImportHarness(graph.model)
    try AppleFixtureWriter(graph).write(to: harness.source).close()
    try await harness.importAll()
    try await harness.assertHolds(graph)
  }

  func testCompositesAreReadPartByPart() async throws {
    var model = ManagedObjectModel(entities: [
      EntityDescription(
        name: "Person",
        properties: [
          .attribute(
            {
              var home = AttributeDescription(name: "home", type: .composite, isOptional: true)
              home.compositeName = "Address"
              return home
            }())
        ])
    ])
    model.composites = [
      CompositeDescription(
        name: "Address",
        elements: [
          AttributeDescription(name: "city", type: .string, isOptional: true),
          AttributeDescription(name: "number", type: .integer32, isOptional: true),
        ])
    ]
    let graph = FixtureGraph(
      try CompiledModel(model),
      [FixtureObject("Person", 1, ["home.city": .text("Ulm"), "home.number": .int(3)]), FixtureObject("Person", 2)])
    let harness = try ImportHarness(graph.model)
    try AppleFixtureWriter(graph).write(to: harness.source).close()
    try await harness.importAll()
    try await harness.assertHolds(graph)
  }

  func testColumnsMayBeInAnyOrderAndAddedLater() async throws {
    let model = try Build.compiled([Build.entity("Item", [Build.text("name"), Build.integer("rank"), Build.attribute("made", .date)])])
    let harness = try ImportHarness(model)
    let database = try FixtureDatabase(harness.source)
    // As after migrations in place: columns at the end, and an unused one without values.
    try database.run(
      """
      CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      INSERT INTO Z_PRIMARYKEY VALUES (7, 'Item', 0, 2);
      CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE ZITEM (Z_OPT INTEGER, ZOLD VARCHAR, Z_PK INTEGER PRIMARY KEY, ZNAME VARCHAR, Z_ENT INTEGER);
      INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 7, 1, 'first');
      ALTER TABLE ZITEM ADD COLUMN ZMADE TIMESTAMP;
      ALTER TABLE ZITEM ADD COLUMN ZRANK INTEGER;
      INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZNAME, ZMADE, ZRANK) VALUES (2, 7, 1, 'second', 5, 9);
      """)
    database.close()
    try await harness.importAll()
    try await harness.assertHolds(
      FixtureGraph(
        model,
        [
          FixtureObject("Item", 1, ["name": .text("first")]),
          FixtureObject("Item", 2, ["name": .text("second"), "made": .real(5), "rank": .int(9)]),
        ]))
  }
}

import CipherDataToolKit
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import StoreKeys
import XCTest

/// Import of JSON lines for any model: lookup by key, nesting, invalid lines, names.
final class JSONImportTests: XCTestCase {
  /// Every attribute type, an optional self reference, a required reference in a cycle, an ordered many-to-many relationship.
  private func model() throws -> ManagedObjectModel {
    func attribute(_ name: String, _ type: AttributeType, optional: Bool = true) -> PropertyDescription {
      .attribute(AttributeDescription(name: name, type: type, isOptional: optional))
    }
    func relationship(_ name: String, _ destination: String, inverse: String?, toMany: Bool = false, ordered: Bool = false)
      -> PropertyDescription
    {
      .relationship(RelationshipDescription(name: name, destination: destination, inverse: inverse, isToMany: toMany, isOrdered: ordered))
    }
    var person = EntityDescription(
      name: "Person",
      properties: [
        attribute("number", .integer32, optional: false), attribute("small", .integer16), attribute("large", .integer64),
        attribute("price", .decimal), attribute("ratio", .double), attribute("share", .float), attribute("name", .string),
        attribute("active", .boolean),
        attribute("born", .date), attribute("photo", .binary), attribute("token", .uuid), attribute("site", .uri),
        relationship("boss", "Person", inverse: "reports"), relationship("reports", "Person", inverse: "boss", toMany: true),
        relationship("playlists", "Playlist", inverse: "people", toMany: true),
        relationship("notes", "Note", inverse: "about", toMany: true),
      ])
    person.uniquenessConstraints = [["number"]]
    var playlist = EntityDescription(
      name: "Playlist",
      properties: [attribute("title", .string), relationship("people", "Person", inverse: "playlists", toMany: true, ordered: true)])
    playlist.uniquenessConstraints = [["title"]]
    let note = EntityDescription(
      name: "Note",
      properties: [
        attribute("text", .string), relationship("about", "Person", inverse: "notes"), relationship("next", "Note", inverse: "previous"),
        relationship("previous", "Note", inverse: "next"),
      ])
    return ManagedObjectModel(entities: [person, playlist, note])
  }

  private static let lines = #"""
    {"$entity":"Person","number":1,"small":-32768,"large":9223372036854775807,"price":"12345678901234567890.123456789","ratio":0.1,"share":0.1,"name":"Ada \"é\" 漢","active":true,"born":"1815-12-10T00:00:00.25Z","photo":"AAEC","token":"6BA7B810-9DAD-11D1-80B4-00C04FD430C8","site":"https://example.org/ä"}

    {"$entity":"Person","number":2,"boss":{"number":1},"price":1.50,"photo":"hex:ff00","playlists":[{"title":"b"},{"title":"a"}]}
    {"$entity":"Person","number":3,"boss":{"number":3}}
    {"$entity":"Playlist","title":"a","people":[{"number":3},{"number":1},{"number":2}]}
    {"$entity":"Note","$id":"first","text":"one","about":{"number":1}}
    {"$entity":"Note","$id":"second","text":"two","previous":{"$ref":"first"}}
    {"$entity":"Note","text":"three","previous":{"$ref":"second"}}

    """#

  func testValuesOfEveryTypeAreImportedAndExported() async throws {
    let context = try await TestStack.context(model())
    let outcome = try TestStack.importLines(Self.lines, into: context)
    XCTAssertEqual(outcome.summary.records, 7)
    XCTAssertEqual(outcome.summary.inserted, 8)
    let first = try XCTUnwrap(TestStack.export(context, entity: "Person").split(separator: "\n").first)
    XCTAssertEqual(
      String(first),
      #"{"$entity":"Person","number":1,"small":-32768,"large":9223372036854775807,"price":"12345678901234567890.123456789","ratio":0.1,"share":0.1,"#
        + #""name":"Ada \"é\" 漢","active":true,"born":"1815-12-10T00:00:00.25Z","photo":"AAEC","token":"6BA7B810-9DAD-11D1-80B4-00C04FD430C8","#
        + #""site":"https://example.org/%C3%A4"}"#)
  }

  func testImportOfAnExportRestoresTheGraph() async throws {
    let context = try await TestStack.context(model())
    try TestStack.importLines(Self.lines, into: context)
    let exported = try TestStack.export(context)
    for batchSize in [1, 2, 100] {
      let copy = try await TestStack.context(model())
      try TestStack.importLines(exported, into: copy, batchSize: batchSize)
      XCTAssertEqual(try TestStack.export(copy), exported)
      let notes = try copy.fetch(
        FetchRequest<ManagedObject>(entityName: "Note", predicate: .compare("previous.previous.text", .equal, "one")))
      XCTAssertEqual(try notes.map { try $0.value(forKey: "text") as? String }, ["three"])
      let playlist = try XCTUnwrap(
        copy.fetch(FetchRequest<ManagedObject>(entityName: "Playlist", predicate: .compare("title", .equal, "a"))).first)
      let people = try XCTUnwrap(playlist.value(forKey: "people") as? [ManagedObject])
      XCTAssertEqual(try people.map { try $0.value(forKey: "number") as? Int32 }, [3, 1, 2])
    }
  }

  func testObjectsAreFoundByTheirKeyAndMembersAreReplaced() async throws {
    let context = try await TestStack.context(model())
    try TestStack.importLines(Self.lines, into: context)
    let outcome = try TestStack.importLines(
      #"{"number":2,"name":"Bo","boss":null,"playlists":[{"title":"c"}]}"#, into: context, entity: "Person")
    XCTAssertEqual([outcome.summary.inserted, outcome.summary.updated], [1, 1])
    let line = try XCTUnwrap(TestStack.export(context, entity: "Person").split(separator: "\n").dropFirst().first)
    XCTAssertTrue(line.contains(#""number":2,"price":"1.5","name":"Bo""#), String(line))
    XCTAssertFalse(line.contains("boss"))
    XCTAssertEqual(
      try context.count(
        for: FetchRequest<ManagedObject>(entityName: "Playlist", predicate: .compare("people.number", .equal, 2, modifier: .any))), 1)
  }

  func testInvalidLinesAreReportedAndNothingIsImported() async throws {
    let good = #"{"$entity":"Person","number":1}"# + "\n"
    let cases: [(line: String, entity: String?, key: String?)] = [
      (#"{"$entity":"Person","number":"1"}"#, "Person", "number"), (#"{"$entity":"Person","number":1.5}"#, "Person", "number"),
      (#"{"$entity":"Person","number":2,"small":40000}"#, "Person", "small"),
      (#"{"$entity":"Person","number":2,"born":"yesterday"}"#, "Person", "born"),
      (#"{"$entity":"Person","number":2,"born":"2023-02-29"}"#, "Person", "born"),
      (#"{"$entity":"Person","number":2,"photo":"?"}"#, "Person", "photo"),
      (#"{"$entity":"Person","number":2,"token":"x"}"#, "Person", "token"),
      (#"{"$entity":"Person","number":2,"active":"yes"}"#, "Person", "active"),
      (#"{"$entity":"Person","number":2,"price":"1.000000000000000000000000000000000000001"}"#, "Person", "price"),
      (#"{"$entity":"Person","number":2,"nothing":1}"#, "Person", "nothing"),
      (#"{"$entity":"Person","name":"no number"}"#, "Person", "number"),
      (#"{"$entity":"Person","number":2,"boss":5}"#, "Person", "boss"),
      (#"{"$entity":"Person","number":2,"playlists":{}}"#, "Person", "playlists"),
      (#"{"$entity":"Person","number":2,"playlists":[{"title":"a"},{"titel":"b"}]}"#, "Person", "playlists[1].titel"),
      (#"{"$entity":"Nobody"}"#, nil, "$entity"), (#"{"number":2}"#, nil, "$entity"), (#"[1]"#, nil, nil),
      (#"{"$entity":"Person","#, nil, nil),
      (#"{"$entity":"Note","previous":{"$ref":"none"}}"#, "Note", "$ref"), (#"{"$entity":"Note","$what":"x"}"#, "Note", "$what"),
    ]
    for batchSize in [1, 10] {
      for (line, entity, key) in cases {
        let context = try await TestStack.context(model())
        XCTAssertThrowsError(try TestStack.importLines(good + "\n" + line + "\n" + good, into: context, batchSize: batchSize), line) {
          error in
          let error = error as? InputError
          XCTAssertEqual(error?.line, 3, line)
          XCTAssertEqual(error?.entity, entity, line)
          XCTAssertEqual(error?.key, key, line)
          XCTAssertFalse(error?.description.contains("yesterday") ?? true, "an error shows no value")
        }
        XCTAssertEqual(try context.count(for: FetchRequest<ManagedObject>(entityName: "Person")), 0)
      }
    }
  }

  func testInputWithoutOneObjectPerLineIsRejectedWithTheExpectedFormat() async throws {
    for text in [
      "[\n  {\"number\": 1}\n]\n", #"[{"number": 1}]"#, "  [\n", "{\n  \"number\": 1\n}\n", "{\"number\": 1,\n\"name\": \"a\"}",
      "{\"number\":\r\n1}",
    ] {
      let context = try await TestStack.context(model())
      XCTAssertThrowsError(try TestStack.importLines(text, into: context, entity: "Person"), text) { error in
        XCTAssertEqual((error as? InputError)?.line, 1, text)
        XCTAssertTrue("\(error)".contains("Expected JSON Lines"), "\(error)")
      }
    }
    let context = try await TestStack.context(model())
    XCTAssertThrowsError(try TestStack.importLines(#"{"number": x}"#, into: context, entity: "Person")) { error in
      XCTAssertFalse("\(error)".contains("JSON Lines"), "\(error)")
    }
  }

  func testNaNIsRejectedWithThePropertyName() async throws {
    for key in ["price", "ratio", "share"] {
      for value in [#""NaN""#, #""nan""#, "NaN"] {
        let context = try await TestStack.context(model())
        let text = "{\"number\":1}\n{\"number\":2,\"\(key)\":\(value)}"
        XCTAssertThrowsError(try TestStack.importLines(text, into: context, entity: "Person"), text) { error in
          XCTAssertEqual((error as? InputError)?.line, 2, text)
          if value.hasPrefix("\"") { XCTAssertEqual((error as? InputError)?.key, key, "\(error)") }
        }
        XCTAssertEqual(try context.count(for: FetchRequest<ManagedObject>(entityName: "Person")), 0)
      }
    }
  }

  func testInvalidLinesCanBeSkipped() async throws {
    let text = (1...9).map { $0 % 3 == 0 ? #"{"number":"bad"}"# : $0 % 3 == 1 ? #"{"name":"no number"}"# : "{\"number\":\($0)}" }.joined(
      separator: "\n")
    for batchSize in [1, 4, 100] {
      let context = try await TestStack.context(model())
      let outcome = try TestStack.importLines(text, into: context, entity: "Person", skipsBadLines: true, batchSize: batchSize)
      XCTAssertEqual(outcome.skippedCount, 6)
      XCTAssertEqual(Set(outcome.skipped.map(\.line)), [1, 3, 4, 6, 7, 9])
      XCTAssertEqual(outcome.summary.inserted, 3)
      XCTAssertEqual(try context.count(for: FetchRequest<ManagedObject>(entityName: "Person")), 3)
    }
  }

  func testLargeObjectsAreSavedBeforeTheyExhaustMemory() async throws {
    let context = try await TestStack.context(model())
    // The input grows by 3 MiB per line; a batch of 1,000 lines would contain all of it.
    let photo = Data(repeating: 7, count: 9 << 18).base64EncodedString()
    let folder = try TemporaryFolder()
    let text = (1...7).map { "{\"number\":\($0),\"photo\":\"\(photo)\"}\n" }.joined()
    let source = try ByteSource(path: folder.file("lines", text).path)
    var saved: [Int] = []
    let outcome = try InputImport(format: .jsonl, entity: "Person", skipsBadLines: false).run(from: source, into: context) { _ in
      saved.append((try? context.count(for: FetchRequest<ManagedObject>(entityName: "Person"))) ?? -1)
    }
    XCTAssertEqual(saved, [0, 0, 3, 3, 3, 6, 6])
    XCTAssertEqual(outcome.summary.inserted, 7)
    XCTAssertEqual(try context.count(for: FetchRequest<ManagedObject>(entityName: "Person")), 7)
  }

  func testCanonicallyEquivalentTextsAreDifferentKeys() async throws {
    let context = try await TestStack.context(model())
    try TestStack.importLines("{\"title\":\"caf\u{E9}\"}\n{\"title\":\"cafe\u{301}\"}", into: context, entity: "Playlist")
    XCTAssertEqual(try context.count(for: FetchRequest<ManagedObject>(entityName: "Playlist")), 2)
  }

  func testTextIsReplacedByACanonicallyEquivalentOne() async throws {
    let context = try await TestStack.context(model())
    for name in ["caf\u{E9}", "cafe\u{301}"] {
      try TestStack.importLines("{\"number\":1,\"name\":\"\(name)\"}", into: context, entity: "Person")
      XCTAssertTrue(try TestStack.export(context).utf8.elementsEqual(#"{"$entity":"Person","number":1,"name":"\#(name)"}"#.utf8 + [0x0A]))
    }
  }

  func testConflictingObjectsAreInvalidLines() async throws {
    let model = ManagedObjectModel {
      Entity("Item") {
        Attribute("number", .integer64)
        Attribute("name", .string)
        Unique("number")
        Unique("name")
      }
    }
    let text = #"""
      {"number":1,"name":"a"}
      {"number":2,"name":"a"}
      {"number":3,"name":"c"}
      {"number":4,"name":"c"}
      {"number":1,"name":"d"}
      """#
    let folder = try TemporaryFolder()
    for batchSize in [1, 2, 100] {
      var description = PersistentStoreDescription(
        url: folder.url.appendingPathComponent("\(batchSize).store"), key: .passphrase("passphrase", .cheapForTests()))
      description.durability = .fast
      for description in [PersistentStoreDescription(type: .inMemory), description] {
        let coordinator = try PersistentStoreCoordinator(managedObjectModel: model)
        let store = try await coordinator.addPersistentStore(with: description)
        let context = ManagedObjectContext(coordinator: coordinator)
        XCTAssertThrowsError(try TestStack.importLines(text, into: context, entity: "Item", batchSize: batchSize)) { error in
          XCTAssertEqual((error as? InputError)?.line, 2, "\(error)")
        }
        XCTAssertEqual(try context.count(for: FetchRequest<ManagedObject>(entityName: "Item")), 0)
        let outcome = try TestStack.importLines(text, into: context, entity: "Item", skipsBadLines: true, batchSize: batchSize)
        XCTAssertEqual(outcome.skipped.map(\.line).sorted(), [2, 4])
        XCTAssertEqual(outcome.summary.records, 3)
        XCTAssertEqual(
          try TestStack.export(context),
          #"{"$entity":"Item","number":1,"name":"d"}"# + "\n" + #"{"$entity":"Item","number":3,"name":"c"}"# + "\n")
        XCTAssertTrue(context.registeredObjects.isEmpty, "nothing is kept in memory")
        try coordinator.remove(store)
      }
    }
  }
}

import Foundation
import ObjectModel
import XCTest
import _CoreDataFixture

/// `cipherdata import --from-core-data`: the built tool on stores from the fixture programs.
final class CoreDataCommandTests: XCTestCase {
  /// A model bundle with two versions, and a graph of the first.
  private func fixture() throws -> (ToolFixture, FixtureGraph) {
    let fixture = try ToolFixture()
    func text(_ name: String) -> PropertyDescription { .attribute(AttributeDescription(name: name, type: .string, isOptional: true)) }
    let first = ManagedObjectModel(entities: [
      EntityDescription(
        name: "Person",
        properties: [
          text("name"), .relationship(RelationshipDescription(name: "pets", destination: "Pet", inverse: "owner", isToMany: true)),
        ]),
      EntityDescription(
        name: "Pet",
        properties: [text("name"), .relationship(RelationshipDescription(name: "owner", destination: "Person", inverse: "pets"))]),
    ])
    var second = first
    second.entities[0].properties.append(text("email"))
    try VersionedModel(
      name: "People", versions: [.init(name: "People", model: first), .init(name: "People 2", model: second)],
      currentVersionName: "People 2"
    ).write(to: URL(fileURLWithPath: fixture.path("People.xcdatamodeld")))
    let graph = FixtureGraph(
      try CompiledModel(first),
      [
        FixtureObject("Person", 3, ["name": .text("Ada")], toMany: ["pets": [1, 2]]),
        FixtureObject("Pet", 1, ["name": .text("Rex")], toOne: ["owner": 0]),
        FixtureObject("Pet", 2, ["name": .text("Tib")], toOne: ["owner": 0]),
      ])
    return (fixture, graph)
  }

  func testStoreImportedFromTheCoreDataLayoutCanBeQueried() throws {
    let (fixture, graph) = try fixture()
    try AppleFixtureWriter(graph).write(to: URL(fileURLWithPath: fixture.path("Old.sqlite"))).close()
    let wrong = try fixture.run(["import", "test.store", "--from-core-data", "Old.sqlite", "--model", "People.xcdatamodeld"])
    XCTAssertEqual(wrong.status, 65, wrong.error)
    XCTAssertTrue(wrong.error.contains("the column ZEMAIL of ZPERSON is missing"), wrong.error)
    XCTAssertFalse(FileManager.default.fileExists(atPath: fixture.store))

    let arguments = [
      "import", "test.store", "--from-core-data", "Old.sqlite", "--model", "People.xcdatamodeld", "--model-version", "People",
    ]
    let imported = try fixture.run(arguments)
    XCTAssertEqual(imported.status, 0, imported.error)
    XCTAssertEqual(imported.output, "entity  objects\n──────  ───────\nPerson        1\nPet           2\n")
    XCTAssertTrue(imported.error.contains("3 objects and 0 links imported from Old.sqlite (Core Data)"), imported.error)
    let fetched = try fixture.run([
      "fetch", "test.store", "--entity", "Pet", "--where", "owner.name == 'Ada'", "--sort", "name", "--properties", "name", "--format",
      "csv",
    ])
    XCTAssertEqual(fetched.output, "name\r\nRex\r\nTib\r\n", fetched.error)

    // Into the existing store, in addition to its contents.
    let again = try fixture.run(arguments)
    XCTAssertEqual(again.status, 0, again.error)
    XCTAssertEqual(try fixture.run(["fetch", "test.store", "--entity", "Pet", "--count"]).output, "4\n")
  }

  func testThePassphraseOfAnEncryptedSourceComesFromAFileOrTheEnvironment() throws {
    let (fixture, graph) = try fixture()
    try EncryptedFixtureWriter(graph).write(to: URL(fileURLWithPath: fixture.path("Old.db")), passphrase: "another passphrase").close()
    let arguments = ["import", "test.store", "--from-core-data", "Old.db", "--model", "People.xcdatamodeld", "--model-version", "People"]
    XCTAssertEqual(try fixture.run(arguments).status, 77, "no passphrase, no terminal")
    XCTAssertEqual(try fixture.run(arguments, environment: ["CIPHERDATA_SOURCE_PASSPHRASE": "wrong"]).status, 77)
    let imported = try fixture.run(arguments, environment: ["CIPHERDATA_SOURCE_PASSPHRASE": "another passphrase"])
    XCTAssertEqual(imported.status, 0, imported.error)
    XCTAssertTrue(imported.error.contains("(encrypted Core Data)"), imported.error)
    let second = try fixture.run(["import", "second.store"] + arguments.dropFirst(2) + ["--source-passphrase-file", "other"])
    XCTAssertEqual(second.status, 0, second.error)
  }

  func testCommandErrorsAreReported() throws {
    let (fixture, graph) = try fixture()
    try AppleFixtureWriter(graph).write(to: URL(fileURLWithPath: fixture.path("Old.sqlite"))).close()
    for arguments in [
      ["import", "test.store", "--from-core-data", "Old.sqlite"],
      ["import", "test.store", "--model", "People.xcdatamodeld"],
      ["import", "test.store", "--from-core-data", "Old.sqlite", "--model", "People.xcdatamodeld", "--model-version", "People 9"],
      ["import", "test.store", "input", "--from-core-data", "Old.sqlite", "--model", "People.xcdatamodeld"],
    ] {
      let result = try fixture.run(arguments)
      XCTAssertEqual(result.status, 64, "\(arguments): \(result.error)")
    }
    let missing = try fixture.run(["import", "test.store", "--from-core-data", "None.sqlite", "--model", "People.xcdatamodeld"])
    XCTAssertEqual(missing.status, 66, missing.error)
  }
}

import CoreDataImport
import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreKeys
import XCTest
import _CoreDataFixture
import _StoreSpecification

/// Reading the layout of the public Encrypted Core Data store. A fixture program modeled on its sources writes the files.
final class EncryptedCoreDataTests: XCTestCase {
  private typealias Build = SpecificationModels

  private func graph() -> FixtureGraph {
    FixtureGraph(
      Build.assets,
      [
        FixtureObject("Photo", 1, ["name": .text("a"), "width": .int(3)], toMany: ["posterOf": [1]]),
        FixtureObject("Clip", 2, ["seconds": .real(2), "start": .int(1)], toOne: ["poster": 0], toMany: ["notes": [2]]),
        FixtureObject("Note", 1, ["body": .text("x")], toOne: ["asset": 1]),
      ])
  }

  private func model() throws -> CompiledModel { try CompiledModel(RandomFixture.withoutUnidirectional(Build.assets.model)) }

  func testEncryptedCoreDataStoresAreReadInEveryPageFormat() async throws {
    var graph = graph()
    graph = FixtureGraph(try model(), graph.objects)
    var settings: [[String]] = LibraryVersion.isSQLCipher4 ? [["cipher_compatibility = 3"]] : [[]]
    settings.append(LibraryVersion.isSQLCipher4 ? [] : ["cipher_page_size = 4096"])
    for pragmas in settings {
      let harness = try ImportHarness(graph.model)
      try EncryptedFixtureWriter(graph).write(to: harness.source, passphrase: "it's a secret", settings: pragmas).close()
      try await harness.importAll(key: .passphrase("it's a secret"))
      try await harness.assertHolds(graph)
    }
  }

  func testMissingAndWrongPassphrasesAreDistinguished() async throws {
    let graph = FixtureGraph(try model(), graph().objects)
    let harness = try ImportHarness(graph.model)
    try EncryptedFixtureWriter(graph).write(to: harness.source, passphrase: "right").close()
    let cases: [(StoreKey?, StoreError.Code)] = [(nil, .keyRequired), (.passphrase("wrong"), .unreadableStore)]
    for (key, code) in cases {
      do {
        _ = try await harness.open(key: key)
        XCTFail("opened")
      } catch let error as StoreError {
        XCTAssertEqual(error.code, code)
      }
    }
  }

  func testDatesAreConvertedFromThe1970Epoch() async throws {
    let model = try Build.compiled([Build.entity("Day", [Build.attribute("date", .date)])])
    let graph = FixtureGraph(model, [FixtureObject("Day", 1, ["date": .real(0)]), FixtureObject("Day", 2, ["date": .real(700_000_000.5)])])
    let harness = try ImportHarness(model)
    try EncryptedFixtureWriter(graph).write(to: harness.source, passphrase: nil).close()
    try await harness.importAll()
    try await harness.assertHolds(graph)
  }

  func testSharedJoinTablesAreReadIfTheDirectionsAreDistinguishable() async throws {
    var graph = FixtureGraph(
      try Build.compiled([
        Build.entity("Book", [Build.toMany("shelves", "Shelf", "books", ordered: true)]),
        Build.entity("Shelf", [Build.toMany("books", "Book", "shelves", ordered: true)]),
      ]))
    graph.objects = [
      FixtureObject("Book", 1, toMany: ["shelves": [3, 2]]), FixtureObject("Book", 2, toMany: ["shelves": [2]]),
      FixtureObject("Shelf", 1, toMany: ["books": [1, 0]]), FixtureObject("Shelf", 2, toMany: ["books": [0]]),
    ]
    for usesOneTable in [false, true] {
      let harness = try ImportHarness(graph.model)
      var writer = EncryptedFixtureWriter(graph)
      writer.usesOneTable = usesOneTable
      try writer.write(to: harness.source, passphrase: nil).close()
      try await harness.importAll()
      try await harness.assertHolds(graph)
    }
    let model = try Build.compiled([
      Build.entity("Person", [Build.toMany("likes", "Person", "likedBy"), Build.toMany("likedBy", "Person", "likes")])
    ])
    let people = FixtureGraph(
      model, [FixtureObject("Person", 1, toMany: ["likes": [1]]), FixtureObject("Person", 2, toMany: ["likedBy": [0]])])
    for usesOneTable in [false, true] {
      let harness = try ImportHarness(model)
      var writer = EncryptedFixtureWriter(people)
      writer.usesOneTable = usesOneTable
      try writer.write(to: harness.source, passphrase: nil).close()
      if usesOneTable {
        _ = await assertImportFails(.modelMismatch) { try await harness.importAll() }
      } else {
        try await harness.importAll()
        try await harness.assertHolds(people)
      }
    }
  }
}

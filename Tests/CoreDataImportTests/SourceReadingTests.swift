import CoreDataImport
import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import StoreKeys
import Synchronization
import XCTest
import _CoreDataFixture
import _StoreSpecification
import _TestSupport

/// The import only reads the source and its log. The target may already contain objects. A fixture program writes the stores.
final class SourceReadingTests: XCTestCase {
  private typealias Build = SpecificationModels

  private func graph(_ count: Int) -> FixtureGraph {
    var graph = FixtureGraph(Build.library)
    for number in 0..<count {
      graph.objects.append(
        FixtureObject(
          "Author", Int64(number * 2 + 1), ["name": .text("author \(number)")], toOne: number > 0 ? ["mentor": number / 2] : [:]))
      if number > 0 { graph.objects[number / 2].toMany["pupils", default: []].append(number) }
    }
    return graph
  }

  func testRowsOnlyInTheLogAreReadWithoutWriting() async throws {
    let graph = graph(30)
    let harness = try ImportHarness(graph.model)
    var writer = AppleFixtureWriter(graph)
    writer.usesLog = true
    let database = try writer.write(to: harness.folder.file("Busy.sqlite"))
    // The files of a killed application: a log that was not copied into the database.
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(
        atPath: harness.folder.file("Busy.sqlite").path + suffix, toPath: harness.source.path + suffix)
    }
    database.close()
    func contents() throws -> [Data] { try ["", "-wal"].map { try Data(contentsOf: URL(fileURLWithPath: harness.source.path + $0)) } }
    let before = try contents()
    XCTAssertLessThan(before[0].count, before[1].count, "the rows are in the log")
    try await harness.importAll()
    try await harness.assertHolds(graph)
    XCTAssertEqual(try contents(), before)
    XCTAssertEqual(
      Set(harness.folder.fileNames().filter { $0.hasPrefix("Old") || $0.hasPrefix(".") }),
      ["Old.sqlite", "Old.sqlite-wal", "Old.sqlite-shm"],
      "the only file next to it is SQLite's index of the log")
  }

  func testStoresInUseAreReadAsOneSnapshot() async throws {
    let graph = graph(5)
    let harness = try ImportHarness(graph.model)
    var writer = AppleFixtureWriter(graph)
    writer.usesLog = true
    let database = try writer.write(to: harness.source)
    let source = try await harness.open()
    // Another connection keeps writing while the import runs.
    try database.run("BEGIN; INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT) VALUES (999, 1, 1)")
    let report = try await source.importAll(creating: harness.description)
    try database.run("COMMIT")
    database.close()
    XCTAssertEqual(report.objectCount, 5)
    try await harness.assertHolds(graph)
  }

  func testKeysAreKeptInEmptyStoresAndShiftedInOthers() async throws {
    let graph = graph(12)
    let harness = try ImportHarness(graph.model)
    try AppleFixtureWriter(graph).write(to: harness.source).close()
    try await harness.importAll()
    try await harness.assertHolds(graph)
    let (coordinator, store) = try await harness.store()
    let scope = RequestScope(objectIDSpace: store.space)
    let author = try XCTUnwrap(graph.model.entity(named: "Author"))
    let placeholder = ManagedObjectID(space: store.space.number, entityNumber: UInt32(author.number), key: -1)
    let next = try store.incrementalStore.obtainPermanentIDs(for: [placeholder], in: scope)[0].key
    XCTAssertGreaterThan(next, 23, "a new object gets none of the imported keys")

    let source = try await harness.open()
    let again = try await source.importAll(into: coordinator, store: store)
    XCTAssertEqual(again.objectCount, 12)
    let rows = try coordinator.fetch(FetchSpecification(entityName: "Author"), from: store, scope: scope)
    guard case .rows(let list) = rows else { return XCTFail("no rows") }
    XCTAssertEqual(list.count, 24)
    let keys = list.map(\.key).sorted()
    let offset = keys[12] - keys[0]
    XCTAssertGreaterThan(offset, 22)
    XCTAssertEqual(Array(keys[12...]), keys[..<12].map { $0 + offset })
    // References are renumbered with the keys.
    let mentor = try XCTUnwrap(author.slots.first { $0.name == "mentor" }).index
    let byKey = Dictionary(uniqueKeysWithValues: list.map { ($0.key, $0) })
    for key in keys[..<12] {
      let (old, new) = (byKey[key], byKey[key + offset])
      XCTAssertEqual(old?.isNull(mentor), new?.isNull(mentor))
      if old?.isNull(mentor) == false { XCTAssertEqual((old?.reference(mentor).key ?? 0) + offset, new?.reference(mentor).key) }
    }
    try coordinator.remove(store)
  }

  func testProgressIsReportedInBatchesAndCountsMatchTheSource() async throws {
    let graph = graph(40)
    let harness = try ImportHarness(graph.model)
    try AppleFixtureWriter(graph).write(to: harness.source).close()
    let source = try await harness.open()
    let counts = try await source.objectCounts()
    XCTAssertEqual(counts, ["Author": 40])
    XCTAssertEqual(source.versionIdentifiers, ["fixture 1"])
    let reported = Mutex<[Int]>([])
    let report = try await source.importAll(creating: harness.description) { done, total in
      reported.withLock { $0.append(done) }
      // The total is reported once, when the store has its final name.
      XCTAssertEqual(FileManager.default.fileExists(atPath: harness.target.path), done == total)
      return total == 40
    }
    let steps = reported.withLock { $0 }
    XCTAssertEqual(steps, steps.sorted())
    XCTAssertEqual(steps.filter { $0 == 40 }.count, 1)
    XCTAssertEqual(steps.last, 40)
    XCTAssertEqual(report.entities.first { $0.entityName == "Author" }?.count, 40)
  }

  func testKeyProviderIsCalledForTheNewStore() async throws {
    let graph = graph(3)
    let harness = try ImportHarness(graph.model)
    try AppleFixtureWriter(graph).write(to: harness.source).close()
    let provider = RecordingProvider()
    var description = harness.description
    description.key = .provider(provider)
    let report = try await harness.open().importAll(creating: description)
    XCTAssertEqual(report.objectCount, 3)
    XCTAssertEqual(provider.urls.withLock { $0 }.map(\.path), [harness.target.path])
    // The provider's key is the harness's.
    try await harness.assertHolds(graph)
  }

  func testFullTextIndexesContainImportedAndExistingObjects() async throws {
    var note = Build.entity("Note", [Build.text("body")])
    note.indexes = [FetchIndexDescription(name: "words", elements: [.fullText("body")])]
    let model = try Build.compiled([note])
    let graph = FixtureGraph(
      model, [FixtureObject("Note", 1, ["body": .text("a green lamp")]), FixtureObject("Note", 2, ["body": .text("a red house")])])
    let harness = try ImportHarness(model)
    try AppleFixtureWriter(graph).write(to: harness.source).close()
    try await harness.importAll()
    let (coordinator, store) = try await harness.store()
    _ = try await harness.open().importAll(into: coordinator, store: store)
    var request = FetchSpecification(entityName: "Note", predicate: try FetchPredicate(format: "body SEARCH 'lamp'"))
    request.resultType = .count
    guard case .count(let count) = try coordinator.fetch(request, from: store, scope: RequestScope(objectIDSpace: store.space)) else {
      return XCTFail("no count")
    }
    XCTAssertEqual(count, 2)
    try coordinator.remove(store)
    let file = try await SQLCipherStoreFile.unlock(at: harness.target, key: ImportHarness.key)
    let findings = try await file.verify(.full)
    XCTAssertEqual(findings, [])
  }

  func testTheNewFileIsEncrypted() async throws {
    let graph = graph(3)
    let harness = try ImportHarness(graph.model)
    try AppleFixtureWriter(graph).write(to: harness.source).close()
    try await harness.importAll()
    for name in harness.folder.fileNames() where name.hasPrefix("New") {
      let data = try Data(contentsOf: harness.folder.file(name))
      XCTAssertNil(data.range(of: Data("author 1".utf8)), name)
      XCTAssertNil(data.range(of: Data("SQLite format".utf8)), name)
    }
  }
}

/// Returns the harness's key, and records for which store.
private final class RecordingProvider: StoreKeyProvider {
  let urls = Mutex<[URL]>([])

  func key(for request: StoreKeyRequest) async throws -> SecretBytes {
    urls.withLock { $0.append(request.url) }
    return SecretBytes(Array(repeating: 9, count: 32))
  }
}

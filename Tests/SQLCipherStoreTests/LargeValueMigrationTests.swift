import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import StoreKeys
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// The location of large values after the model allows or forbids files, and after a row-by-row copy of the store.
final class LargeValueMigrationTests: XCTestCase {
  private func bytes(_ count: Int, _ seed: Int = 1) -> Data { FilmStore.bytes(count, seed) }

  private func model(_ version: Int, external: Bool, unique: Bool = false) throws -> CompiledModel {
    var entity = EntityDescription(name: "Film")
    var poster = AttributeDescription(name: "poster", type: .binary, isOptional: true)
    poster.allowsExternalBinaryDataStorage = external
    entity.properties = [.attribute(AttributeDescription(name: "title", type: .string, isOptional: true)), .attribute(poster)]
    for number in 1..<max(version, 1) {
      entity.properties.append(.attribute(AttributeDescription(name: "extra\(number)", type: .integer32, isOptional: true)))
    }
    if unique { entity.uniquenessConstraints = [["poster"]] }
    var model = ManagedObjectModel(entities: [entity])
    model.versionIdentifiers = ["\(version)"]
    return try CompiledModel(model)
  }

  private func finish(_ films: FilmStore, _ store: OpenStore, fileCount: Int, line: UInt = #line) async throws {
    try store.close()
    XCTAssertEqual(films.files().count, fileCount, line: line)
    XCTAssertFalse(films.isPending, line: line)
    let findings = try await films.verify()
    XCTAssertEqual(findings, [], line: line)
  }

  func testMigrationMovesValuesIntoFilesWhereNewlyAllowed() async throws {
    let films = try FilmStore()
    var store = try films.open(model(1, external: false))
    for number in 0..<5 { try store.addFilm("\(number)", bytes(number == 2 ? 131_071 : 131_072 + number, number)) }
    try store.addFilm("none", nil)
    try store.close()
    XCTAssertEqual(films.files(), [])
    store = try films.open(model(2, external: true))
    XCTAssertEqual(films.files().count, 4)
    for number in 0..<5 { XCTAssertEqual(try store.poster("\(number)"), bytes(number == 2 ? 131_071 : 131_072 + number, number)) }
    XCTAssertNil(try store.poster("none"))
    try store.withFilm("0") { film, context in
      context.delete(film)
      try context.save()
    }
    try await finish(films, store, fileCount: 3)
  }

  func testMigrationKeepsFilesWhereNoLongerAllowed() async throws {
    let films = try FilmStore()
    var store = try films.open(model(1, external: true))
    for number in 0..<3 { try store.addFilm("\(number)", bytes(200_000, number)) }
    try store.close()
    store = try films.open(model(2, external: false))
    for number in 0..<3 { XCTAssertEqual(try store.poster("\(number)"), bytes(200_000, number)) }
    XCTAssertEqual(films.files().count, 3)
    try store.withFilm("1") { film, context in
      try film.setValue(bytes(200_000, 9), forKey: "poster")
      try context.save()
    }
    XCTAssertEqual(films.files().count, 2)
    _ = try store.newContext().execute(
      BatchUpdateRequest(entityName: "Film", predicate: .compare("title", .equal, "2"), propertiesToUpdate: ["poster": bytes(200_000, 8)]))
    XCTAssertEqual(films.files().count, 1)
    try store.close()
    // And forward again: values that moved into rows meanwhile move back into files.
    store = try films.open(model(3, external: true))
    XCTAssertEqual(try ["0", "1", "2"].map { try store.poster($0) }, [bytes(200_000, 0), bytes(200_000, 9), bytes(200_000, 8)])
    try await finish(films, store, fileCount: 3)
  }

  func testAddedConstraintMovesValuesIntoTheirRows() async throws {
    let films = try FilmStore()
    var store = try films.open(model(1, external: true))
    try store.addFilm("A", bytes(200_000, 1))
    try store.addFilm("B", bytes(200_000, 1))
    try store.close()
    // Equal values, which their files cannot reveal.
    assertStoreError(.migrationConstraintViolation) { try films.open(self.model(2, external: true, unique: true)) }
    store = try films.open(model(1, external: true))
    XCTAssertEqual(films.files().count, 2)
    try store.withFilm("B") { film, context in
      try film.setValue(bytes(200_000, 2), forKey: "poster")
      try context.save()
    }
    try store.close()
    store = try films.open(model(2, external: true, unique: true))
    XCTAssertEqual(films.files(), [])
    assertStoreError(.constraintConflict) { try store.addFilm("C", bytes(200_000, 2)) }
    XCTAssertEqual(try store.poster("A"), bytes(200_000, 1))
    XCTAssertEqual(try store.poster("B"), bytes(200_000, 2))
    try store.close()
    // Without the constraint they are stored externally again.
    store = try films.open(model(3, external: true))
    XCTAssertEqual(try store.poster("B"), bytes(200_000, 2))
    try await finish(films, store, fileCount: 2)
  }

  func testCanceledMigrationLeavesNoFile() async throws {
    let films = try FilmStore()
    var store = try films.open(model(1, external: false))
    for number in 0..<5 { try store.addFilm("\(number)", bytes(200_000, number)) }
    try store.close()
    let newer = try model(2, external: true)
    let cancellation = RequestCancellation()
    assertStoreError(.cancelled) {
      try films.open(newer) {
        $0.migrationCancellation = cancellation
        $0.migrationProgress = { if $0.phase.contains("files") { cancellation.cancel() } }
      }
    }
    store = try films.open(model(1, external: false))
    XCTAssertEqual(try store.poster("4"), bytes(200_000, 4))
    try await finish(films, store, fileCount: 0)
  }

  func testMigrationRemovesLeftoversOfAKilledMigration() async throws {
    let films = try FilmStore()
    var store = try films.open(model(1, external: false))
    try store.addFilm("A", bytes(200_000))
    try store.close()
    let support = FilmStore.support(films.url)
    try FileManager.default.createDirectory(at: support, withIntermediateDirectories: false)
    for number in 0..<3 { try bytes(9).write(to: support.appendingPathComponent(String(repeating: "\(number)a", count: 16))) }
    try Data().write(to: support.appendingPathComponent("pending"))
    // The older model has no external values, and changes nothing.
    store = try films.open(model(1, external: false))
    XCTAssertEqual(try store.poster("A"), bytes(200_000))
    try store.close()
    store = try films.open(model(2, external: true))
    XCTAssertEqual(try store.poster("A"), bytes(200_000))
    try await finish(films, store, fileCount: 1)
  }

  func testOtherStoreTypesReceiveTheBytes() async throws {
    let films = try FilmStore()
    let model = try FilmStore.model()
    let store = try films.open(model)
    for number in 0..<3 { try store.addFilm("\(number)", bytes(number == 1 ? 20 : 200_000, number)) }
    let memory = try await store.coordinator.migratePersistentStore(
      store.persistentStore, to: PersistentStoreDescription(type: .inMemory))
    // That store cannot use the files.
    try await store.coordinator.destroyPersistentStore(with: PersistentStoreDescription(url: films.url))
    XCTAssertEqual(films.files(), [])
    func posters(_ context: ManagedObjectContext) throws -> [String: Data?] {
      Dictionary(
        uniqueKeysWithValues: try context.all("Film").map { ($0.text("title") ?? "", try $0.externalData(forKey: "poster")?.data()) })
    }
    let wanted: [String: Data?] = ["0": bytes(200_000, 0), "1": bytes(20, 1), "2": bytes(200_000, 2)]
    XCTAssertEqual(try posters(ManagedObjectContext(coordinator: store.coordinator)), wanted)
    // Back into files.
    var target = PersistentStoreDescription(url: films.url, key: films.key)
    target.durability = .fast
    let moved = try await store.coordinator.migratePersistentStore(memory, to: target)
    XCTAssertEqual(try posters(ManagedObjectContext(coordinator: store.coordinator)), wanted)
    XCTAssertEqual(films.files().count, 2)
    try store.coordinator.remove(moved)
    let findings = try await films.verify()
    XCTAssertEqual(findings, [])
  }

  func testEncryptedStoreIsMovedAndReplacedWithItsFiles() async throws {
    let films = try FilmStore()
    let store = try films.open()
    try store.addFilm("A", bytes(200_000, 1))
    let place = films.folder.file("moved.store")
    var target = PersistentStoreDescription(url: place)
    target.durability = .fast
    let moved = try await store.coordinator.migratePersistentStore(store.persistentStore, to: target)
    XCTAssertEqual(films.files(place).count, 1)
    try store.coordinator.remove(moved)
    try await store.coordinator.destroyPersistentStore(with: PersistentStoreDescription(url: films.url))
    XCTAssertFalse(FileManager.default.fileExists(atPath: FilmStore.support(films.url).path))
    var findings = try await films.unlock(place).verify(.full)
    XCTAssertEqual(findings, [])
    // Replace a store that has files of its own.
    let other = try films.open()
    for number in 0..<3 { try other.addFilm("\(number)", bytes(150_000, number)) }
    try other.close()
    try await store.coordinator.replacePersistentStore(
      with: PersistentStoreDescription(url: films.url), withPersistentStoreFrom: PersistentStoreDescription(url: place, key: films.key))
    XCTAssertEqual(films.files().count, 1)
    findings = try await films.verify()
    XCTAssertEqual(findings, [])
    let replaced = try films.open()
    XCTAssertEqual(try replaced.poster("A"), bytes(200_000, 1))
    try replaced.close()
  }

  func testPlaintextCopyWithFullTextInlinesValuesAndReimportsThemToFiles() async throws {
    let films = try FilmStore(key: .raw(SecretBytes([UInt8](repeating: 3, count: 32))))
    let model = ManagedObjectModel {
      Entity("Film") {
        Attribute("title", .string)
        Attribute("poster", .binary).externalStorage()
        Index("words", .fullText("title"))
      }
    }
    let compiled = try CompiledModel(model)
    let store = try films.open(compiled)
    try store.addFilm("one two", bytes(200_000, 1))
    try store.addFilm("two three", bytes(20, 2))
    try store.close()
    let (plain, back) = (films.folder.file("plain.sqlite"), films.folder.file("back.store"))
    try await films.unlock().exportPlaintext(to: plain)
    let file = try await SQLCipherStoreFile.importPlaintext(from: plain, to: back, key: films.key)
    XCTAssertEqual(films.files(back).count, 1)
    // The value is not duplicated in the database.
    let size = try XCTUnwrap(FileManager.default.attributesOfItem(atPath: back.path)[.size] as? NSNumber).intValue
    XCTAssertLessThan(size, 150_000)
    XCTAssertFalse(FileManager.default.fileExists(atPath: FilmStore.support(back).appendingPathComponent("orphans").path))
    let siblings = try FileManager.default.contentsOfDirectory(atPath: films.folder.url.path)
    XCTAssertEqual(siblings.filter { $0.hasPrefix(".cipherdata-") }, [])
    var findings = try await file.verify(.full)
    XCTAssertEqual(findings, [])
    let again = try films.open(compiled, at: back)
    XCTAssertEqual(try again.poster("one two"), bytes(200_000, 1))
    let found = try again.newContext().texts(
      "title", FetchRequest<ManagedObject>(entityName: "Film", predicate: FetchPredicate(format: "title SEARCH 'three'")))
    XCTAssertEqual(found, ["two three"])
    try again.close()
    findings = try await films.unlock(back).verify(.full)
    XCTAssertEqual(findings, [])
  }
}

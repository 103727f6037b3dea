import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SQLCipherStore
import StoreKeys
import XCTest
import _TestSupport

/// Stores as files: metadata without opening, destroying, replacing, moving to another location or type (rows S6, S8 and S20).
final class StoreFilesTests: XCTestCase {
  private var folder: TemporaryFolder!

  override func setUpWithError() throws { folder = try TemporaryFolder() }

  private func coordinator() throws -> PersistentStoreCoordinator { try PersistentStoreCoordinator(managedObjectModel: Library.model) }

  private func description(_ name: String, passphrase: String? = nil) -> PersistentStoreDescription {
    var description = PersistentStoreDescription.encrypted(in: folder, name)
    if let passphrase { description.key = .passphrase(SecretBytes(utf8: passphrase), .cheapForTests()) }
    return description
  }

  /// The contents of a library as text.
  private func contents(_ context: ManagedObjectContext) throws -> [String] {
    var lines: [String] = []
    for book in try context.objects("Book", by: "title") {
      let author = book.one("author")?.text("name") ?? "nobody"
      lines.append("\(book.entity.name) \(book.text("title") ?? "") by \(author): \(book.sortedNames("tags").joined(separator: ", "))")
    }
    for shelf in try context.objects("Shelf") {
      lines.append("shelf: " + shelf.list("books").compactMap { $0.text("title") }.joined(separator: ", "))
    }
    for person in try context.objects("Person", by: "name") {
      lines.append("\(person.text("name") ?? ""): \(person.sortedNames("friends").joined(separator: ", "))")
    }
    return lines
  }

  private func contents(_ description: PersistentStoreDescription) async throws -> [String] {
    let coordinator = try coordinator()
    var description = description
    description.createsStore = false
    let store = try await coordinator.addPersistentStore(with: description)
    let lines = try contents(ManagedObjectContext(coordinator: coordinator))
    try coordinator.remove(store)
    return lines
  }

  private func fill(_ coordinator: PersistentStoreCoordinator, _ mark: String = "") throws {
    let context = ManagedObjectContext(coordinator: coordinator)
    let tags = try ["crime", "long"].map { try context.make("Tag", ["name": $0]) }
    let author = try context.make("Author", ["name": "Ann\(mark)"])
    let books = try ["B", "A", "C"].map { title in
      try context.make(title == "C" ? "Novel" : "Book", ["title": title + mark, "author": author, "tags": Set(tags)])
    }
    try context.make("Shelf").setValue(books, forKey: "books")
    let people = try ["x", "y", "z"].map { try context.make("Person", ["name": $0]) }
    try people[0].setValue(Set([people[1], people[2]]), forKey: "friends")
    try context.save()
  }

  private func make(_ description: PersistentStoreDescription, _ mark: String = "") async throws {
    let coordinator = try coordinator()
    let store = try await coordinator.addPersistentStore(with: description)
    try fill(coordinator, mark)
    try store.setUserMetadata(["mark": mark])
    try coordinator.remove(store)
  }

  private func files() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted() }

  // MARK: Metadata

  func testMetadataIsReadAndChangedWithoutOpening() async throws {
    let description = description("a.store", passphrase: "one")
    try await make(description, "1")
    let metadata = try await PersistentStoreCoordinator.metadataForPersistentStore(with: description)
    XCTAssertEqual(metadata.userMetadata, ["mark": "1"])
    XCTAssertEqual(metadata.modelHashes, try CompiledModel(Library.model).versionHashes)
    XCTAssertEqual(metadata.versionIdentifiers, ["library"])
    try await PersistentStoreCoordinator.setUserMetadata(["mark": "2"], forPersistentStoreWith: description)
    let coordinator = try coordinator()
    let store = try await coordinator.addPersistentStore(with: description)
    XCTAssertEqual(store.metadata.userMetadata, ["mark": "2"])
    XCTAssertEqual(store.identifier, metadata.storeIdentifier)
    try coordinator.remove(store)
  }

  func testStoreContainsTheModelThatWroteIt() async throws {
    let description = description("a.store")
    try await make(description)
    let model = try await PersistentStoreCoordinator.cachedModelForPersistentStore(with: description)
    XCTAssertEqual(try CompiledModel(model).checksum, try CompiledModel(Library.model).checksum)
  }

  func testMetadataRequiresTheKey() async throws {
    let description = description("a.store", passphrase: "one")
    try await make(description)
    var other = description
    other.key = .passphrase("two", .cheapForTests())
    await assertThrows(.wrongKey) { _ = try await PersistentStoreCoordinator.metadataForPersistentStore(with: other) }
    other.key = nil
    await assertThrows(.keyRequired) { _ = try await PersistentStoreCoordinator.metadataForPersistentStore(with: other) }
    let missing = self.description("b.store")
    await assertThrows(.storeNotFound) { _ = try await PersistentStoreCoordinator.metadataForPersistentStore(with: missing) }
    await assertThrows(.unsupported) {
      _ = try await PersistentStoreCoordinator.metadataForPersistentStore(with: PersistentStoreDescription(type: .inMemory))
    }
  }

  // MARK: Destruction

  func testADestroyedStoreLeavesNothing() async throws {
    var description = description("a.store", passphrase: "one")
    try await make(description)
    XCTAssertEqual(try files(), ["a.store", "a.store.keys"])
    // A store whose passphrase was forgotten can be replaced by a new one.
    description.key = nil
    try await coordinator().destroyPersistentStore(with: description)
    XCTAssertEqual(try files(), [])
    await assertThrows(.storeNotFound) { try await self.coordinator().destroyPersistentStore(with: description) }
    try await make(self.description("a.store", passphrase: "two"))
  }

  func testDestroyingAMissingStoreThrows() async throws {
    await assertThrows(.storeNotFound) { try await self.coordinator().destroyPersistentStore(with: self.description("a.store")) }
    // A store with a similar name does not belong to it.
    try await make(description("a.store2", passphrase: "one"))
    await assertThrows(.storeNotFound) { try await self.coordinator().destroyPersistentStore(with: self.description("a.store")) }
    XCTAssertEqual(try files(), ["a.store2", "a.store2.keys"])
    let elsewhere = PersistentStoreDescription(url: folder.file("missing").appendingPathComponent("a.store"))
    await assertThrows(.storeNotFound) { try await self.coordinator().destroyPersistentStore(with: elsewhere) }
  }

  func testLeftoversOfAnInterruptedRemovalAreRemoved() async throws {
    let left = [
      ["a.store"], ["a.store.keys"], ["a.store-wal"], ["a.store-shm"], ["a.store", "a.store-wal"], [".a.store_SUPPORT/file"],
      ["a.store", ".a.store_SUPPORT/file"],
    ]
    for names in left {
      for name in names {
        let url = folder.file(name)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data("left".utf8).write(to: url)
      }
      try await coordinator().destroyPersistentStore(with: description("a.store"))
      XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: folder.url.path), [], "\(names)")
      await assertThrows(.storeNotFound) { try await self.coordinator().destroyPersistentStore(with: self.description("a.store")) }
    }
  }

  func testAStoreInUseIsNotDestroyed() async throws {
    let description = description("a.store")
    let (one, other) = (try coordinator(), try coordinator())
    let store = try await one.addPersistentStore(with: description)
    try fill(one)
    await assertThrows(.busy) { try await one.destroyPersistentStore(with: description) }
    await assertThrows(.busy) { try await other.destroyPersistentStore(with: description) }
    XCTAssertEqual(try ManagedObjectContext(coordinator: one).objects("Book").count, 3)
    try one.remove(store)
    try await other.destroyPersistentStore(with: description)
    XCTAssertEqual(try files(), [])
  }

  func testOtherContentIsDestroyedOnlyIfItIsAFile() async throws {
    try Data("stub".utf8).write(to: folder.file("a.store"))
    try await coordinator().destroyPersistentStore(with: description("a.store"))
    XCTAssertEqual(try files(), [])
    try FileManager.default.createDirectory(at: folder.file("b.store"), withIntermediateDirectories: false)
    await assertThrows(.notAStore) { try await self.coordinator().destroyPersistentStore(with: self.description("b.store")) }
  }

  // MARK: Replacement

  func testAStoreIsReplacedByACopyOfAnother() async throws {
    let (old, new) = (description("old.store", passphrase: "old"), description("new.store", passphrase: "new"))
    try await make(old, "1")
    try await make(new, "2")
    var place = old
    place.key = nil
    try await coordinator().replacePersistentStore(with: place, withPersistentStoreFrom: new)
    place.key = new.key
    let (found, expected) = (try await contents(place), try await contents(new))
    XCTAssertEqual(found, expected)
    XCTAssertTrue(found.contains("Book A2 by Ann2: crime, long"))
    await assertThrows(.wrongKey) { _ = try await self.contents(old) }
    XCTAssertEqual(try files(), ["new.store", "new.store.keys", "old.store", "old.store.keys"])
  }

  func testReplacementCanHaveItsOwnKeyAndASourceInUse() async throws {
    let source = description("a.store", passphrase: "a")
    let one = try coordinator()
    try await one.addPersistentStore(with: source)
    try fill(one)
    // The last save is in the log only.
    let target = description("b.store", passphrase: "b")
    try await coordinator().replacePersistentStore(with: target, withPersistentStoreFrom: source)
    let found = try await contents(target)
    XCTAssertEqual(found, try contents(ManagedObjectContext(coordinator: one)))
    for store in one.persistentStores { try one.remove(store) }
  }

  func testAStoreInUseIsNotReplaced() async throws {
    let (old, new) = (description("old.store"), description("new.store"))
    try await make(new, "2")
    let one = try coordinator()
    let store = try await one.addPersistentStore(with: old)
    try fill(one)
    let before = try files()
    await assertThrows(.busy) { try await self.coordinator().replacePersistentStore(with: old, withPersistentStoreFrom: new) }
    XCTAssertEqual(try files(), before)
    XCTAssertEqual(try ManagedObjectContext(coordinator: one).objects("Book").count, 3)
    try one.remove(store)
    await assertThrows(.storeNotFound) {
      try await self.coordinator().replacePersistentStore(with: old, withPersistentStoreFrom: self.description("none.store"))
    }
    XCTAssertFalse(try files().contains { $0.hasPrefix(".") })
  }

  // MARK: Migration to another location

  func testStoreIsMovedWithItsObjectIDs() async throws {
    let (old, new) = (description("old.store", passphrase: "one"), description("new.store", passphrase: "two"))
    let coordinator = try coordinator()
    let store = try await coordinator.addPersistentStore(with: old)
    try fill(coordinator)
    let context = ManagedObjectContext(coordinator: coordinator)
    let before = try contents(context)
    let book = try XCTUnwrap(context.objects("Book", where: "title == 'A'").first)
    let moved = try await coordinator.migratePersistentStore(store, to: new)
    XCTAssertEqual(moved.identifier, store.identifier)
    XCTAssertTrue(coordinator.persistentStores.elementsEqual([moved], by: ===))
    // Existing objects stay valid, in the new file.
    try book.setValue("A moved", forKey: "title")
    try context.save()
    try coordinator.remove(moved)
    let (inOld, inNew) = (try await contents(old), try await contents(new))
    XCTAssertEqual(inOld, before)
    XCTAssertEqual(inNew, before.map { $0.replacing("Book A ", with: "Book A moved ").replacing("B, A, C", with: "B, A moved, C") })
  }

  func testInMemoryStoreIsConvertedToEncryptedAndBack() async throws {
    let coordinator = try coordinator()
    let store = try await coordinator.addPersistentStore(with: PersistentStoreDescription(type: .inMemory))
    try fill(coordinator)
    let before = try contents(ManagedObjectContext(coordinator: coordinator))
    let file = try await coordinator.migratePersistentStore(store, to: description("new.store"))
    XCTAssertNotEqual(file.identifier, store.identifier)
    XCTAssertEqual(try contents(ManagedObjectContext(coordinator: coordinator)), before)
    try await coordinator.migratePersistentStore(file, to: PersistentStoreDescription(type: .inMemory))
    XCTAssertEqual(try contents(ManagedObjectContext(coordinator: coordinator)), before)
    let inFile = try await contents(description("new.store"))
    XCTAssertEqual(inFile, before)
  }

  func testCanceledMoveLeavesOnlyTheOldStoreOpen() async throws {
    let coordinator = try coordinator()
    let store = try await coordinator.addPersistentStore(with: PersistentStoreDescription(type: .inMemory))
    try fill(coordinator)
    await assertThrows(.cancelled) {
      try await coordinator.migratePersistentStore(store, to: self.description("new.store")) { done, _ in done < 5 }
    }
    XCTAssertEqual(try files(), [])
    XCTAssertTrue(coordinator.persistentStores.elementsEqual([store], by: ===))
    XCTAssertEqual(try ManagedObjectContext(coordinator: coordinator).objects("Book").count, 3)
  }

  private func assertThrows(
    _ code: StoreError.Code, file: StaticString = #filePath, line: UInt = #line, _ body: () async throws -> Void
  ) async {
    do {
      try await body()
      XCTFail("Nothing was thrown.", file: file, line: line)
    } catch {
      XCTAssertEqual((error as? StoreError)?.code, code, "\(error)", file: file, line: line)
    }
  }
}

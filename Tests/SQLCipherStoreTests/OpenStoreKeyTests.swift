import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import StoreKeys
import XCTest
import _TestSupport

/// Key changes of an open store, missing folders, and the messages of file errors.
final class OpenStoreKeyTests: XCTestCase {
  private let model = ManagedObjectModel { Entity("Note") { Attribute("text", .string) } }

  private func container(_ url: URL, _ passphrase: String) async throws -> PersistentContainer {
    let key = StoreKey.passphrase(SecretBytes(Array(passphrase.utf8)), .cheapForTests())
    let container = try PersistentContainer(
      name: "Notes", managedObjectModel: model, persistentStoreDescriptions: [PersistentStoreDescription(url: url, key: key)])
    try await container.loadPersistentStores()
    return container
  }

  private func code(_ body: () async throws -> Void) async -> StoreError.Code? {
    do { try await body() } catch { return (error as? StoreError)?.code }
    return nil
  }

  func testKeysAreChangedWhileTheContainerIsOpen() async throws {
    let folder = try TemporaryFolder()
    let url = folder.file("notes.store")
    let open = try await container(url, "old")
    func save() async throws {
      try await open.performBackgroundTask { context in
        try context.insertObject(entityName: "Note").setValue("x", forKey: "text")
        try context.save()
      }
    }
    try await save()
    let store = open.persistentStoreCoordinator.persistentStores[0]
    let file = try store.unlockedFile()
    XCTAssertEqual(file.keySlots.count, 1)
    let (old, new) = (SecretBytes(Array("old".utf8)), SecretBytes(Array("new".utf8)))
    try await file.changeKey(from: .passphrase(old, .cheapForTests()), to: .passphrase(new, .cheapForTests()))
    try await save()
    try open.close()
    let failure = await code { _ = try await self.container(url, "old") }
    XCTAssertEqual(failure, .wrongKey)
    let again = try await container(url, "new")
    let count = try await again.performBackgroundTask { try $0.count(for: FetchRequest<ManagedObject>(entityName: "Note")) }
    XCTAssertEqual(count, 2)
    try again.close()
    XCTAssertThrowsError(try store.unlockedFile()) { XCTAssertEqual(($0 as? StoreError)?.code, .noOpenStore) }
  }

  func testAStoreInMemoryHasNoFile() async throws {
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: model)
    let store = try await coordinator.addPersistentStore(with: PersistentStoreDescription(type: .inMemory))
    XCTAssertThrowsError(try store.unlockedFile()) { XCTAssertEqual(($0 as? StoreError)?.code, .unsupported) }
  }

  func testMissingFolderIsReported() async throws {
    let folder = try TemporaryFolder()
    let url = folder.file("missing").appendingPathComponent("notes.store")
    do {
      _ = try await container(url, "old")
      XCTFail("there is no folder")
    } catch let error as StoreError {
      XCTAssertEqual(error.code, .storeNotFound)
      XCTAssertEqual(error.path, url.deletingLastPathComponent().path)
      XCTAssertTrue(error.message.hasPrefix("The folder does not exist; create it first"), error.message)
      XCTAssertFalse("\(error)".contains(".cipherdata-"), "\(error)")
    }
  }

  func testFileInPlaceOfTheFolderIsReported() async throws {
    let folder = try TemporaryFolder()
    let file = folder.file("notes.txt")
    try Data("notes".utf8).write(to: file)
    do {
      _ = try await container(file.appendingPathComponent("notes.store"), "old")
      XCTFail("there is no folder")
    } catch let error as StoreError {
      XCTAssertEqual(error.code, .storeNotFound)
      XCTAssertEqual(error.path, file.path)
      XCTAssertTrue(error.message.hasPrefix("The path of the store's folder is a file"), error.message)
    }
  }

  func testStoreInUseErrorNamesPossibleHolders() async throws {
    let folder = try TemporaryFolder()
    let url = folder.file("notes.store")
    let open = try await container(url, "old")
    let file = try open.persistentStoreCoordinator.persistentStores[0].unlockedFile()
    do {
      try await file.rotateDataKey()
      XCTFail("the store is open")
    } catch let error as StoreError {
      XCTAssertEqual(error.code, .busy)
      XCTAssertTrue(error.message.contains("another container, context or connection of this process"), error.message)
    }
    try open.close()
  }

  func testPassphraseCostIsRangeChecked() {
    XCTAssertEqual(KDF.log2NRange, 15...20)
    XCTAssertTrue(KDF.log2NRange.contains(KDF.scrypt().log2N))
  }
}

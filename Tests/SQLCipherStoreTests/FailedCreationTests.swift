import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection
import StoreKeys
import Synchronization
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore
@testable import StoreFiles

/// A failed creation removes its own files and leaves all others unchanged.
final class FailedCreationTests: XCTestCase {
  private static let raw = StoreKey.raw(SecretBytes([UInt8](repeating: 3, count: 32)))
  private static let keys: [StoreKey] = [
    raw, .passphrase("secret", .cheapForTests()), TestStore.key, .sqlcipherPassphrase("secret", .portable),
  ]

  private static func model(attributes count: Int) -> ManagedObjectModel {
    var model = ManagedObjectModel(entities: [EntityDescription(name: "Row")])
    model.entities[0].properties = (0..<count).map { .attribute(AttributeDescription(name: "a\($0)", type: .integer64, isOptional: true)) }
    return model
  }

  @discardableResult
  private func add(
    _ url: URL, _ key: StoreKey, _ model: ManagedObjectModel, _ change: (inout PersistentStoreDescription) -> Void = { _ in }
  ) throws -> PersistentStoreCoordinator {
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: model)
    var description = PersistentStoreDescription(url: url, key: key)
    change(&description)
    let wanted = description
    _ = try waitFor { try await coordinator.addPersistentStore(with: wanted) }
    return coordinator
  }

  private func close(_ coordinator: PersistentStoreCoordinator) throws {
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }

  private func assertFails(
    _ code: StoreError.Code, file: StaticString = #filePath, line: UInt = #line, _ body: () throws -> some Any
  ) {
    XCTAssertThrowsError(try body(), file: file, line: line) {
      XCTAssertEqual(($0 as? StoreError)?.code, code, "\($0)", file: file, line: line)
    }
  }

  /// Runs `body` while the system has no inotify instances left.
  private func withoutWatches(_ body: () throws -> Void) rethrows {
    FileEvents.simulatedError.withLock { $0 = .instance(EMFILE) }
    defer { FileEvents.simulatedError.withLock { $0 = nil } }
    try body()
  }

  func testRejectedModelLeavesNoFiles() throws {
    let folder = try TemporaryFolder("FailedCreationTests")
    let url = folder.file("new.store")
    assertFails(.invalidRequest) { try add(url, Self.raw, Self.model(attributes: LibraryVersion.maximumVariables)) }
    XCTAssertEqual(folder.fileNames(), [])
    try close(try add(url, Self.raw, Self.model(attributes: 2)))
  }

  func testOpeningThatFailsAfterCreationLeavesNoFiles() throws {
    for key in Self.keys {
      for hasHistory in [false, true] {
        let folder = try TemporaryFolder("FailedCreationTests")
        let url = folder.file("new.store")
        withoutWatches {
          assertFails(.remoteChangesUnavailable) {
            try add(url, key, Self.model(attributes: 2)) {
              $0.postsRemoteChangeNotifications = true
              if hasHistory { $0.historyTracking = true }
            }
          }
        }
        XCTAssertEqual(folder.fileNames(), [], "\(key), history: \(hasHistory)")
        let coordinator = try add(url, key, Self.model(attributes: 2)) { $0.historyTracking = hasHistory }
        XCTAssertEqual(try coordinator.persistentStores[0].historyLevel != nil, hasHistory)
        try close(coordinator)
      }
    }
  }

  func testFailedOpeningPreservesAnExistingStore() throws {
    let folder = try TemporaryFolder("FailedCreationTests")
    let url = folder.file("old.store")
    try close(try add(url, Self.raw, Self.model(attributes: 2)))
    let before = folder.fileNames()
    withoutWatches {
      assertFails(.remoteChangesUnavailable) {
        try add(url, Self.raw, Self.model(attributes: 2)) { $0.postsRemoteChangeNotifications = true }
      }
    }
    XCTAssertTrue(Set(before).isSubset(of: folder.fileNames()), "\(folder.fileNames())")
    try close(try add(url, Self.raw, Self.model(attributes: 2)))
  }

  func testKeyFileWithoutAStoreIsPreserved() throws {
    let folder = try TemporaryFolder("FailedCreationTests")
    let url = folder.file("new.store")
    let keys = folder.file("new.store.keys")
    try Data("somebody's".utf8).write(to: keys)
    assertFails(.alreadyExists) { try add(url, Self.raw, Self.model(attributes: 2)) }
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: Self.model(attributes: 2))
    let memory = try waitFor { try await coordinator.addPersistentStore(with: PersistentStoreDescription(type: .inMemory)) }
    let target = PersistentStoreDescription(url: url, key: Self.raw)
    assertFails(.alreadyExists) { try waitFor { _ = try await coordinator.migratePersistentStore(memory, to: target) } }
    XCTAssertEqual(folder.fileNames(), ["new.store.keys"])
    XCTAssertEqual(try Data(contentsOf: keys), Data("somebody's".utf8))
    XCTAssertEqual(coordinator.persistentStores.count, 1)
  }

  func testFailedMoveLeavesNothingAtTheDestination() throws {
    for type in [StoreType.inMemory, .sqlcipher] {
      let folder = try TemporaryFolder("FailedCreationTests")
      let coordinator = try PersistentStoreCoordinator(managedObjectModel: Self.model(attributes: 2))
      var source = PersistentStoreDescription(url: folder.file("old.store"), key: Self.raw)
      if type == .inMemory { source = PersistentStoreDescription(type: .inMemory) }
      let (place, wanted) = (folder.file("moved.store"), source)
      let store = try waitFor { try await coordinator.addPersistentStore(with: wanted) }
      let context = ManagedObjectContext(coordinator: coordinator)
      for number in 0..<10 { try context.insertObject(entityName: "Row").setValue(number, forKey: "a0") }
      try context.save()
      let before = folder.fileNames()
      var target = PersistentStoreDescription(url: place, key: Self.raw)
      target.postsRemoteChangeNotifications = true
      let hearing = target
      if type == .inMemory {
        withoutWatches {
          assertFails(.remoteChangesUnavailable) { try waitFor { _ = try await coordinator.migratePersistentStore(store, to: hearing) } }
        }
        XCTAssertEqual(folder.fileNames(), before)
      }
      let plain = PersistentStoreDescription(url: place, key: Self.raw)
      assertFails(.cancelled) { try waitFor { _ = try await coordinator.migratePersistentStore(store, to: plain) { _, _ in false } } }
      XCTAssertEqual(folder.fileNames(), before, "\(type)")
      try waitFor { _ = try await coordinator.migratePersistentStore(store, to: plain) }
      XCTAssertEqual(try ManagedObjectContext(coordinator: coordinator).count(for: FetchRequest<ManagedObject>(entityName: "Row")), 10)
      try close(coordinator)
    }
  }

  func testConcurrentlyCreatedDestinationIsNotOverwritten() throws {
    let folder = try TemporaryFolder("FailedCreationTests")
    let (source, target) = (folder.file("a.store"), folder.file("b.store"))
    try close(try add(source, Self.raw, Self.model(attributes: 2)))
    let file = try waitFor { try await SQLCipherStoreFile.unlock(at: source, key: Self.raw) }
    XCTAssertThrowsError(
      try waitFor {
        try await StoreReplacement.replace(target.path, requiresUnusedPath: true) { staged in
          try await file.backUp(to: URL(fileURLWithPath: staged))
          try Data("another's".utf8).write(to: target)
        }
      }
    ) { XCTAssertEqual(($0 as? StoreAccessError)?.kind, .fileExists, "\($0)") }
    XCTAssertEqual(folder.fileNames(), ["a.store", "a.store.keys", "b.store"])
    XCTAssertEqual(try Data(contentsOf: target), Data("another's".utf8))
  }

  func testFailedOpeningKeepsANewStoreInUse() throws {
    for key in Self.keys {
      let folder = try TemporaryFolder("FailedCreationTests")
      let path = folder.file("new.store").path
      func make() throws -> StoreKeyring {
        try waitFor { try await StoreKeyring.create(storePath: path, key: key, isRemovable: true) }
      }
      // No connection has used it.
      XCTAssertEqual(try make().newStore?.remove(), true)
      XCTAssertEqual(folder.fileNames(), [], "\(key)")
      // Another connection has it open.
      var keyring = try make()
      let open = try Connection(opening: path, key: keyring.databaseKey())
      XCTAssertEqual(keyring.newStore?.remove(), false)
      open.close()
      try StoreRemoval.destroy(path)
      // Another connection wrote to it.
      keyring = try make()
      let writer = try Connection(opening: path, key: keyring.databaseKey())
      try writer.execute("CREATE TABLE t (a)")
      writer.close()
      XCTAssertEqual(keyring.newStore?.remove(), false)
      XCTAssertTrue(StoreFile.exists(path))
      try StoreRemoval.destroy(path)
      // Another store has replaced it.
      let former = try make()
      try StoreRemoval.destroy(path)
      let other = try make()
      XCTAssertEqual(former.newStore?.remove(), false)
      XCTAssertTrue(StoreFile.exists(path))
      XCTAssertEqual(other.newStore?.remove(withContents: true), true)
      XCTAssertEqual(folder.fileNames(), [])
    }
  }

  func testFailedOpeningKeepsANewStoreWithChangedKeys() throws {
    let folder = try TemporaryFolder("FailedCreationTests")
    let path = folder.file("new.store").path
    let keyring = try waitFor { try await StoreKeyring.create(storePath: path, key: Self.raw, isRemovable: true) }
    let other = try waitFor { try await StoreKeyring.unlock(storePath: path, key: Self.raw) }
    _ = try waitFor { try await other.addSlot(.passphrase("mine", .cheapForTests())) }
    XCTAssertEqual(keyring.newStore?.remove(), false)
    XCTAssertEqual(folder.fileNames(), ["new.store", "new.store.keys"])
  }
}

import CoreData
import Foundation
import StoreKeys
import XCTest

/// The default location of stores is that of Apple's systems, and they are opened, destroyed and recreated in the same way.
final class StoreLocationTests: XCTestCase {
  private func names(_ type: (some NamesOfStores).Type) -> [String] { type.names }

  func testUnencryptedStoreTypesExistButDoNotOpen() throws {
    try LibraryStack.with { stack in
      let url = stack.folder.appendingPathComponent("Other.store")
      for name in names(OtherStores.self) {
        XCTAssertThrowsError(
          try stack.container.persistentStoreCoordinator.addPersistentStore(ofType: name, configurationName: nil, at: url)
        ) { XCTAssertTrue($0.localizedDescription.contains("NSSQLiteStoreType is the encrypted"), $0.localizedDescription) }
      }
      XCTAssertFalse(FileManager.default.fileExists(atPath: url.path))
    }
  }

  func testStoreOptionsAreApplied() throws {
    for (key, option) in [
      (NSPersistentStoreTimeoutOption, 3 as NSNumber), (NSPersistentStoreConnectionPoolMaxSizeKey, 2),
      (NSPersistentStoreDeferredLightweightMigrationOptionKey, true), (NSPersistentStoreFileProtectionKey, 1),
    ] {
      let stack = try LibraryStack(options: [key: option])
      defer { try? FileManager.default.removeItem(at: stack.folder) }
      XCTAssertNil(stack.loadError, key)
      try stack.container.persistentStoreCoordinator.finishDeferredLightweightMigrationTask()
      try stack.container.persistentStoreCoordinator.finishDeferredLightweightMigration()
    }
    let stack = try LibraryStack(options: ["NSSQLiteAnalyzeOption": true as NSNumber])
    defer { try? FileManager.default.removeItem(at: stack.folder) }
    let text = try XCTUnwrap(stack.loadError).localizedDescription
    XCTAssertTrue(text.contains("no option NSSQLiteAnalyzeOption of stores: SQLCipherStoreFile.updateStatistics"), text)
  }

  func testOpenStoresCanBeDestroyedAndOpenedAgain() throws {
    try LibraryStack.with { stack in
      stack.book("Emma")
      try stack.context.save()
      stack.context.reset()
      let coordinator = stack.container.persistentStoreCoordinator
      let key: StoreKey = .raw(SecretBytes(Array(repeating: 7, count: 32)))
      try coordinator.destroyPersistentStore(at: stack.file, ofType: NSSQLiteStoreType)
      XCTAssertEqual(coordinator.persistentStores, [])
      XCTAssertFalse(FileManager.default.fileExists(atPath: stack.file.path))
      try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: stack.file, options: [NSPersistentStoreEncryptionKeyOption: key])
      XCTAssertEqual(try stack.context.count(for: NSFetchRequest<Book>(entityName: "Book")), 0)
    }
  }

  func testStoresWithDeletedFilesAreCreatedAgain() throws {
    let stack = try LibraryStack()
    defer { try? FileManager.default.removeItem(at: stack.folder) }
    let coordinator = stack.container.persistentStoreCoordinator
    let key: StoreKey = .raw(SecretBytes(Array(repeating: 7, count: 32)))
    for round in 1...2 {
      stack.book("Emma")
      try stack.context.save()
      stack.context.reset()
      try coordinator.remove(try XCTUnwrap(coordinator.persistentStores.first))
      for ending in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: stack.file.path + ending) }
      try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: stack.file, options: [NSPersistentStoreEncryptionKeyOption: key])
      XCTAssertEqual(try stack.context.count(for: NSFetchRequest<Book>(entityName: "Book")), 0)
      // Keep its key file under another name.
      XCTAssertTrue(FileManager.default.fileExists(atPath: stack.file.path + ".keys.\(round)"))
    }
    // A store that was moved and restored keeps its key file.
    try coordinator.remove(try XCTUnwrap(coordinator.persistentStores.first))
    let reopened = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: stack.file, options: [NSPersistentStoreEncryptionKeyOption: key])
    XCTAssertEqual(reopened.url, stack.file)
    XCTAssertFalse(FileManager.default.fileExists(atPath: stack.file.path + ".keys.3"))
  }

  func testOpenStoresWithADeletedDatabaseFileAreCreatedAgain() throws {
    for endings in [[""], ["", "-wal", "-shm"]] {
      let stack = try LibraryStack()
      defer { try? FileManager.default.removeItem(at: stack.folder) }
      stack.book("Emma")
      try stack.context.save()
      for ending in endings { try? FileManager.default.removeItem(atPath: stack.file.path + ending) }
      let other = try LibraryStack(folder: stack.folder)
      XCTAssertNil(other.loadError, "\(endings)")
      XCTAssertEqual(try other.context.count(for: NSFetchRequest<Book>(entityName: "Book")), 0, "\(endings)")
      other.book("Persuasion")
      try other.context.save()
      // The deleted store is closed, and the new one stays intact.
      try stack.container.persistentStoreCoordinator.remove(
        try XCTUnwrap(stack.container.persistentStoreCoordinator.persistentStores.first))
      other.book("Sanditon")
      try other.context.save()
      try other.container.persistentStoreCoordinator.remove(
        try XCTUnwrap(other.container.persistentStoreCoordinator.persistentStores.first))
      let last = try LibraryStack(folder: stack.folder)
      XCTAssertEqual(try last.context.count(for: NSFetchRequest<Book>(entityName: "Book")), 2, "\(endings)")
      XCTAssertTrue(FileManager.default.fileExists(atPath: stack.file.path + ".keys.1"), "\(endings)")
    }
  }

  func testUserFoldersExist() throws {
    let files = FileManager.default
    let group = try XCTUnwrap(files.containerURL(forSecurityApplicationGroupIdentifier: "group.coredata.\(UUID().uuidString)"))
    defer { try? files.removeItem(at: group) }
    var isFolder: ObjCBool = false
    XCTAssertTrue(files.fileExists(atPath: group.path, isDirectory: &isFolder) && isFolder.boolValue)
    let documents = try XCTUnwrap(files.urls(for: .documentDirectory, in: .userDomainMask).first)
    let file = documents.appendingPathComponent("\(UUID().uuidString).sqlite")
    let coordinator = try LibraryStack(key: nil).container.persistentStoreCoordinator
    let key: StoreKey = .raw(SecretBytes(Array(repeating: 5, count: 32)))
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: file, options: [NSPersistentStoreEncryptionKeyOption: key])
    try coordinator.destroyPersistentStore(at: file, ofType: NSSQLiteStoreType, options: [NSPersistentStoreEncryptionKeyOption: key])
    // A folder of the application's own is not one of these.
    XCTAssertThrowsError(
      try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: documents.appendingPathComponent("none/\(UUID().uuidString)/a.sqlite"),
        options: [NSPersistentStoreEncryptionKeyOption: key]))
  }

  func testStoreMetadataCanBeSet() throws {
    try LibraryStack.with { stack in
      let store = try XCTUnwrap(stack.container.persistentStoreCoordinator.persistentStores.first)
      store.metadata?["app"] = "7"
      XCTAssertEqual(stack.container.persistentStoreCoordinator.metadata(for: store)["app"] as? String, "7")
      XCTAssertEqual(store.metadata?[NSStoreUUIDKey] as? String, store.identifier)
    }
  }
}

private protocol NamesOfStores { static var names: [String] { get } }

// A deprecated witness suppresses the warning.
private enum OtherStores: NamesOfStores {
  @available(*, deprecated)
  static var names: [String] {
    [NSBinaryStoreType, NSXMLStoreType, NSPersistentStore.StoreType.binary.rawValue, NSPersistentStore.StoreType.xml.rawValue]
  }
}

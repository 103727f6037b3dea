import CipherData
import Foundation
import XCTest

/// Stores of the earlier versions that generated code includes with its model.
final class EarlierVersionsTests: XCTestCase {
  private var url = URL(fileURLWithPath: "")
  private let key = StoreKey.raw(SecretBytes(Array(repeating: 7, count: 32)))

  override func setUp() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("CipherData-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    url = folder.appendingPathComponent("Diary.store")
    addTeardownBlock { try? FileManager.default.removeItem(at: folder) }
  }

  private var description: PersistentStoreDescription { PersistentStoreDescription(url: url, key: key) }

  /// Makes a store with a page, as an earlier release wrote it.
  private func makeStore(of version: ManagedObjectModelReference, _ values: [String: any Sendable]) async throws {
    let container = try PersistentContainer(
      name: "Diary", managedObjectModel: try version.resolvedModel, persistentStoreDescriptions: [description])
    try await container.loadPersistentStores()
    try await container.performBackgroundTask { context in
      let page = try context.insertObject(entityName: "Page")
      for (key, value) in values { try page.setValue(value, forKey: key) }
      try context.save()
    }
    try container.close()
  }

  func testVersionsAreListedOldestFirst() throws {
    let versions = DiaryModel.Versions.all
    XCTAssertEqual(try versions.map { try $0.resolvedModel.versionIdentifiers.sorted() }, [["1"], ["2"], ["3"]])
    XCTAssertEqual(try DiaryModel.Versions.diary2.versionChecksum, try versions[1].versionChecksum)
    XCTAssertTrue(versions[2] === DiaryModel.Versions.diary3)
  }

  func testStoresOfEarlierVersionsOpenWithoutConfiguration() async throws {
    // A property that was renamed twice is followed through the versions: the newest model does not have its first name.
    for (version, name) in zip(DiaryModel.Versions.all, ["heading", "title"]) {
      try await makeStore(of: version, [name: "The first \(name)"])
      let container = try DiaryModel.makeContainer(persistentStoreDescriptions: [description])
      try await container.loadPersistentStores()
      let found = try await container.performBackgroundTask { context in try context.fetch(Page.all).map { ($0.caption, $0.words) } }
      XCTAssertEqual(found.map(\.0), ["The first \(name)"])
      XCTAssertEqual(found.map(\.1), [0])
      try container.close()
      for file in try FileManager.default.contentsOfDirectory(at: url.deletingLastPathComponent(), includingPropertiesForKeys: nil) {
        try FileManager.default.removeItem(at: file)
      }
    }
  }

  func testACustomStageNamesItsVersions() async throws {
    try await makeStore(of: DiaryModel.Versions.diary, ["heading": "one two three"])
    let stage = CustomMigrationStage(migratingFrom: DiaryModel.Versions.diary2, to: DiaryModel.Versions.diary3) { migration in
      try migration.forEach("Page") { old, new in
        try new.setValue((old["title"] as? String ?? "").split(separator: " ").count, forKey: "words")
      }
    }
    let container = try DiaryModel.makeContainer(persistentStoreDescriptions: [description], customMigrationStages: [stage])
    try await container.loadPersistentStores()
    let words = try await container.performBackgroundTask { context in try context.fetch(Page.all).map(\.words) }
    XCTAssertEqual(words, [3])
    try container.close()
  }

  func testStoreDescriptionsKeepTheirOwnStages() async throws {
    try await makeStore(of: DiaryModel.Versions.diary, ["heading": "kept"])
    var own = description
    // Without the intermediate version, the renaming of the heading is unknown: the newest caption, which is required, has no value.
    own.stagedMigrationManager = StagedMigrationManager([
      LightweightMigrationStage([DiaryModel.Versions.diary, DiaryModel.Versions.diary3])
    ])
    let container = try DiaryModel.makeContainer(persistentStoreDescriptions: [own])
    do {
      try await container.loadPersistentStores()
      XCTFail("a required attribute without a value was accepted")
    } catch let error as StoreError {
      XCTAssertEqual(error.code, .mappingNotInferred)
    }
  }
}

import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import XCTest
import _TestSupport

/// Large values in files during custom stages and migrations with mapping models.
final class LargeValueStageTests: XCTestCase {
  private static func model(_ version: Int) -> ManagedObjectModel {
    ManagedObjectModel(version: "\(version)") {
      Entity("Photo") {
        Attribute("number", version == 1 ? .string : .integer32)
        Attribute("image", .binary).externalStorage()
        if version == 2 { Attribute("size", .integer32) }
      }
    }
  }

  private static func image(_ number: Int) -> Data { Data((0..<5_000).map { UInt8(truncatingIfNeeded: $0 &* number) }) }

  private func files(_ store: MigratingStore) throws -> [String] {
    let url = try XCTUnwrap(store.description.url)
    let folder = url.deletingLastPathComponent().appendingPathComponent(".\(url.lastPathComponent)_SUPPORT")
    return ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
  }

  private func findings(_ store: MigratingStore) async throws -> [String] {
    try await SQLCipherStoreFile.unlock(at: try XCTUnwrap(store.description.url), key: try XCTUnwrap(store.description.key)).verify(.full)
  }

  private func check(_ configure: (inout PersistentStoreDescription) throws -> Void) async throws {
    let store = try MigratingStore()
    store.description.externalStorageThreshold = 1_000
    try await store.fill(Self.model(1)) { context in
      for number in 1...20 { try context.make("Photo", ["number": "\(number)", "image": Self.image(number)]) }
    }
    try configure(&store.description)
    let context = try await store.open(Self.model(2))
    let photos = try context.objects("Photo", by: "number")
    XCTAssertEqual(photos.map { $0["number"] as? Int32 }, (1...20).map { Int32($0) })
    for photo in photos {
      let number = Int(try XCTUnwrap(photo["number"] as? Int32))
      XCTAssertEqual(photo["image"] as? Data, Self.image(number))
      XCTAssertEqual(photo["size"] as? Int32, 5_000)
    }
    for photo in photos { try photo.setValue(Data([1, 2, 3]), forKey: "image") }
    try context.save()
    let findings = try await SQLCipherStoreFile.unlock(at: try XCTUnwrap(store.description.url), key: try XCTUnwrap(store.description.key))
      .verify(.full)
    XCTAssertEqual(findings, [])
  }

  func testAHandlerReadsLargeValuesOnBothSides() async throws {
    try await check { description in
      description.stagedMigrationManager = StagedMigrationManager([
        CustomMigrationStage(
          migratingFrom: ManagedObjectModelReference(Self.model(1)), to: ManagedObjectModelReference(Self.model(2))
        ) { migration in
          try migration.forEach("Photo", batchSize: 6) { old, new in
            let number = Int(old["number"] as? String ?? "") ?? 0
            XCTAssertEqual(old["image"] as? Data, Self.image(number))
            XCTAssertEqual(new["image"] as? Data, Self.image(number))
            try new.setValue(number, forKey: "number")
            try new.setValue((old["image"] as? Data)?.count, forKey: "size")
          }
        }
      ])
    }
  }

  func testCopyingMappingPreservesLargeValues() async throws {
    try await check { description in
      description.mappingModels = [
        MappingModel([
          EntityMapping(
            .copy, from: "Photo", to: "Photo",
            attributeMappings: [
              PropertyMapping(name: "number") { source, _ in Int(source["number"] as? String ?? "") },
              PropertyMapping(name: "size") { source, _ in (source["image"] as? Data)?.count },
            ])
        ])
      ]
    }
  }

  // MARK: Values that the application sets

  /// Photos with a small copy each, which can also be large.
  private static func album(_ version: Int) -> ManagedObjectModel {
    ManagedObjectModel(version: "\(version)") {
      Entity("Photo") {
        Attribute("number", .integer32)
        Attribute("image", .binary).externalStorage()
        if version == 2 { Attribute("preview", .binary).externalStorage() }
        if version == 2 { Attribute("scan", .binary).externalStorage() }
      }
    }
  }

  private func makeAlbum(_ count: Int) async throws -> MigratingStore {
    let store = try MigratingStore()
    // The files of deleted values are removed immediately.
    store.description.durability = .full
    store.description.externalStorageThreshold = 1_000
    try await store.fill(Self.album(1)) { context in
      for number in 0..<count { try context.make("Photo", ["number": number, "image": Self.image(number + 1)]) }
    }
    return store
  }

  private func checkAlbum(_ store: MigratingStore, _ count: Int, line: UInt = #line) async throws {
    // Before the next save, each value has its file, and there are no others.
    let inFiles = try files(store)
    XCTAssertEqual(inFiles.count, 3 * count, line: line)
    let before = try await findings(store)
    XCTAssertEqual(before, [], line: line)
    let context = ManagedObjectContext(coordinator: try XCTUnwrap(store.coordinator))
    for photo in try context.objects("Photo", by: "number") {
      let number = Int(try XCTUnwrap(photo["number"] as? Int32))
      XCTAssertEqual(photo["image"] as? Data, Self.image(number + 1), line: line)
      XCTAssertEqual(photo["preview"] as? Data, Self.image(number + 2).prefix(2_000), line: line)
      XCTAssertEqual(photo["scan"] as? Data, Self.image(number + 1), line: line)
      context.delete(photo)
    }
    try context.save()
    let left = try files(store)
    XCTAssertEqual(left, [], line: line)
  }

  private func stage(_ body: @escaping @Sendable (ManagedObject, ManagedObject) throws -> Void) -> StagedMigrationManager {
    StagedMigrationManager([
      CustomMigrationStage(
        migratingFrom: ManagedObjectModelReference(Self.album(1)), to: ManagedObjectModelReference(Self.album(2))
      ) { migration in try migration.forEach("Photo", batchSize: 4) { old, new in try body(old, new) } }
    ])
  }

  func testValuesWrittenByAHandlerAreStoredInFiles() async throws {
    let store = try await makeAlbum(10)
    store.description.stagedMigrationManager = stage { old, new in
      let number = Int(try XCTUnwrap(old["number"] as? Int32))
      try new.setValue(Data(Self.image(number + 2).prefix(2_000)), forKey: "preview")
      // A value of the older store that is copied to another property of the newer store gets its own file.
      try new.setExternalData(old.externalData(forKey: "image"), forKey: "scan")
    }
    try await store.open(Self.album(2))
    try await checkAlbum(store, 10)
  }

  func testHandlerCollectsAValueInChunks() async throws {
    let store = try await makeAlbum(10)
    store.description.stagedMigrationManager = stage { old, new in
      let number = Int(try XCTUnwrap(old["number"] as? Int32))
      let writer = try new.makeExternalDataWriter()
      for piece in 0..<4 { try writer.write(Self.image(number + 2).dropFirst(500 * piece).prefix(500)) }
      try new.setExternalData(writer.finish(), forKey: "preview")
      try new.setExternalData(ExternalData(Self.image(number + 1)), forKey: "scan")
    }
    try await store.open(Self.album(2))
    try await checkAlbum(store, 10)
  }

  func testValuesComputedByAMappingAreStoredInFiles() async throws {
    let store = try await makeAlbum(10)
    store.description.shouldInferMappingModelAutomatically = false
    store.description.mappingModels = [
      MappingModel([
        EntityMapping(
          .copy, from: "Photo", to: "Photo",
          attributeMappings: [
            PropertyMapping(name: "preview") { source, _ in
              Data(Self.image(Int(source["number"] as? Int32 ?? 0) + 2).prefix(2_000))
            },
            PropertyMapping(name: "scan") { source, _ in source["image"] as? Data },
          ])
      ])
    ]
    try await store.open(Self.album(2))
    try await checkAlbum(store, 10)
  }

  func testHandlerThatReplacesAValueRemovesTheOldFile() async throws {
    let store = try await makeAlbum(6)
    store.description.stagedMigrationManager = stage { old, new in
      let number = Int(try XCTUnwrap(old["number"] as? Int32))
      try new.setValue(number % 2 == 0 ? Data([1]) : Self.image(40), forKey: "image")
    }
    let context = try await store.open(Self.album(2))
    XCTAssertEqual(try files(store).count, 3)
    let found = try await findings(store)
    XCTAssertEqual(found, [])
    for photo in try context.objects("Photo", by: "number") {
      let isEven = (photo["number"] as? Int32 ?? 0) % 2 == 0
      XCTAssertEqual(photo["image"] as? Data, isEven ? Data([1]) : Self.image(40))
    }
  }

  func testFailedHandlerLeavesFilesUnchanged() async throws {
    let store = try await makeAlbum(10)
    let before = try files(store)
    XCTAssertEqual(before.count, 10)
    store.description.stagedMigrationManager = stage { old, new in
      let number = Int(try XCTUnwrap(old["number"] as? Int32))
      if number == 8 { throw HandlerError() }
      try new.setValue(Self.image(number + 2), forKey: "image")
    }
    let error = await store.failure(Self.album(2))
    XCTAssertEqual(error?.code, .migrationFailed)
    XCTAssertEqual(try files(store), before)
    store.description.stagedMigrationManager = nil
    let context = try await store.open(Self.album(1))
    let images = try context.objects("Photo", by: "number").map { $0["image"] as? Data }
    XCTAssertEqual(images, (0..<10).map { Self.image($0 + 1) })
    let found = try await findings(store)
    XCTAssertEqual(found, [])
  }
}

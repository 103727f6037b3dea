// Large values outside the rows go through custom stages and mapping models.
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import XCTest
import _TestSupport

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

  func testACopyingMappingTakesLargeValuesOver() async throws {
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
}

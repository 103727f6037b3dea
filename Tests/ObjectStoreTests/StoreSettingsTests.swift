import Foundation
import ObjectModel
import XCTest
import _StoreSpecification

@testable import ObjectStore

extension StoreSettingKey<Bool> {
  fileprivate static var isIndented: Self { Self("isIndented") }
}

extension StoreSettingKey<Int> {
  fileprivate static var depth: Self { Self("depth") }
  fileprivate static var isIndentedAsNumber: Self { Self("isIndented") }
}

/// The settings that a description passes to a store class, by key or by a dictionary.
final class StoreSettingsTests: XCTestCase {
  private static let type = StoreType(rawValue: "WithSettings")

  /// A store with two settings that is never opened.
  private final class StoreWithSettings: IncrementalStore {
    static var settings: [StoreSetting] { [StoreSetting(.isIndented), StoreSetting(.depth)] }
    init(configuration: StoreConfiguration) throws {}
    func loadMetadata() throws -> StoreMetadata { throw StoreError(.unsupported, "") }
    func execute(_ request: PersistentStoreRequest, in scope: RequestScope) throws -> PersistentStoreResult { throw request.unsupported }
    func newValuesForObjects(with objectIDs: [ManagedObjectID], in scope: RequestScope) throws -> RowList { RowList([]) }
    func newValues(
      forRelationship relationship: CompiledRelationship, forObjectsWith objectIDs: [ManagedObjectID], in scope: RequestScope
    ) throws -> RelationshipValues { RelationshipValues() }
    func obtainPermanentIDs(for objectIDs: [ManagedObjectID], in scope: RequestScope) throws -> [ManagedObjectID] { [] }
    func close() throws {}
  }

  override func setUp() { PersistentStoreCoordinator.registerStoreClass(StoreWithSettings.self, forStoreType: Self.type) }
  override func tearDown() { PersistentStoreCoordinator.registerStoreClass(nil, forStoreType: Self.type) }

  private func error(_ options: [String: any Sendable], _ type: StoreType = StoreSettingsTests.type) -> StoreError? {
    do {
      _ = try PersistentStoreDescription(type: type, options: options)
      return nil
    } catch {
      return error
    }
  }

  func testSettingKeepsItsValueUntilRemoved() {
    var description = PersistentStoreDescription(type: Self.type)
    XCTAssertNil(description[.isIndented])
    description[.isIndented] = true
    description[.depth] = 3
    XCTAssertEqual(description[.isIndented], true)
    XCTAssertEqual(description[.depth], 3)
    description[.isIndented] = nil
    XCTAssertNil(description[.isIndented])
    XCTAssertEqual(description[.depth], 3)
  }

  func testKeysWithTheSameNameAndDifferentTypesAreDistinct() {
    var description = PersistentStoreDescription(type: Self.type)
    description[.isIndented] = true
    description[.isIndentedAsNumber] = 4
    XCTAssertEqual(description[.isIndented], true)
    XCTAssertEqual(description[.isIndentedAsNumber], 4)
  }

  func testDictionarySetsCommonAndStoreSpecificSettings() throws {
    let backup = URL(fileURLWithPath: "/backup")
    let description = try PersistentStoreDescription(
      type: Self.type, url: URL(fileURLWithPath: "/store"),
      options: [
        "isIndented": true, "depth": 2, "configuration": "Local", "isReadOnly": true, "createsStore": false,
        "shouldMigrateStoreAutomatically": false, "shouldInferMappingModelAutomatically": false, "defersLightweightMigration": true,
        "migrationBackupURL": backup, "requiresTransformers": true, "postsRemoteChangeNotifications": true,
      ])
    XCTAssertEqual(description.url?.path, "/store")
    XCTAssertEqual(description[.isIndented], true)
    XCTAssertEqual(description[.depth], 2)
    XCTAssertEqual(description.configuration, "Local")
    XCTAssertTrue(description.isReadOnly)
    XCTAssertFalse(description.createsStore)
    XCTAssertFalse(description.shouldMigrateStoreAutomatically)
    XCTAssertFalse(description.shouldInferMappingModelAutomatically)
    XCTAssertTrue(description.defersLightweightMigration)
    XCTAssertEqual(description.migrationBackupURL, backup)
    XCTAssertTrue(description.requiresTransformers)
    XCTAssertTrue(description.postsRemoteChangeNotifications)
  }

  func testStoreClassWithoutRemoteChangeSupportRejectsObservation() throws {
    let configuration = StoreConfiguration(
      description: PersistentStoreDescription(type: Self.type), model: SpecificationModels.library, entityNumbers: [])
    let store = try StoreWithSettings(configuration: configuration)
    let error = assertStoreError(.unsupported) { try store.observeRemoteCommits {} }
    XCTAssertEqual(error?.operation, .watch)
  }

  func testUnknownNameErrorListsTheKnownNames() throws {
    let error = try XCTUnwrap(error(["indented": true]))
    XCTAssertEqual(error.code, .invalidOption)
    XCTAssertEqual(error.operation, .open)
    XCTAssertEqual(error.optionName, "indented")
    XCTAssertTrue(error.message.contains("“indented”"), error.message)
    XCTAssertTrue(error.message.contains("depth, historyLevel, historyRetention, historyTracking, isIndented, isReadOnly"), error.message)
    XCTAssertNil(self.error(["isReadOnly": true], .inMemory))
    XCTAssertEqual(self.error(["isIndented": true], .inMemory)?.code, .invalidOption, "another class's setting")
    XCTAssertEqual(self.error([:], StoreType(rawValue: "Nobody's"))?.code, .unknownStoreType)
  }

  func testWrongTypeErrorNamesBothTypesAndNotTheValue() throws {
    let error = try XCTUnwrap(error(["depth": "secret"]))
    XCTAssertEqual(error.code, .invalidOption)
    XCTAssertEqual(error.optionName, "depth")
    XCTAssertEqual(error.message, "The option “depth” takes an integer, not a string.")
    XCTAssertEqual(
      self.error(["tracksObjectIdentity": "yes"], .inMemory)?.message, "The option “tracksObjectIdentity” takes a Boolean, not a string.")
    XCTAssertEqual(
      self.error(["historyLevel": true], .inMemory)?.message,
      "The option “historyLevel” takes a value of the type HistoryLevel, not a Boolean.")
    XCTAssertFalse(error.description.contains("secret"))
    let wrong: [(String, any Sendable)] = [
      ("isReadOnly", 1), ("isReadOnly", "true"), ("configuration", 1), ("migrationBackupURL", "/backup"), ("isIndented", 0),
    ]
    for (name, value) in wrong {
      XCTAssertEqual(self.error([name: value])?.optionName, name, "\(name): \(Swift.type(of: value))")
    }
  }

  func testCoreDataOptionErrorNamesTheReplacement() throws {
    XCTAssertEqual(CoreDataOption.allCases.count, 25)
    for option in CoreDataOption.allCases {
      let error = try XCTUnwrap(error([option.rawValue: true]), option.rawValue)
      XCTAssertEqual(error.code, .invalidOption)
      XCTAssertEqual(error.optionName, option.rawValue)
      XCTAssertTrue(error.message.contains("is an option of Core Data: \(option.counterpart)"), error.message)
    }
  }
}

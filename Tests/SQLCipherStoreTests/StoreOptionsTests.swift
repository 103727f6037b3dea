import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreKeys
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// The options of an encrypted store, set by properties of a description or by a dictionary.
final class StoreOptionsTests: XCTestCase {
  private let url = URL(fileURLWithPath: "/tmp/none.store")

  func testDictionaryAndPropertiesCreateEqualDescriptions() throws {
    let description = try PersistentStoreDescription(
      type: .sqlcipher, url: url,
      options: [
        "key": TestStore.key, "keyLabel": "mine", "keyWorkLimit": 3, "format": SQLCipherFormat.sqlcipher4,
        "durability": StoreDurability.fast,
        "busyTimeout": 1.5, "maximumReaderCount": 2, "cacheSize": 1 << 20, "enforcesForeignKeys": true, "externalStorageThreshold": 100,
        "isReadOnly": true, "logLimit": 5, "generationLogLimit": 6,
      ])
    XCTAssertNotNil(description.key)
    XCTAssertEqual(description.keyLabel, "mine")
    XCTAssertEqual(description.keyWorkLimit, 3)
    XCTAssertEqual(description.format, .sqlcipher4)
    XCTAssertEqual(description.durability, .fast)
    XCTAssertEqual(description.busyTimeout, 1.5)
    XCTAssertEqual(description.maximumReaderCount, 2)
    XCTAssertEqual(description.cacheSize, 1 << 20)
    XCTAssertTrue(description.enforcesForeignKeys)
    XCTAssertEqual(description.externalStorageThreshold, 100)
    XCTAssertTrue(description.isReadOnly)
    XCTAssertEqual(description.logLimit, 5)
    XCTAssertEqual(description.generationLogLimit, 6)
    XCTAssertEqual(SQLCipherIncrementalStore.settings.count, 12, "a setting that this test does not know")
  }

  func testStoreTypeNeedsNoRegistration() {
    func hasClass(_ type: StoreType) -> Bool { PersistentStoreCoordinator.storeClass(of: type) == SQLCipherIncrementalStore.self }
    XCTAssertTrue(hasClass(.sqlcipher))
    XCTAssertNil(PersistentStoreCoordinator.registeredStoreTypes[.sqlcipher])
    // Created from its name, the type gets its class with a key.
    var named = PersistentStoreDescription(type: StoreType(rawValue: "SQLCipher"), url: url)
    XCTAssertEqual(named.type, .sqlcipher)
    XCTAssertFalse(hasClass(named.type))
    named.key = TestStore.key
    XCTAssertTrue(hasClass(named.type))
  }

  func testAValueOfAnotherTypeIsRejected() {
    let wrong: [(String, any Sendable)] = [
      ("key", "a passphrase"), ("durability", "fast"), ("enforcesForeignKeys", 1), ("cacheSize", 1.5), ("busyTimeout", 5),
      ("maximumReaderCount", "4"), ("format", 3), ("keyWorkLimit", "3"), ("keyLabel", 1), ("externalStorageThreshold", 0.5),
      ("logLimit", "64 MiB"), ("generationLogLimit", 0.5),
    ]
    for (name, value) in wrong {
      XCTAssertThrowsError(try PersistentStoreDescription(type: .sqlcipher, url: url, options: [name: value]), name) { error in
        XCTAssertEqual((error as? StoreError)?.code, .invalidOption, name)
        XCTAssertEqual((error as? StoreError)?.optionName, name)
        XCTAssertFalse("\(error)".contains("a passphrase"))
      }
    }
  }

  func testPropertiesReplacePragmas() throws {
    let store = try TestStore()
    var description = store.description
    description.durability = .fast
    description.cacheSize = 1 << 20
    description.enforcesForeignKeys = true
    let open = try OpenStore(description, model: SpecificationModels.library)
    let engine = try XCTUnwrap(open.store as? SQLCipherIncrementalStore).engine(.read)
    let expected = ["journal_mode": "wal", "synchronous": "1", "cache_size": "-1024", "foreign_keys": "1", "page_size": "4096"]
    try engine.pool.withWriter { connection in
      for (name, value) in expected { XCTAssertEqual(try connection.pragma(name), value, name) }
    }
    try open.close()
  }

  func testTimeoutLimitsHowLongASaveWaitsForAnother() throws {
    let store = try TestStore()
    let first = try store.open()
    var description = store.description
    description.busyTimeout = 0.02
    let second = try OpenStore(description, model: SpecificationModels.library)
    let save = second.newSave()
    try save.insert("Tag", ["name": .text("blue")])
    let engine = try XCTUnwrap(first.store as? SQLCipherIncrementalStore).engine(.read)
    _ = try engine.pool.withWriter { connection in
      try connection.writeTransaction { assertStoreError(.busy) { try save.commit() } }
    }
    try second.close()
    try first.close()
  }
}

import Foundation
import ObjectStore
import StoreKeys
import XCTest
import _StoreSpecification

@testable import SQLCipherStore

/// An encrypted store with a raw key.
struct SQLCipherStoreUnderTest: StoreUnderTest {
  var enforcesForeignKeys = false

  var name: String { enforcesForeignKeys ? "SQLCipher with foreign keys" : "SQLCipher" }
  var keepsRows: Bool { true }

  func storeDescription(in folder: URL) -> PersistentStoreDescription {
    var description = PersistentStoreDescription(
      url: folder.appendingPathComponent("test.store"), key: .databaseKey(SecretBytes([UInt8](repeating: 7, count: 32))))
    description.durability = .fast
    description.enforcesForeignKeys = enforcesForeignKeys
    return description
  }
}

final class SQLCipherStoreSpecificationTests: XCTestCase {
  func testTheEncryptedStoreMeetsTheSpecification() {
    verify(SQLCipherStoreUnderTest(), meets: StoreSpecification.storeSuites)
  }

  func testTheEncryptedStoreMeetsTheSpecificationWithForeignKeysChecked() {
    verify(SQLCipherStoreUnderTest(enforcesForeignKeys: true), meets: StoreSpecification.storeSuites)
  }

  func testTheEncryptedStoreMeetsTheSpecificationIfBatchRequestsAreDividedIntoChunks() {
    for store in [SQLCipherStoreUnderTest(), SQLCipherStoreUnderTest(enforcesForeignKeys: true)] {
      BatchTransaction.$chunkSize.withValue(1) { verify(store, meets: StoreSpecification.storeSuites) }
    }
  }
}

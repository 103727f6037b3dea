import Foundation
import ObjectStore
import SQLCipherStore
import StoreKeys
import XCTest
import _StoreSpecification

/// An encrypted store, with or without foreign key checks.
struct SQLCipherStoreUnderTest: StoreUnderTest {
  var checksForeignKeys = false

  var name: String { checksForeignKeys ? "SQLCipher with foreign keys" : "SQLCipher" }
  var keepsRows: Bool { true }

  func storeDescription(in folder: URL) -> PersistentStoreDescription {
    var description = PersistentStoreDescription(
      url: folder.appendingPathComponent("test.store"), key: .databaseKey(SecretBytes([UInt8](repeating: 5, count: 32))))
    description.durability = .fast
    description.enforcesForeignKeys = checksForeignKeys
    return description
  }
}

/// Managed objects behave the same with every built-in store.
final class ContextSpecificationTests: XCTestCase {
  func testObjectsOverTheInMemoryStoreMeetTheSpecification() {
    verify(InMemoryStoreUnderTest(), meets: StoreSpecification.objectSuites)
  }

  func testObjectsOverTheEncryptedStoreMeetTheSpecification() {
    verify(SQLCipherStoreUnderTest(), meets: StoreSpecification.objectSuites)
  }

  func testObjectsOverTheEncryptedStoreWithForeignKeysMeetTheSpecification() {
    verify(SQLCipherStoreUnderTest(checksForeignKeys: true), meets: StoreSpecification.objectSuites)
  }

  func testBuiltInStoresReportTheSameHistory() {
    verify(InMemoryStoreUnderTest(), meets: StoreSpecification.historySuites)
    verify(SQLCipherStoreUnderTest(), meets: StoreSpecification.historySuites)
    verify(SQLCipherStoreUnderTest(checksForeignKeys: true), meets: StoreSpecification.historySuites)
  }
}

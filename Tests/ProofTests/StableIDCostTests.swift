import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SQLCipherStore
import StoreKeys
import XCTest
import _AllocationCounter
import _StoreSpecification
import _TestSupport

/// Imports of synchronization find objects by their stable IDs hundreds of thousands of times in a transaction.
final class StableIDCostTests: XCTestCase {
  func testRequestsOfATransactionDecodeTheComponentsOnce() throws {
    let folder = try TemporaryFolder("StableIDCostTests")
    let model = try CompiledModel(ManagedObjectModel { Entity("Note") { Attribute("text", .string) } })
    var description = PersistentStoreDescription(
      url: folder.file("notes.store"), key: .databaseKey(SecretBytes([UInt8](repeating: 7, count: 32))))
    (description.tracksObjectIdentity, description.historyTracking) = (true, true)
    let store = try OpenStore(description, model: model)
    let context = store.newContext()
    let note = try context.insertObject(entityName: "Note")
    try context.save()
    let id = try XCTUnwrap(note.stableID)
    // A request needs some 70 allocations, and twice as many if it decodes the components.
    try context.performTransaction {
      func allocations(_ count: Int) throws -> UInt64 {
        allocation_counter_start_on_this_thread()
        defer { _ = allocation_counter_stop() }
        for _ in 0..<count { XCTAssertNil(try context.object(forStableID: UUID())) }
        return allocation_counter_stop().allocations
      }
      _ = try allocations(2)
      let few = try allocations(10)
      let many = try allocations(60)
      XCTAssertLessThan(many - few, 50 * 100)
      XCTAssertEqual(try context.object(forStableID: id)?.objectID, note.objectID)
    }
    try store.close()
  }
}

// RowCacheTests: the rows that all contexts share are the newest, and are bounded.
import Foundation
import ObjectModel
import ObjectStore
import XCTest
import _StoreSpecification

final class RowCacheTests: XCTestCase {
  private let model = SpecificationModels.library

  private func rows(_ entity: String, _ keys: some Sequence<Int64>, version: Int64 = 1, text: String = "x") throws -> RowList {
    let entity = try XCTUnwrap(model.entity(named: entity))
    let writer = RowWriter()
    for key in keys {
      writer.beginRow(entityNumber: entity.number, slotCount: entity.slots.count, key: key, version: version)
      writer.setString(text, at: 0)
      writer.endRow()
    }
    return writer.finish()
  }

  func testRowsAreFoundByEntityTreeAndKey() throws {
    let cache = RowCache(model: model, byteLimit: 1 << 20)
    let (authors, tags) = (try rows("Author", 1...600, text: "author"), try rows("Tag", 1...600, text: "tag"))
    cache.insert(authors, readAt: cache.generation)
    cache.insert(tags, readAt: cache.generation)
    for row in authors { XCTAssertEqual(cache.row(row.reference)?.string(0), "author") }
    for row in tags { XCTAssertEqual(cache.row(row.reference)?.string(0), "tag") }
    cache.remove([tags[5].reference])
    XCTAssertNil(cache.row(tags[5].reference))
    cache.removeAll()
    XCTAssertNil(cache.row(authors[0].reference))
  }

  func testAReadThatBeganBeforeASaveKeepsNothing() throws {
    let cache = RowCache(model: model, byteLimit: 1 << 20)
    let old = try rows("Tag", [1], text: "old")
    let generation = cache.generation
    var request = SaveChangesRequest()
    let new = try rows("Tag", [1], version: 2, text: "new")
    request.updated = [SaveChangesRequest.Update(row: new[0], changedSlots: SlotMask(), oldVersion: 1)]
    cache.apply(request)
    cache.insert(old, readAt: generation)
    XCTAssertEqual(cache.row(old[0].reference)?.string(0), "new")
    cache.insert(old, readAt: cache.generation)
    XCTAssertEqual(cache.row(old[0].reference)?.string(0), "new", "An older version never takes a newer one's place.")
  }

  func testAReadThatBeganBeforeAConflictKeepsNothing() throws {
    let cache = RowCache(model: model, byteLimit: 1 << 20)
    let old = try rows("Tag", [1])
    let generation = cache.generation
    cache.remove([old[0].reference])
    cache.insert(old, readAt: generation)
    XCTAssertNil(cache.row(old[0].reference))
  }

  func testADeletedRowIsForgotten() throws {
    let cache = RowCache(model: model, byteLimit: 1 << 20)
    let tags = try rows("Tag", 1...3)
    cache.insert(tags, readAt: cache.generation)
    var request = SaveChangesRequest()
    request.deleted = [SaveChangesRequest.VersionedReference(reference: tags[1].reference, version: 1)]
    cache.apply(request)
    XCTAssertNil(cache.row(tags[1].reference))
    XCTAssertNotNil(cache.row(tags[0].reference))
  }

  func testTheCacheStaysWithinItsLimit() throws {
    let limit = 200_000
    let cache = RowCache(model: model, byteLimit: limit)
    let text = String(repeating: "y", count: 100)
    for start in stride(from: Int64(1), to: 50_000, by: 500) {
      cache.insert(try rows("Tag", start..<start + 500, text: text), readAt: cache.generation)
    }
    let entity = try XCTUnwrap(model.entity(named: "Tag")).number
    let held = (1..<50_000).filter { cache.row(ObjectReference(entity: entity, key: Int64($0))) != nil }
    XCTAssertLessThan(held.count * 100, limit * 2)
    XCTAssertTrue(held.contains(49_999), "The last rows stay.")
  }

  func testNothingIsKeptDuringATransaction() throws {
    let cache = RowCache(model: model, byteLimit: 1 << 20)
    let tags = try rows("Tag", 1...2)
    cache.insert(RowList([tags[0]]), readAt: cache.generation)
    cache.suspend()
    var request = SaveChangesRequest()
    request.inserted = RowList([tags[1]])
    request.updated = [SaveChangesRequest.Update(row: tags[0], changedSlots: SlotMask(), oldVersion: 1)]
    cache.apply(request)
    cache.insert(tags, readAt: cache.generation)
    XCTAssertNil(cache.row(tags[0].reference))
    XCTAssertNil(cache.row(tags[1].reference))
    cache.resume()
    cache.insert(tags, readAt: cache.generation)
    XCTAssertNotNil(cache.row(tags[1].reference))
  }

  func testSavesOfSeveralThreadsLeaveTheNewestRow() throws {
    let open = try OpenStore(PersistentStoreDescription(type: .inMemory), model: model)
    let id = try open.insert("Author", ["born": .int(0)])
    let (coordinator, store, scope) = (open.coordinator, open.persistentStore, open.scope)
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      for _ in 0..<100 {
        guard let row = try? open.row(id) else { return XCTFail("The row is gone.") }
        let writer = RowWriter(rowCapacity: 1)
        writer.beginRow(entityNumber: row.entityNumber, slotCount: row.slotCount, key: row.key, version: row.version + 1)
        let image = writer.endRow()
        var request = SaveChangesRequest()
        request.updated = [SaveChangesRequest.Update(row: image, changedSlots: SlotMask(), oldVersion: row.version)]
        // Some of them are too late, and fail.
        _ = try? coordinator.save(request, to: store, scope: scope)
      }
    }
    let stored = try XCTUnwrap(open.row(id))
    XCTAssertGreaterThan(stored.version, 1)
    if let cached = store.cache.row(id.reference) { XCTAssertEqual(cached.version, stored.version) }
    try open.close()
  }
}

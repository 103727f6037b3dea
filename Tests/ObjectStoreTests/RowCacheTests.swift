import Foundation
import ObjectModel
import ObjectStore
import XCTest
import _StoreSpecification

/// The row cache that all contexts share contains the newest rows, and is bounded.
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

  func testRowsAreFoundByEntityHierarchyAndKey() throws {
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

  func testReadStartedBeforeASaveCachesNothing() throws {
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

  func testLargeSaveUpdatesCachedRowsInEveryShard() throws {
    // One shard, and many.
    for byteLimit in [1 << 20, 64 << 20] {
      let cache = RowCache(model: model, byteLimit: byteLimit)
      let keys = (0..<900).map { Int64($0 * 7919 % 900 * 41 + 1) }
      cache.insert(try rows("Tag", keys.sorted().prefix(500), text: "old"), readAt: cache.generation)
      // A shared page keeps its contents.
      let shared = try XCTUnwrap(cache.rowTable(root: try XCTUnwrap(model.entity(named: "Tag")).root, number: 0))
      let new = try rows("Tag", keys, version: 2, text: "a longer new one")
      var request = SaveChangesRequest()
      request.updated = new.map { SaveChangesRequest.Update(row: $0, changedSlots: SlotMask(), oldVersion: 1) }
      // If a row occurs twice, the later one counts.
      let last = try rows("Tag", [keys[7]], version: 3, text: "last")
      request.updated.insert(SaveChangesRequest.Update(row: last[0], changedSlots: SlotMask(), oldVersion: 2), at: 8)
      cache.apply(request)
      for row in new {
        XCTAssertEqual(cache.row(row.reference)?.string(0), row.key == keys[7] ? "last" : "a longer new one", "key \(row.key)")
      }
      XCTAssertTrue((0..<RowTable.size).contains { shared.entries[$0].pointee.row.map { RowImage(heldRow: $0).string(0) } == "old" })
      #if CIPHERDATA_CHECKS
        cache._checkInvariants()
      #endif
    }
  }

  func testReadStartedBeforeAConflictCachesNothing() throws {
    let cache = RowCache(model: model, byteLimit: 1 << 20)
    let old = try rows("Tag", [1])
    let generation = cache.generation
    cache.remove([old[0].reference])
    cache.insert(old, readAt: generation)
    XCTAssertNil(cache.row(old[0].reference))
  }

  func testDeletedRowIsEvicted() throws {
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

  func testLargeShardedCacheEvictsTheFirstPages() throws {
    let limit = 32 << 20
    let cache = RowCache(model: model, byteLimit: limit)
    let text = String(repeating: "y", count: 5_000)
    let entity = try XCTUnwrap(model.entity(named: "Tag")).number
    // Far more than the cache holds; the last page alone exceeds a shard's part of the limit.
    for start in stride(from: Int64(0), to: 20_480, by: 512) {
      cache.insert(try rows("Tag", start..<start + 512, text: text), readAt: cache.generation)
    }
    let held = (0..<20_480).filter { cache.row(ObjectReference(entity: entity, key: Int64($0))) != nil }
    XCTAssertLessThanOrEqual(held.count * 5_000, limit)
    XCTAssertGreaterThan(held.count * 5_000, limit / 2)
    XCTAssertEqual(held, Array(20_480 - held.count..<20_480), "The rows that came last stay.")
    cache.removeAll()
    XCTAssertNil(cache.row(ObjectReference(entity: entity, key: 20_479)))
    // Keys beyond the dense range and negative keys are found too.
    let far = try rows("Tag", [Int64(1) << 40, 1 << 30, 5, -700, -1])
    cache.insert(far, readAt: cache.generation)
    for row in far { XCTAssertEqual(cache.row(row.reference)?.key, row.key) }
  }

  func testLargeImportsAreNotCached() throws {
    let cache = RowCache(model: model, byteLimit: 32 << 20)
    for (count, isKept) in [(1_000, true), (1_001, false)] {
      var request = SaveChangesRequest()
      request.inserted = try rows("Tag", 1...Int64(count))
      cache.apply(request)
      XCTAssertEqual(cache.row(request.inserted[0].reference) != nil, isKept)
      cache.removeAll()
    }
  }

  func testThreadsReadAndWriteConcurrently() throws {
    let cache = RowCache(model: model, byteLimit: 2 << 20)
    let entity = try XCTUnwrap(model.entity(named: "Tag")).number
    let versions = try (1...20).map { try rows("Tag", 0..<5_000, version: Int64($0), text: "text \($0)") }
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      var random = SystemRandomNumberGenerator()
      for round in 0..<20 {
        switch thread {
        case 0:
          var request = SaveChangesRequest()
          let saved = (0..<100).map { versions[round][$0 * 50] }
          request.updated = saved.map { SaveChangesRequest.Update(row: $0, changedSlots: SlotMask(), oldVersion: 1) }
          cache.apply(request)
        case 1: cache.insert(versions[round], readAt: cache.generation)
        case 2: cache.remove((0..<100).map { ObjectReference(entity: entity, key: $0 * 37) })
        case 3 where round % 5 == 4: cache.removeAll()
        default:
          for _ in 0..<2_000 {
            let key = Int64.random(in: 0..<5_000, using: &random)
            guard let row = cache.row(ObjectReference(entity: entity, key: key)) else { continue }
            XCTAssertEqual(row.key, key)
            XCTAssertEqual(row.string(0), "text \(row.version)")
          }
        }
      }
    }
    // The last save's rows are the newest.
    var request = SaveChangesRequest()
    request.updated = [SaveChangesRequest.Update(row: versions[19][50], changedSlots: SlotMask(), oldVersion: 1)]
    cache.apply(request)
    XCTAssertEqual(cache.row(versions[19][50].reference)?.version, 20)
    #if CIPHERDATA_CHECKS
      cache._checkInvariants()
    #endif
  }

  func testNothingIsCachedDuringATransaction() throws {
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

  func testConcurrentSavesLeaveTheNewestRow() throws {
    let open = try OpenStore(PersistentStoreDescription(type: .inMemory), model: model)
    let id = try open.insert("Author", ["born": .int(0)])
    let (coordinator, store, scope) = (open.coordinator, open.persistentStore, open.scope)
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      for _ in 0..<100 {
        guard let row = try? open.row(id) else { return XCTFail("The row is missing.") }
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

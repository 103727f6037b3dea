import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import XCTest
import _TestSupport

/// Limits and offsets under random unsaved changes, in one store and in several (rows F6, F8, F16, F17).
final class FetchWindowTests: XCTestCase {
  private let model = ManagedObjectModel {
    Entity("Thing") {
      Attribute("name", .string)
      Attribute("rank", .integer64)
      Attribute("number", .integer64)
      Attribute("mood", .string).transient()
    }
    Entity("Special", parent: "Thing")
  }

  private let formats = [
    nil, "rank < 5", "rank == nil OR name == 'b'", "name IN {'a', 'c'} AND NOT rank BETWEEN {3, 6}", "rank > 100", "FALSEPREDICATE",
  ]

  /// The expected values of an object.
  private struct Expected {
    var name: String
    var rank: Int64?
    var number: Int64
    var isSpecial: Bool

    func meets(_ format: String?) -> Bool {
      switch format {
      case nil: true
      case "rank < 5": rank.map { $0 < 5 } ?? false
      case "rank == nil OR name == 'b'": rank == nil || name == "b"
      case "name IN {'a', 'c'} AND NOT rank BETWEEN {3, 6}": ["a", "c"].contains(name) && !(rank.map { (3...6).contains($0) } ?? false)
      default: false
      }
    }
  }

  func testEveryWindowIsExactUnderRandomChanges() async throws {
    for storeCount in [1, 2] {
      for kind in StoreKind.allCases {
        let folder = try TemporaryFolder()
        let coordinator = try PersistentStoreCoordinator(managedObjectModel: model)
        for number in 0..<storeCount {
          try await coordinator.addPersistentStore(
            with: kind == .inMemory ? PersistentStoreDescription(type: .inMemory) : .encrypted(in: folder, "\(number).store"))
        }
        var generator = SeededGenerator(seed: UInt64(storeCount))
        for _ in 0..<6 { try checkRandomly(coordinator, &generator) }
        for store in coordinator.persistentStores { try coordinator.remove(store) }
      }
    }
  }

  private func checkRandomly(_ coordinator: PersistentStoreCoordinator, _ generator: inout SeededGenerator) throws {
    let stores = coordinator.persistentStores
    let context = ManagedObjectContext(coordinator: coordinator)
    for object in try context.objects("Thing") { context.delete(object) }
    try context.save()
    var expected: [ManagedObject: Expected] = [:]
    var homes: [ManagedObject: PersistentStore] = [:]
    var lastNumber: Int64 = 0
    func change(_ object: ManagedObject) throws {
      lastNumber += 1
      let value = Expected(
        name: ["a", "b", "c"].randomElement(using: &generator) ?? "a",
        rank: Int.random(in: 0..<8, using: &generator) == 0 ? nil : Int64.random(in: 0..<10, using: &generator), number: lastNumber,
        isSpecial: object.entity.name == "Special")
      expected[object] = value
      try object.setValue(value.name, forKey: "name")
      try object.setValue(value.rank, forKey: "rank")
      try object.setValue(value.number, forKey: "number")
    }
    func insert() throws {
      let object = try context.insertObject(entityName: Bool.random(using: &generator) ? "Thing" : "Special")
      let home = stores[Int.random(in: 0..<stores.count, using: &generator)]
      try context.assign(object, to: home)
      homes[object] = home
      try change(object)
    }
    for _ in 0..<Int.random(in: 0..<40, using: &generator) { try insert() }
    try context.save()
    for _ in 0..<Int.random(in: 0..<25, using: &generator) {
      let known = expected.keys.sorted { (expected[$0]?.number ?? 0) < (expected[$1]?.number ?? 0) }
      switch Int.random(in: 0..<4, using: &generator) {
      case 0: try insert()
      case 1:
        if let object = known.randomElement(using: &generator) {
          context.delete(object)
          expected[object] = nil
        }
      default: if let object = known.randomElement(using: &generator) { try change(object) }
      }
    }
    for format in formats {
      for isAscending in [true, false] {
        for includesSubentities in [true, false] {
          for asked in stores.count > 1 ? [nil, [stores[1]]] : [nil] {
            let limit = [0, 1, 3, 10, 1_000, .max].randomElement(using: &generator) ?? 0
            let offset = [0, 0, 1, 4, 20, .max].randomElement(using: &generator) ?? 0
            var request = FetchRequest<ManagedObject>(entityName: "Thing", predicate: try format.map { try FetchPredicate(format: $0) })
            request.sortDescriptors = [FetchSortDescriptor("rank", ascending: isAscending), FetchSortDescriptor("number")]
            (request.fetchLimit, request.fetchOffset) = (limit, offset)
            request.includesSubentities = includesSubentities
            request.affectedStores = asked?.map(\.identifier)
            var rows = expected.filter { object, value in
              value.meets(format) && (includesSubentities || !value.isSpecial) && (asked?.contains { $0 === homes[object] } ?? true)
            }.map(\.value)
            rows.sort { left, right in
              if left.rank != right.rank { return ((left.rank ?? -1) < (right.rank ?? -1)) == isAscending }
              return left.number < right.number
            }
            let window = rows.dropFirst(offset).prefix(limit == 0 ? .max : limit).map(\.number)
            try check(request, window, context)
          }
        }
      }
    }
  }

  /// Asserts that all ways to fetch a window agree.
  private func check(_ request: FetchRequest<ManagedObject>, _ window: [Int64], _ context: ManagedObjectContext) throws {
    let text = "\(request)"
    func numbers(_ objects: some Sequence<ManagedObject>) -> [Int64] { objects.compactMap { $0["number"] as? Int64 } }
    XCTAssertEqual(numbers(try context.fetch(request)), window, text)
    XCTAssertEqual(try context.count(for: request), window.count, text)
    var ids = FetchRequest<ManagedObjectID>(entityName: "Thing")
    ids.specification = request.specification
    XCTAssertEqual(numbers(try context.fetch(ids).map(context.object(with:))), window, text)
    var batched = request
    batched.fetchBatchSize = 3
    XCTAssertEqual(numbers(try context.fetch(batched)), window, text)
    XCTAssertEqual(numbers(try context.fetch(request, batchSize: 3)), window, text)
    var walked: [Int64] = []
    try context.enumerateBatches(of: request, size: 4) { objects, _ in walked += numbers(objects) }
    XCTAssertEqual(walked, window, text)
    var partial = request
    partial.propertiesToFetch = ["number"]
    XCTAssertEqual(numbers(try context.fetch(partial)), window, text)
    var filtered = request
    filtered.allowsInMemoryFiltering = true
    let block = FetchPredicate.block("always") { (_: ManagedObject) in true }
    filtered.predicate = filtered.predicate.map { $0 && block } ?? block
    XCTAssertEqual(numbers(try context.fetch(filtered)), window, text)
    XCTAssertEqual(try context.count(for: filtered), window.count, text)
    var unsorted = request
    unsorted.sortDescriptors = []
    XCTAssertEqual(try context.count(for: unsorted), window.count, text)
    XCTAssertEqual(try context.fetch(unsorted).count, window.count, text)
  }

  func testVeryLargeBatchReturnsEverything() async throws {
    try await onEachStore(model: model, classes: ManagedObjectClasses()) { stack in
      let context = stack.makeContext()
      for rank in 0..<3 { try context.make("Thing", ["rank": rank]) }
      for isSaved in [false, true] {
        if isSaved { try context.save() }
        var request = FetchRequest<ManagedObject>(entityName: "Thing")
        request.fetchBatchSize = .max
        XCTAssertEqual(try context.fetch(request, batchSize: .max).compactMap { $0["rank"] }.count, 3)
        XCTAssertEqual(try context.fetch(request).compactMap { $0["rank"] }.count, 3)
        var count = 0
        try context.enumerateBatches(of: request, size: .max) { objects, _ in count += objects.count }
        XCTAssertEqual(count, 3)
      }
    }
  }

  func testVeryLargeLimitIsUnlimited() async throws {
    try await onEachStore(model: model, classes: ManagedObjectClasses()) { stack in
      let context = stack.makeContext()
      for rank in 0..<30 { try context.make("Thing", ["rank": rank]) }
      try context.save()
      var request = FetchRequest<ManagedObject>(entityName: "Thing")
      request.sortDescriptors = [FetchSortDescriptor("rank")]
      // A small limit comes first, to check that its plan is not reused for a large one.
      for (limit, offset, count) in [(10, 3, 10), (.max, 0, 30), (.max, 5, 25), (10, .max, 0), (.max, .max, 0), (6_000, 2, 28)] {
        (request.fetchLimit, request.fetchOffset) = (limit, offset)
        XCTAssertEqual(try context.fetch(request).count, count, "\(limit) \(offset)")
        XCTAssertEqual(try context.count(for: request), count, "\(limit) \(offset)")
      }
    }
  }

  func testUnqueriedStoreContributesNoNewObjects() async throws {
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: model)
    for _ in 0..<2 { try await coordinator.addPersistentStore(with: PersistentStoreDescription(type: .inMemory)) }
    let context = ManagedObjectContext(coordinator: coordinator)
    let stores = coordinator.persistentStores
    for (number, store) in stores.enumerated() { try context.assign(try context.make("Thing", ["number": number]), to: store) }
    for isSaved in [false, true] {
      if isSaved { try context.save() }
      for (number, store) in stores.enumerated() {
        var request = FetchRequest<ManagedObject>(entityName: "Thing")
        request.affectedStores = [store.identifier]
        XCTAssertEqual(try context.fetch(request).map { $0["number"] as? Int64 }, [Int64(number)])
        XCTAssertEqual(try context.count(for: request), 1)
      }
      var none = FetchRequest<ManagedObject>(entityName: "Thing")
      none.affectedStores = ["no such store"]
      XCTAssertThrowsError(try context.fetch(none)) { XCTAssertEqual(($0 as? StoreError)?.code, .noOpenStore) }
      XCTAssertThrowsError(try context.count(for: none)) { XCTAssertEqual(($0 as? StoreError)?.code, .noOpenStore) }
    }
  }
}

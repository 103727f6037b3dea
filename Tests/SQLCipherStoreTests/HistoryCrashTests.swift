import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// The state of a store with a history after its process ends at any point of a save, a purge, or a switch.
final class HistoryCrashTests: XCTestCase {
  /// Runs `body`, and copies the store before each statement.
  private func points(
    _ store: TestStore, _ prepare: (OpenStore) throws -> Void, _ body: (OpenStore) throws -> Void
  ) throws -> (copies: [URL], folder: TemporaryFolder) {
    let folder = try TemporaryFolder("HistoryCrashTests")
    let points = CrashPoints(of: store.url, in: folder)
    let isOn = Mutex(false)
    let observer = SQLObserver(beforeEach: { _ in if isOn.withLock({ $0 }) { points.note() } })
    var description = store.description
    description.historyTracking = true
    description.sqlObserver = observer
    let open = try OpenStore(description, model: SpecificationModels.library)
    try prepare(open)
    isOn.withLock { $0 = true }
    try body(open)
    isOn.withLock { $0 = false }
    points.note()
    try open.close()
    return (points.copies, folder)
  }

  private func open(_ url: URL, _ store: TestStore) throws -> OpenStore {
    var description = store.description
    description.url = url
    description.sqlObserver = nil
    return try OpenStore(description, model: SpecificationModels.library)
  }

  func testRowsAndHistoryRecordsAreWrittenAtomically() throws {
    let store = try TestStore()
    let (copies, folder) = try points(store) { _ in
    } _: { open in
      for number in 0..<60 {
        let context = open.newContext()
        let tag = try context.insert("Tag", ["name": "\(number)"])
        if number % 3 == 0 { try context.insert("Book", ["title": "\(number)", "tags": Set([tag])]) }
        if number % 5 == 4, let book = try context.all("Book").first { context.delete(book) }
        try context.save()
        if number % 7 == 0 {
          try context.execute(BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["pages": Int64(number)]))
        }
      }
    }
    XCTAssertGreaterThan(copies.count, 200)
    var counts: Set<Int> = []
    try withExtendedLifetime(folder) {
      for copy in copies {
        let open = try open(copy, store)
        let changes = try open.coordinator.execute(.fetchHistory(after: nil)).transactions.flatMap { $0.changes ?? [] }
        // The records match the rows.
        var living: [String: Int] = [:]
        for change in changes {
          switch change.changeType {
          case .insert: living[change.changedObjectID.entityName, default: 0] += 1
          case .delete: living[change.changedObjectID.entityName, default: 0] -= 1
          case .update: break
          }
        }
        XCTAssertEqual(living["Tag"] ?? 0, try open.count("Tag"))
        XCTAssertEqual(living["Book"] ?? 0, try open.count("Book"))
        counts.insert(try open.count("Tag"))
        try open.insert("Tag", ["name": .text("after")])
        try open.close()
      }
    }
    XCTAssertGreaterThan(counts.count, 50)
  }

  func testKilledPurgeDeletesAPrefix() throws {
    let store = try TestStore()
    let (copies, folder) = try points(store) { open in
      for number in 0..<1_700 { try open.insert("Tag", ["name": .text("\(number)")]) }
    } _: { open in
      _ = try open.coordinator.execute(.deleteHistory(before: nil))
    }
    var rests: Set<Int> = []
    try withExtendedLifetime(folder) {
      for copy in copies {
        let open = try open(copy, store)
        let all = try open.coordinator.execute(.fetchHistory(after: nil)).transactions
        XCTAssertEqual(all.last?.transactionNumber, 1_701)
        XCTAssertEqual(all.map(\.transactionNumber), Array((all.first?.transactionNumber ?? 0)...1_701), "nothing is missing in between")
        rests.insert(all.count)
        XCTAssertEqual(try open.count("Tag"), 1_700)
        try open.close()
      }
    }
    XCTAssertGreaterThan(rests.count, 2)
    XCTAssertTrue(rests.contains(1))
  }

  func testHistoryIsEnabledAndDisabledAtomically() throws {
    let store = try TestStore()
    let (copies, folder) = try points(store) { open in
      try open.insert("Tag", ["name": .text("one")])
    } _: { open in
      let history = try XCTUnwrap(open.store as? any HistoryStore)
      for round in 0..<10 {
        try history.setHistory(nil)
        try open.insert("Tag", ["name": .text("off \(round)")])
        try history.setHistory(HistorySettings(level: round % 2 == 0 ? .values : .properties))
        try open.insert("Tag", ["name": .text("on \(round)")])
      }
    }
    var levels: Set<HistoryLevel?> = []
    try withExtendedLifetime(folder) {
      for copy in copies {
        let open = try open(copy, store)
        let level = try open.persistentStore.historyLevel
        levels.insert(level)
        let tag = try open.insert("Tag", ["name": .text("after")])
        if level != nil {
          var request = PersistentHistoryChangeRequest.fetchHistory(after: nil)
          request.transactionPredicate = try FetchPredicate(format: "kind != nil")
          let all = try open.coordinator.execute(request).transactions
          XCTAssertEqual(all.first?.kind, .begin)
          XCTAssertEqual(all.last?.changes?.first?.changedObjectID, tag)
        } else {
          assertStoreError(.historyNotTracked) { try open.coordinator.execute(.fetchHistory(after: nil)) }
        }
        try open.close()
      }
    }
    XCTAssertEqual(levels, [nil, .properties, .values])
  }
}

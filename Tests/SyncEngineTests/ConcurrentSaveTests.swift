import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SyncCore
import SyncEngine
import Synchronization
import XCTest
import _StoreSpecification
import _SyncSimulation

/// Saves of the application while an import is in progress.
final class ConcurrentSaveTests: XCTestCase {
  /// Two stores that mirror a folder with notes, of which the first one has changed the titles and the ratings since.
  private struct Stores {
    let one: SyncedStore
    let other: SyncedStore

    init(noteCount: Int) throws {
      let scenario = Scenario(deviceCount: 0)
      (one, other) = (try SyncedStore(scenario, 1), try SyncedStore(scenario, 2))
      let root = try one.context.insert("Folder", ["title": "root"])
      for number in 0..<noteCount {
        try one.context.insert("Note", ["title": "begin", "text": "\(number)", "rating": 1.0, "folder": root])
      }
      try one.context.save()
      for store in [one, other, one] { try store.synchronize() }
      for note in try one.context.all("Note") {
        try note.setValue("theirs", forKey: "title")
        try note.setValue(2.0, forKey: "rating")
      }
      try one.context.save()
      try one.synchronize()
      // What is saved from now on is later.
      Thread.sleep(forTimeInterval: 0.01)
    }

    /// Returns the values of the notes, by their numbers, which are the same in both stores.
    func notes() throws -> [Int: [String: String]] {
      for store in [other, one, other] { try store.synchronize() }
      try assertEqualContents(one, other)
      for store in [one, other] { XCTAssertEqual(try store.verify(), []) }
      let notes = try one.contents().values.filter { $0["entity"] == "Note" }
      return Dictionary(uniqueKeysWithValues: notes.map { (Int($0["text"] ?? "") ?? -1, $0) })
    }
  }

  /// An import is read from the hub in several steps, and written in the last one. The application, or another process, saves between each
  /// two of them.
  func testCase7ARowChangedBetweenAnImportsReadAndItsWriteIsNotOverwritten() throws {
    let count = 8
    let stores = try Stores(noteCount: count)
    stores.other.limits.recordsInPage = 2
    stores.other.restart()
    let process = try OpenStore(stores.other.description, model: MirrorModel.model)
    var step = 0
    try stores.other.synchronize {
      guard step < count else { return }
      // Each open store has its own row cache.
      let context = step % 2 == 0 ? process.newContext() : stores.other.open.newContext()
      let note = try XCTUnwrap(context.all("Note").first { $0.text("text") == "\(step)" })
      try note.setValue("mine \(step)", forKey: "title")
      try context.save()
      step += 1
    }
    XCTAssertGreaterThan(step, 3)
    try process.close()
    let notes = try stores.notes()
    XCTAssertEqual(notes.count, count)
    for (number, values) in notes {
      XCTAssertEqual(values["title"], number < step ? "mine \(number)" : "theirs")
      XCTAssertEqual(values["rating"], "2.0")
    }
  }

  /// Starts a save of another process in the middle of an import's transaction.
  private final class SaveInside: TransactionObserver {
    let process: OpenStore
    let result = Mutex<Result<Void, any Error>?>(nil)
    let end = DispatchSemaphore(value: 0)
    private let hasStarted = Mutex(false)
    private let policy: MergePolicy

    init(_ process: OpenStore, _ policy: MergePolicy) { (self.process, self.policy) = (process, policy) }

    func didChange(_ change: RowChange, in transaction: ObservedTransaction) {
      let isFirst = hasStarted.withLock { hasStarted in
        defer { hasStarted = true }
        return !hasStarted
      }
      guard !transaction.isLocal, isFirst else { return }
      let (process, policy) = (process, policy)
      let hasRead = DispatchSemaphore(value: 0)
      Thread { [self] in
        let saved = Result {
          defer { hasRead.signal() }
          let context = ManagedObjectContext(coordinator: process.coordinator, mergePolicy: policy)
          for note in try context.all("Note") {
            XCTAssertEqual(note.text("title"), "begin", "The import is not visible before it is complete.")
            try note.setValue("mine", forKey: "title")
          }
          hasRead.signal()
          // Waits for the import.
          try context.save()
        }
        result.withLock { $0 = saved }
        end.signal()
      }.start()
      hasRead.wait()
    }
    func willCommit(_ transaction: ObservedTransaction) throws {}
    func didUndoChanges(in transaction: ObservedTransaction, keeping count: Int) {}
    func didCommit(_ transaction: ObservedTransaction) {}
    func didRollback(_ transaction: ObservedTransaction) {}
  }

  func testCase7ASaveOfRowsThatAnImportWritesMeanwhileMergesOrFails() throws {
    for merges in [false, true] {
      let stores = try Stores(noteCount: 5)
      let process = try OpenStore(stores.other.description, model: MirrorModel.model)
      let observer = SaveInside(process, merges ? .mergeByPropertyObjectTrump : .error)
      try stores.other.open.coordinator.addTransactionObserver(observer)
      try stores.other.synchronize()
      observer.end.wait()
      let saved = try XCTUnwrap(observer.result.withLock { $0 })
      if merges { XCTAssertNoThrow(try saved.get()) } else { assertStoreError(.mergeConflict) { try saved.get() } }
      try process.close()
      for values in try stores.notes().values {
        XCTAssertEqual(values["title"], merges ? "mine" : "theirs")
        XCTAssertEqual(values["rating"], "2.0")
      }
    }
  }
}

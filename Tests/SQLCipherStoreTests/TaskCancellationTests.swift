import Foundation
import ObjectContext
import ObjectQuery
import ObjectStore
import StoreKeys
import Synchronization
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// Canceling a task ends the long file operation that it awaits, and leaves nothing half done.
final class TaskCancellationTests: XCTestCase {
  private static let passphrase = StoreKey.passphrase("correct horse", .cheapForTests())

  private typealias Work =
    @Sendable (_ file: SQLCipherStoreFile, _ copy: URL, _ progress: SQLCipherStoreFile.Progress?) async throws -> Void

  private static let works: [(name: String, work: Work)] = [
    ("backup", { try await $0.backUp(to: $1, progress: $2) }),
    ("backup for another key", { try await $0.backUp(to: $1, key: .passphrase("other", .cheapForTests()), progress: $2) }),
    ("rotation", { file, _, progress in try await file.rotateDataKey(progress: progress) }),
    ("compaction", { file, _, progress in try await file.compact(progress: progress) }),
    ("verification", { file, _, progress in _ = try await file.findings(.full, progress: progress) }),
    ("quick verification", { file, _, progress in _ = try await file.findings(.quick, progress: progress) }),
  ]

  private func films() throws -> FilmStore {
    let films = try FilmStore(key: Self.passphrase)
    let store = try films.open()
    let context = store.newContext()
    for number in 0..<400 { try context.insert("Film", ["title": "Film \(number)", "plain": FilmStore.bytes(3_000, number)]) }
    try context.save()
    try store.close()
    return films
  }

  /// Runs an operation in a task that is canceled at one of its progress reports.
  ///
  /// - Returns: The reports.
  private func run(_ work: @escaping Work, _ file: SQLCipherStoreFile, _ copy: URL, cancellingAt report: Int) async throws -> Int {
    let task = Mutex<Task<Void, any Error>?>(nil)
    let count = Mutex(0)
    let (gate, open) = AsyncStream<Void>.makeStream()
    let made = Task {
      for await _ in gate { break }
      try await work(file, copy) { _, _ in
        let now = count.withLock { count in
          count += 1
          return count
        }
        // The handler asks to continue: only the task is canceled.
        if now == report { task.withLock { $0?.cancel() } }
        return true
      }
    }
    task.withLock { $0 = made }
    open.yield()
    open.finish()
    _ = try await made.value
    return count.withLock { $0 }
  }

  func testCanceledTaskStopsTheWorkAndLeavesTheStoreUnchanged() async throws {
    let films = try films()
    for (name, work) in Self.works {
      let copy = films.folder.file("copy.store")
      do {
        let reports = try await run(work, try await films.unlock(), copy, cancellingAt: 1)
        XCTFail("\(name) went on over \(reports) reports")
      } catch { XCTAssertTrue(error is CancellationError, "\(name): \(error)") }
      let names = try FileManager.default.contentsOfDirectory(atPath: films.folder.url.path)
      XCTAssertEqual(names.filter { $0.hasPrefix("copy") || $0.hasSuffix(".new") }, [], name)
    }
    let findings = try await films.verify()
    XCTAssertEqual(findings, [])
    let store = try films.open()
    XCTAssertEqual(try store.newContext().count(for: FetchRequest<ManagedObject>(entityName: "Film")), 400)
    try store.close()
  }

  func testAlreadyCanceledTaskStartsNothing() async throws {
    let films = try films()
    let file = try await films.unlock()
    for (name, work) in Self.works {
      let copy = films.folder.file("copy.store")
      let task = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        try await work(file, copy, nil)
      }
      do {
        try await task.value
        XCTFail(name)
      } catch { XCTAssertTrue(error is CancellationError, "\(name): \(error)") }
      XCTAssertFalse(FileManager.default.fileExists(atPath: copy.path), name)
    }
  }

  func testHandlerThatStopsTheWorkIsNotCancellation() async throws {
    let films = try films()
    let file = try await films.unlock()
    do {
      try await file.backUp(to: films.folder.file("copy.store")) { _, _ in false }
      XCTFail("the task was canceled")
    } catch let error as StoreError { XCTAssertEqual(error.code, .cancelled) }
  }

  func testCanceledTaskDoesNotMoveTheStore() async throws {
    let films = try films()
    let store = try films.open()
    let (coordinator, old) = (store.coordinator, store.persistentStore)
    let target = PersistentStoreDescription(url: films.folder.file("moved.store"))
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await coordinator.migratePersistentStore(old, to: target)
    }
    do {
      _ = try await task.value
      XCTFail("the task was canceled")
    } catch { XCTAssertTrue(error is CancellationError, "\(error)") }
    XCTAssertFalse(FileManager.default.fileExists(atPath: films.folder.file("moved.store").path))
    XCTAssertTrue(coordinator.persistentStores.elementsEqual([old], by: ===))
    try store.close()
  }
}

import Foundation
import ObjectContext
import ObjectStore
import StoreFiles
import Synchronization
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// Power loss after commits without a sync: restored rows find the files of their large values.
final class ExternalDurabilityTests: XCTestCase {
  private let old = FilmStore.bytes(200_000, 1)
  private let new = FilmStore.bytes(180_000, 2)

  /// The database and its log as they are on disk, in the state of the last sync.
  private struct Disk: Sendable {
    private var state: [String: Data] = [:]

    /// Copies the current state, as a sync does.
    init(_ path: String) throws {
      // Closing the copy's descriptor releases this process's locks, which this test does not rely on.
      for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: path + suffix) {
        state[suffix] = try Data(contentsOf: URL(fileURLWithPath: path + suffix))
      }
    }

    /// Returns the store after a power loss: the synced database with the current files of large values.
    func afterPowerCut(_ films: FilmStore) throws -> FilmStore {
      let result = try FilmStore(key: films.key)
      for (suffix, bytes) in state { try bytes.write(to: URL(fileURLWithPath: result.url.path + suffix)) }
      try FileManager.default.copyItem(at: FilmStore.support(films.url), to: FilmStore.support(result.url))
      return result
    }
  }

  private func makeStore(count: Int = 1, durability: StoreDurability = .fast) throws -> (FilmStore, OpenStore) {
    let films = try FilmStore()
    let store = try films.open { $0.durability = durability }
    for number in 0..<count { try store.addFilm("\(number)", old) }
    return (films, store)
  }

  private func assertAllPresent(_ films: FilmStore, count: Int, file: StaticString = #filePath, line: UInt = #line) async throws {
    let store = try films.open()
    for number in 0..<count { XCTAssertEqual(try store.poster("\(number)"), old, "film \(number)", file: file, line: line) }
    try store.close()
    let findings = try await films.verify()
    XCTAssertEqual(findings, [], file: file, line: line)
    XCTAssertEqual(films.files().count, count, file: file, line: line)
  }

  func testReplacedValueSurvivesAPowerLossThatRestoresItsRow() async throws {
    let (films, store) = try makeStore()
    let disk = try Disk(films.url.path)
    try store.withFilm("0") { film, context in
      try film.setValue(new, forKey: "poster")
      try context.save()
    }
    let found = try disk.afterPowerCut(films)
    XCTAssertEqual(try store.poster("0"), new)
    try store.close()
    XCTAssertEqual(films.files().count, 1)
    try await assertAllPresent(found, count: 1)
  }

  func testDeletedValueSurvivesAPowerLossThatRestoresItsRow() async throws {
    let (films, store) = try makeStore(count: 2)
    let disk = try Disk(films.url.path)
    try store.withFilm("1") { film, context in
      context.delete(film)
      try context.save()
    }
    let found = try disk.afterPowerCut(films)
    try store.close()
    XCTAssertEqual(films.files().count, 1)
    try await assertAllPresent(found, count: 2)
  }

  func testBatchRequestValuesSurviveAPowerLossThatRestoresTheirRows() async throws {
    let (films, store) = try makeStore(count: 3)
    let disk = try Disk(films.url.path)
    let context = store.newContext()
    _ = try context.execute(BatchUpdateRequest(entityName: "Film", propertiesToUpdate: ["poster": new]))
    try await assertAllPresent(disk.afterPowerCut(films), count: 3)
    _ = try context.execute(BatchDeleteRequest(entityName: "Film"))
    try await assertAllPresent(disk.afterPowerCut(films), count: 3)
    try store.close()
    XCTAssertEqual(films.files(), [])
  }

  func testMigrationIntoRowsSyncsBeforeRemovingFiles() async throws {
    let (films, store) = try makeStore()
    try store.close()
    let synced = Mutex<Disk?>(nil)
    ExternalFolder.logObserver.withLock { observer in
      observer = { [path = films.url.path] in if $0 == path { synced.withLock { $0 = try? Disk(path) } } }
    }
    defer { ExternalFolder.logObserver.withLock { $0 = nil } }
    let migrated = try films.open(try FilmStore.model(unique: true)) { $0.durability = .fast }
    XCTAssertEqual(films.files(), [])
    XCTAssertNotNil(synced.withLock { $0 })
    XCTAssertEqual(try migrated.poster("0"), old)
    try migrated.close()
  }

  /// The state of the last sync and the current files match at any point of a power loss.
  func testManyRemovalsShareOneSync() async throws {
    let count = 2 * ExternalStorage.maximumWaitingCount + 5
    let films = try FilmStore()
    let small = 1_000
    let store = try films.open {
      $0.durability = .fast
      $0.externalStorageThreshold = small
    }
    for number in 0..<count { try store.addFilm("\(number)", FilmStore.bytes(2_000, number)) }
    let state = Mutex<(disk: Disk, syncs: Int)>((try Disk(films.url.path), 0))
    ExternalFolder.logObserver.withLock { observer in
      observer = { [path = films.url.path] in
        guard $0 == path, let now = try? Disk(path) else { return }
        state.withLock { $0 = (now, $0.syncs + 1) }
      }
    }
    defer { ExternalFolder.logObserver.withLock { $0 = nil } }
    let context = store.newContext()
    for (number, film) in try context.all("Film").enumerated() {
      context.delete(film)
      try context.save()
      // The points directly before and after a sync are the critical ones.
      guard [0, 62, 63, 64, 65, 127, 128].contains(number) else { continue }
      let found = try state.withLock { $0.disk }.afterPowerCut(films)
      let lines = try await found.verify()
      XCTAssertEqual(lines.filter { !$0.contains("belongs to no value") }, [], "after \(number) deletions")
    }
    XCTAssertEqual(state.withLock { $0.syncs }, 2)
    XCTAssertEqual(films.files().count, 5)
    try store.close()
    XCTAssertEqual(films.files(), [])
    let names = try FileManager.default.contentsOfDirectory(atPath: FilmStore.support(films.url).path)
    XCTAssertEqual(names, [])
  }

  func testSweepByAnotherProcessSyncsFirst() async throws {
    let (films, store) = try makeStore(count: 2)
    try store.withFilm("1") { film, context in
      context.delete(film)
      try context.save()
    }
    XCTAssertEqual(films.files().count, 2)
    let synced = Mutex(0)
    ExternalFolder.logObserver.withLock { observer in
      observer = { [path = films.url.path] in if $0 == path { synced.withLock { $0 += 1 } } }
    }
    defer { ExternalFolder.logObserver.withLock { $0 = nil } }
    let removed = try await films.unlock().sweepExternalFiles()
    XCTAssertEqual(removed, 1)
    XCTAssertEqual(synced.withLock { $0 }, 1)
    // The store that deferred the removal finds nothing to remove, and continues.
    try store.addFilm("2", new)
    try store.withFilm("2") { film, context in
      context.delete(film)
      try context.save()
    }
    try store.close()
    XCTAssertEqual(films.files().count, 1)
  }

  func testPendingRemovalsOfADeadProcessAreFinishedOnOpening() async throws {
    let (films, store) = try makeStore(count: 2)
    try store.withFilm("1") { film, context in
      context.delete(film)
      try context.save()
    }
    // When the process dies, all files keep their current contents.
    let found = try Disk(films.url.path).afterPowerCut(films)
    try store.close()
    XCTAssertEqual(found.files().count, 2)
    try await assertAllPresent(found, count: 1)
  }

  func testFullDurabilityRemovesFilesImmediately() throws {
    let (films, store) = try makeStore(count: 2, durability: .full)
    try store.withFilm("1") { film, context in
      context.delete(film)
      try context.save()
    }
    XCTAssertEqual(films.files().count, 1)
    try store.close()
  }
}

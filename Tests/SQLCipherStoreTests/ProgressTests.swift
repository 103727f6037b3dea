import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import StoreKeys
import Synchronization
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// Progress of long operations: one fraction over all phases, also observed by Foundation's `Progress`.
final class ProgressTests: XCTestCase {
  /// Records the reports, and decides whether the operation continues.
  private final class RecordedProgress: Sendable {
    let reports = Mutex<[(done: Int, total: Int)]>([])
    let limit: Int

    /// - Parameter limit: The number of the report that cancels the operation.
    init(stoppingAt limit: Int = .max) { self.limit = limit }

    var handler: SQLCipherStoreFile.Progress {
      { done, total in
        self.reports.withLock {
          $0.append((done, total))
          return $0.count < self.limit
        }
      }
    }
    var all: [(done: Int, total: Int)] { reports.withLock { $0 } }
  }

  private static let passphrase = StoreKey.passphrase("correct horse", .cheapForTests())

  private func films(key: StoreKey = passphrase, count: Int = 1_500) throws -> FilmStore {
    let films = try FilmStore(key: key)
    let store = try films.open()
    let context = store.newContext()
    for number in 0..<count {
      let film = try context.insert("Film", ["title": "Film \(number)", "plain": FilmStore.bytes(3_000, number)])
      if number % 100 == 0 { try film.setValue(FilmStore.bytes(150_000, number), forKey: "poster") }
    }
    try context.save()
    try store.close()
    return films
  }

  private typealias Work = (_ films: FilmStore, _ progress: @escaping SQLCipherStoreFile.Progress) async throws -> Void

  private static var works: [(name: String, work: Work)] {
    [
      ("backup", { try await $0.unlock().backUp(to: $0.folder.file("copy.store"), progress: $1) }),
      (
        "backup for another key",
        { try await $0.unlock().backUp(to: $0.folder.file("other.store"), key: .passphrase("other", .cheapForTests()), progress: $1) }
      ),
      (
        "backup in another page format",
        {
          let key = StoreKey.sqlcipherPassphrase(SecretBytes(utf8: "other"), .sqlcipher3)
          try await $0.unlock().backUp(to: $0.folder.file("older.store"), key: key, progress: $1)
        }
      ),
      ("rotation", { try await $0.unlock().rotateDataKey(progress: $1) }),
      ("compaction", { try await $0.unlock().compact(updatesStatistics: true, progress: $1) }),
      ("verification", { _ = try await $0.unlock().findings(.full, progress: $1) }),
      ("quick verification", { _ = try await $0.unlock().findings(.quick, progress: $1) }),
    ]
  }

  func testFractionIncreasesMonotonicallyToOne() async throws {
    let films = try films()
    for (name, work) in Self.works {
      let reported = RecordedProgress()
      try await work(films, reported.handler)
      assertOneFraction(reported.all, name)
    }
  }

  func testVerificationReportsProgressOfTheIndexCheck() async throws {
    var model = Self.version(1)
    model.entities[0].indexes = [FetchIndexDescription(name: "byTitle", elements: [FetchIndexElement(property: "title")])]
    let coordinator = PersistentStoreCoordinator(compiledModel: try CompiledModel(model))
    let folder = try TemporaryFolder()
    let url = folder.file("indexed.store")
    var description = PersistentStoreDescription(url: url, key: Self.passphrase)
    description.durability = .fast
    let store = try await coordinator.addPersistentStore(with: description)
    let context = ManagedObjectContext(coordinator: coordinator)
    for number in 0..<10_000 { try context.insertObject(entityName: "Book").setValue("title \(number)", forKey: "title") }
    try context.save()
    try coordinator.remove(store)
    let file = try await SQLCipherStoreFile.unlock(at: url, key: Self.passphrase)
    let reported = RecordedProgress()
    _ = try await file.findings(.full, progress: reported.handler)
    assertOneFraction(reported.all)
    // Checking page codes is 0.4 of the total.
    let ofSQLite = reported.all.count { Double($0.done) / Double($0.total) > 0.4 }
    XCTAssertGreaterThan(ofSQLite, 5, "\(reported.all)")
    // The operation is canceled in this phase too.
    let stopped = RecordedProgress(stoppingAt: reported.all.count - 2)
    do {
      _ = try await file.findings(.full, progress: stopped.handler)
      XCTFail("the check was canceled")
    } catch let error as StoreError { XCTAssertEqual(error.code, .cancelled) }
    XCTAssertFalse(stopped.all.contains { $0.done == $0.total })
  }

  func testMovingAnEncryptedStoreReportsProgress() async throws {
    let films = try films()
    let store = try films.open()
    let target = PersistentStoreDescription(url: films.folder.file("moved.store"))
    let isMoved = Mutex<[Bool]>([])
    let reported = RecordedProgress()
    let coordinator = store.coordinator
    let moved = try await coordinator.migratePersistentStore(store.persistentStore, to: target) { done, total in
      isMoved.withLock { $0.append(coordinator.persistentStores.contains { $0.url == target.url }) }
      return reported.handler(done, total)
    }
    assertOneFraction(reported.all)
    XCTAssertEqual(isMoved.withLock { $0.filter { $0 }.count }, 1, "completion is reported once the store exists")
    XCTAssertEqual(isMoved.withLock { $0.last }, true)
    XCTAssertGreaterThan(reported.all.count, 5)
    try coordinator.remove(moved)
  }

  func testFailedMoveLeavesTheEncryptedStoreInPlace() async throws {
    let films = try films()
    let store = try films.open()
    let target = PersistentStoreDescription(url: films.folder.file("moved.store"))
    let reported = RecordedProgress(stoppingAt: 3)
    do {
      try await store.coordinator.migratePersistentStore(store.persistentStore, to: target, progress: reported.handler)
      XCTFail("the migration was canceled")
    } catch let error as StoreError { XCTAssertEqual(error.code, .cancelled) }
    XCTAssertFalse(reported.all.contains { $0.done == $0.total })
    XCTAssertFalse(FileManager.default.fileExists(atPath: films.folder.file("moved.store").path))
    XCTAssertTrue(store.coordinator.persistentStores.elementsEqual([store.persistentStore], by: ===))
    try store.close()
  }

  func testMovingToAnotherTypeReportsCompletionAfterTheCommit() async throws {
    let model = try CompiledModel(Self.version(1))
    let coordinator = PersistentStoreCoordinator(compiledModel: model)
    let store = try await coordinator.addPersistentStore(with: PersistentStoreDescription(type: .inMemory))
    let context = ManagedObjectContext(coordinator: coordinator)
    for number in 0..<2_500 { try context.insertObject(entityName: "Book").setValue("t\(number)", forKey: "title") }
    try context.save()
    let folder = try TemporaryFolder()
    var target = PersistentStoreDescription(url: folder.file("rows.store"), key: Self.passphrase)
    target.durability = .fast
    let reported = RecordedProgress()
    let committed = Mutex<[Bool]>([])
    let moved = try await coordinator.migratePersistentStore(store, to: target) { [url = target.url] done, total in
      committed.withLock { $0.append(coordinator.persistentStores.contains { $0.url == url }) }
      return reported.handler(done, total)
    }
    assertOneFraction(reported.all)
    XCTAssertEqual(committed.withLock { $0.filter { $0 }.count }, 1)
    try coordinator.remove(moved)
  }

  private func assertOneFraction(_ all: [(done: Int, total: Int)], _ name: String = "", line: UInt = #line) {
    XCTAssertEqual(all.map(\.done), all.map(\.done).sorted(), name, line: line)
    XCTAssertEqual(Set(all.map(\.total)).count, 1, name, line: line)
    XCTAssertTrue(all.allSatisfy { $0.done >= 0 && $0.done <= $0.total && $0.total > 0 }, name, line: line)
    XCTAssertEqual(all.filter { $0.done == $0.total }.count, 1, name, line: line)
    XCTAssertEqual(all.last?.done, all.last?.total, name, line: line)
  }

  func testRotationProgressIncludesAllPhases() async throws {
    let films = try films()
    let reported = RecordedProgress()
    try await films.unlock().rotateDataKey(progress: reported.handler)
    let fractions = reported.all.map { Double($0.done) / Double($0.total) }
    // 1,500 rows of 3,000 bytes are copied, then checked; 15 files of 150,000 bytes follow.
    XCTAssertTrue(fractions.contains { $0 > 0.3 && $0 < 0.5 }, "\(fractions)")
    XCTAssertGreaterThan(fractions.filter { $0 > 0.7 && $0 < 1 }.count, 10, "\(fractions)")
  }

  func testCanceledWorkNeverReportsCompletion() async throws {
    let films = try films()
    for (name, work) in Self.works {
      var stopped = 0
      while true {
        let reported = RecordedProgress(stoppingAt: stopped + 1)
        do {
          try await work(films, reported.handler)
          XCTAssertEqual(reported.all.last?.done, reported.all.last?.total, name)
          break
        } catch let error as StoreError {
          XCTAssertEqual(error.code, .cancelled, name)
          XCTAssertTrue(reported.all.allSatisfy { $0.done < $0.total }, "\(name) \(reported.all)")
        }
        stopped += 1
        // Some operations report the growth of the file, whose frequency depends on the machine.
        if stopped == 8 { break }
      }
      if name != "quick verification" { XCTAssertGreaterThan(stopped, 1, name) }
      let left = try FileManager.default.contentsOfDirectory(atPath: films.folder.url.path).filter { $0.hasSuffix(".new") }
      XCTAssertEqual(left, [], name)
    }
    let findings = try await films.verify()
    XCTAssertEqual(findings, [])
  }

  func testFailedWorkNeverReportsCompletion() async throws {
    let films = try films(count: 20)
    let open = try films.open()
    let reported = RecordedProgress()
    do {
      try await films.unlock().rotateDataKey(progress: reported.handler)
      XCTFail("the store is in use")
    } catch let error as StoreError {
      XCTAssertEqual(error.code, .busy)
    }
    try open.close()
    XCTAssertFalse(reported.all.contains { $0.done == $0.total })
  }

  func testFoundationProgressReportsAndCancels() async throws {
    let films = try films()
    let progress = Progress(totalUnitCount: 50)
    try await films.unlock().backUp(to: films.folder.file("copy.store"), progress: progress.storeProgressHandler)
    XCTAssertEqual(progress.completedUnitCount, 50)
    XCTAssertTrue(progress.isFinished)

    let unknown = Progress(totalUnitCount: -1)
    try await films.unlock().rotateDataKey(progress: unknown.storeProgressHandler)
    XCTAssertEqual(unknown.fractionCompleted, 1)

    let stopped = Progress(totalUnitCount: 50)
    stopped.cancel()
    do {
      try await films.unlock().backUp(to: films.folder.file("second.store"), progress: stopped.storeProgressHandler)
      XCTFail("the task was canceled")
    } catch let error as StoreError {
      XCTAssertEqual(error.code, .cancelled)
    }
    XCTAssertLessThan(stopped.completedUnitCount, 50)
  }

  func testFoundationProgressReportsAndCancelsAMigration() throws {
    let store = try MigratingStore.make(Self.version(1)) { context in
      for index in 0..<3_000 { try context.make("Book", ["title": "t\(index)"]) }
    }
    let stopped = Progress(totalUnitCount: 10)
    XCTAssertThrowsError(
      try store.open(Self.version(2)) { description in
        description.followMigration(with: stopped)
        stopped.cancel()
      } _: { _ in
      }
    ) { XCTAssertEqual(($0 as? StoreError)?.code, .cancelled) }
    XCTAssertLessThan(stopped.completedUnitCount, 10)
    let reports = Mutex<[MigrationProgress]>([])
    let progress = Progress(totalUnitCount: -1)
    try store.open(Self.version(2)) { description in
      description.migrationProgress = { report in reports.withLock { $0.append(report) } }
      description.followMigration(with: progress)
    } _: { _ in
    }
    XCTAssertEqual(progress.fractionCompleted, 1)
    XCTAssertEqual(reports.withLock { $0.last?.fractionCompleted }, 1)
  }

  func testAMigrationOfSeveralStagesHasOneFraction() throws {
    let store = try MigratingStore.make(Self.version(1)) { context in
      for index in 0..<3_000 { try context.make("Book", ["title": "t\(index)"]) }
    }
    let reports = Mutex<[MigrationProgress]>([])
    for isBroken in [true, false] {
      reports.withLock { $0 = [] }
      let stages: [any MigrationStage] = [
        CustomMigrationStage(
          migratingFrom: ManagedObjectModelReference(Self.version(1)), to: ManagedObjectModelReference(Self.version(2)), label: "first"
        ) { migration in
          for _ in 0..<2 { try migration.forEach("Book") { _, new in try new.setValue("x", forKey: "added2") } }
        },
        CustomMigrationStage(
          migratingFrom: ManagedObjectModelReference(Self.version(2)), to: ManagedObjectModelReference(Self.version(3)), label: "second"
        ) { migration in
          migration.report(3, of: 2)
          migration.report(-1, of: 2)
          migration.report(0, of: 0)
          try migration.forEach("Book") { _, new in try new.setValue("y", forKey: "added3") }
          if isBroken { throw CocoaError(.featureUnsupported) }
        },
      ]
      let migrate = {
        try store.open(Self.version(3)) { description in
          description.stagedMigrationManager = StagedMigrationManager(stages)
          description.migrationProgress = { report in reports.withLock { $0.append(report) } }
        } _: { _ in
        }
      }
      if isBroken { XCTAssertThrowsError(try migrate()) } else { try migrate() }
      let all = reports.withLock { $0 }
      let fractions = all.map(\.fractionCompleted)
      XCTAssertEqual(fractions, fractions.sorted())
      XCTAssertTrue(fractions.allSatisfy { (0...1).contains($0) })
      XCTAssertEqual(fractions.filter { $0 == 1 }.count, isBroken ? 0 : 1)
      if !isBroken { XCTAssertEqual(fractions.last, 1) }
      let first = all.last { $0.phase.hasPrefix("first") }?.fractionCompleted ?? 1
      let second = all.first { $0.phase.hasPrefix("second") }?.fractionCompleted ?? 0
      XCTAssertTrue((0.2...0.6).contains(first), "\(first)")
      XCTAssertTrue((0.5..<1).contains(second), "\(second)")
      XCTAssertGreaterThan(Set(fractions).count, 10)
    }
  }

  /// A book model that gains an attribute in each version.
  private static func version(_ number: Int) -> ManagedObjectModel {
    var book = EntityDescription(name: "Book")
    book.properties = [.attribute(AttributeDescription(name: "title", type: .string, isOptional: true))]
    for added in (1...number).dropFirst() {
      book.properties.append(.attribute(AttributeDescription(name: "added\(added)", type: .string, isOptional: true)))
    }
    return ManagedObjectModel(entities: [book])
  }
}

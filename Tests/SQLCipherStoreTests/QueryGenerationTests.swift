import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherConnection
@testable import SQLCipherStore

/// The cost of query generations of encrypted stores, and what ends them.
final class QueryGenerationTests: XCTestCase {
  private func makeLibrary(
    _ store: TestStore, configure: (inout PersistentStoreDescription) -> Void = { _ in }
  ) throws -> (OpenStore, ManagedObjectContext) {
    var description = store.description
    configure(&description)
    let open = try OpenStore(description, model: SpecificationModels.library)
    let writer = open.newContext()
    for number in 0..<40 { try writer.insert("Book", ["title": String(format: "%02d", number), "pages": Int64(number)]) }
    try writer.save()
    writer.reset()
    return (open, writer)
  }

  private var books: FetchRequest<ManagedObject> { FetchRequest<ManagedObject>(entityName: "Book").sorted(by: "title") }

  private func pin(_ open: OpenStore) throws -> ManagedObjectContext {
    let context = open.newContext()
    try context.setQueryGeneration(from: .current)
    _ = try context.count(for: books)
    return context
  }

  private func engine(_ open: OpenStore) throws -> StoreEngine {
    try XCTUnwrap(open.store as? SQLCipherIncrementalStore).engine(.read)
  }

  /// Writes the given amount into the log.
  private func fill(_ writer: ManagedObjectContext, mebibytes: Int) throws {
    for _ in 0..<mebibytes * 4 {
      try writer.insert("Book", ["title": "filler" + String(repeating: "x", count: 250_000)])
      try writer.save()
      writer.reset()
    }
  }

  private func eventually(_ holds: () -> Bool) -> Bool {
    for _ in 0..<200 {
      if holds() { return true }
      usleep(50_000)
    }
    return holds()
  }

  // MARK: Cost

  func testPinnedFetchUsesOneStatementAndCachesItsRows() throws {
    let store = try TestStore()
    let (open, writer) = try makeLibrary(store)
    let context = try pin(open)
    try find("05", writer).setValue(Int64(1_000), forKey: "pages")
    try writer.save()
    XCTAssertEqual(try store.statements { XCTAssertEqual(try context.fetch(books).count, 40) }.count, 1)
    let ids = try context.fetch(books).map(\.objectID)
    // The objects are released: their rows come from the generation's own cache.
    XCTAssertEqual(store.statements { XCTAssertEqual(context.object(with: ids[5])["pages"] as? Int64, 5) }, [])
    XCTAssertEqual(try store.statements { try context.setQueryGeneration(from: .current) }, [])
    XCTAssertEqual(store.statements { XCTAssertEqual(context.object(with: ids[5])["pages"] as? Int64, 1_000) }.count, 1)
  }

  func testSingleFaultUsesOneStatement() throws {
    let store = try TestStore()
    let (open, writer) = try makeLibrary(store)
    let ids = try writer.fetch(FetchRequest<ManagedObjectID>(entityName: "Book"))
    let context = try pin(open)
    for (number, id) in ids.prefix(5).enumerated() {
      let statements = store.statements { XCTAssertEqual(context.object(with: id)["pages"] as? Int64, Int64(number)) }
      XCTAssertEqual(statements.count, 1)
    }
    XCTAssertEqual(store.statements { XCTAssertEqual(context.object(with: ids[0])["pages"] as? Int64, 0) }, [])
  }

  func testOnlyContextsOfOneGenerationShareItsRows() throws {
    let store = try TestStore()
    let (open, _) = try makeLibrary(store)
    open.persistentStore.cache.removeAll()
    let first = try pin(open)
    let ids = try first.fetch(books).map(\.objectID)
    XCTAssertFalse(ids.contains { open.persistentStore.cache.hasRow($0.reference) }, "it fills no cache of others")
    let second = open.newContext()
    try second.setQueryGeneration(from: first.queryGenerationToken)
    XCTAssertEqual(store.statements { XCTAssertEqual(second.object(with: ids[7])["pages"] as? Int64, 7) }, [])
    let third = open.newContext()
    XCTAssertEqual(store.statements { XCTAssertEqual(third.object(with: ids[7])["pages"] as? Int64, 7) }.count, 1)
    XCTAssertTrue(open.persistentStore.cache.hasRow(ids[7].reference))
  }

  private func find(_ title: String, _ context: ManagedObjectContext) throws -> ManagedObject {
    try XCTUnwrap(context.fetch(FetchRequest<ManagedObject>(entityName: "Book", predicate: .compare("title", .equal, title))).first)
  }

  // MARK: The log

  func testOldestGenerationExpiresAndCurrentCanBeSet() throws {
    let store = try TestStore()
    let (open, writer) = try makeLibrary(store) { $0.generationLogLimit = 4 << 20 }
    let context = try pin(open)
    let known = try find("03", context)
    XCTAssertEqual(known["pages"] as? Int64, 3)
    let fault = try XCTUnwrap(context.fetch(FetchRequest<ManagedObjectID>(entityName: "Book")).last).self
    let token = context.queryGenerationToken
    try fill(writer, mebibytes: 5)
    XCTAssertEqual(open.persistentStore.queryGenerations, [])
    assertStoreError(.queryGenerationExpired) { try context.count(for: books) }
    XCTAssertEqual(known["pages"] as? Int64, 3, "objects keep their values")
    XCTAssertNil(context.object(with: fault)["title"])
    XCTAssertEqual((context.pendingError as? StoreError)?.code, .queryGenerationExpired)
    XCTAssertThrowsError(try context.fetch(books))
    assertStoreError(.queryGenerationExpired) { try open.newContext().setQueryGeneration(from: token) }
    try context.setQueryGeneration(from: .current)
    XCTAssertEqual(try context.count(for: books), 60)
    XCTAssertNotNil(context.object(with: fault)["title"])
    context.reset()
    XCTAssertEqual(try context.count(for: books), 60)
  }

  func testOversizedLogEndsObservedGenerations() throws {
    for observesOthers in [false, true] {
      let store = try TestStore()
      let (open, _) = try makeLibrary(store) {
        $0.generationLogLimit = 8 << 20
        $0.postsRemoteChangeNotifications = observesOthers
      }
      let context = try pin(open)
      let other = try store.open()
      try fill(other.newContext(), mebibytes: 1)
      XCTAssertEqual(try context.count(for: books), 40, "the log is not too long yet")
      try fill(other.newContext(), mebibytes: 8)
      if observesOthers {
        // No reader is active.
        XCTAssertTrue(eventually { open.persistentStore.queryGenerations.isEmpty })
      } else {
        XCTAssertEqual(open.persistentStore.queryGenerations.count, 1, "the log was not checked")
        XCTAssertTrue(eventually { (try? context.count(for: books)) == nil })
      }
      assertStoreError(.queryGenerationExpired) { try context.count(for: books) }
      try context.setQueryGeneration(from: .current)
      XCTAssertEqual(try context.count(for: books), 76)
      try other.close()
    }
  }

  func testExistingLongLogFileEndsNoGeneration() throws {
    let store = try TestStore()
    let other = try store.open()
    var holder: ManagedObjectContext? = try pin(other)
    try fill(other.newContext(), mebibytes: 5)
    XCTAssertEqual(try holder?.count(for: books), 0)
    holder = nil
    // The first save checkpoints the log, so that the second one restarts it.
    for title in ["one", "two"] { try other.insert("Book", ["title": .text(title)]) }
    var description = store.description
    description.generationLogLimit = 4 << 20
    let open = try OpenStore(description, model: SpecificationModels.library)
    let context = try pin(open)
    try other.insert("Book", ["title": .text("one more")])
    let heldSnapshots = try engine(open).pool.heldSnapshots
    heldSnapshots.checkLogSize()
    XCTAssertEqual(try context.count(for: books), 22)
    // The earlier state is known; later growth is counted from there.
    try fill(other.newContext(), mebibytes: 12)
    heldSnapshots.checkLogSize()
    assertStoreError(.queryGenerationExpired) { try context.count(for: books) }
    try other.close()
  }

  func testUnsavedChangesSurviveTheirGeneration() throws {
    let store = try TestStore()
    let (open, writer) = try makeLibrary(store) { $0.generationLogLimit = 2 << 20 }
    let context = try pin(open)
    try find("03", context).setValue(Int64(77), forKey: "pages")
    try fill(writer, mebibytes: 3)
    assertStoreError(.queryGenerationExpired) { try context.count(for: books) }
    try context.save()
    XCTAssertEqual(try find("03", open.newContext())["pages"] as? Int64, 77)
    XCTAssertEqual(try context.count(for: books), 52, "its own save has taken it on")
  }

  func testLogIsTruncatedAfterTheLastGenerationIsReleased() throws {
    let store = try TestStore()
    let (open, writer) = try makeLibrary(store) { $0.logLimit = 1 << 20 }
    let log = store.url.path + "-wal"
    func size() -> Int { ((try? FileManager.default.attributesOfItem(atPath: log))?[.size] as? NSNumber)?.intValue ?? 0 }
    var context: ManagedObjectContext? = try pin(open)
    try fill(writer, mebibytes: 3)
    XCTAssertGreaterThan(size(), 3 << 20)
    XCTAssertEqual(try context?.count(for: books), 40)
    context = nil
    XCTAssertTrue(eventually { size() == 0 })
    XCTAssertEqual(try open.count("Book"), 52)
  }

  func testTwelveGenerationsReadTheirOwnStateDuringThreeThousandSaves() throws {
    let store = try TestStore()
    let open = try store.open()
    let writer = open.newContext()
    var pinned: [(context: ManagedObjectContext, count: Int)] = []
    for number in 0..<3_000 {
      if number % 250 == 0 { pinned.append((try pin(open), number)) }
      try writer.insert("Tag", ["name": "\(number)"])
      try writer.save()
      if number % 100 == 0 { writer.reset() }
    }
    let tags = FetchRequest<ManagedObject>(entityName: "Tag")
    for (context, count) in pinned {
      XCTAssertEqual(try context.count(for: tags), count)
      if count > 0 {
        let last = FetchRequest<ManagedObject>(entityName: "Tag", predicate: .compare("name", .equal, "\(count - 1)"))
        XCTAssertEqual(try context.fetch(last).count, 1)
      }
    }
    XCTAssertEqual(open.persistentStore.queryGenerations.count, 12)
  }

  // MARK: Other connections

  func testGenerationStaysReadableDuringAMigration() throws {
    let older = ManagedObjectModel(version: "1") {
      Entity("Book") {
        Attribute("title", .string)
        Attribute("junk", .string)
      }
    }
    let newer = ManagedObjectModel(version: "2") {
      Entity("Book") {
        Attribute("heading", .string).renamed(from: "title")
        Attribute("pages", .integer64)
      }
      Entity("Author") { Attribute("name", .string) }
    }
    let store = try TestStore()
    let open = try OpenStore(store.description, model: CompiledModel(older))
    let writer = open.newContext()
    for number in 0..<30 { try writer.insert("Book", ["title": "\(number)", "junk": "junk"]) }
    try writer.save()
    let context = open.newContext()
    try context.setQueryGeneration(from: .current)
    let all = FetchRequest<ManagedObject>(entityName: "Book")
    XCTAssertEqual(try context.count(for: all), 30)
    let current = try OpenStore(store.description, model: CompiledModel(newer))
    let other = current.newContext()
    for book in try other.all("Book") { try book.setValue("changed", forKey: "heading") }
    try other.save()
    XCTAssertEqual(Set(try context.fetch(all).compactMap { $0["junk"] as? String }), ["junk"])
    XCTAssertEqual(Set(try context.fetch(all).compactMap { $0["title"] as? String }), Set((0..<30).map { "\($0)" }))
    try context.fetch(all)[0].setValue("mine", forKey: "title")
    assertStoreError(.modelIncompatible) { try context.save() }
    XCTAssertEqual(try context.count(for: all), 30)
    try context.setQueryGeneration(from: .current)
    assertStoreError(.modelIncompatible) { try context.count(for: all) }
    try current.close()
  }

  func testSavesOfAnotherCoordinatorCreateANewGeneration() throws {
    let store = try TestStore()
    let (open, _) = try makeLibrary(store)
    let first = try pin(open)
    let other = try store.open()
    try other.insert("Book", ["title": .text("elsewhere")])
    try other.close()
    let second = try pin(open)
    XCTAssertNotEqual(first.queryGenerationToken, second.queryGenerationToken)
    XCTAssertEqual(try first.count(for: books), 40)
    XCTAssertEqual(try second.count(for: books), 41)
  }

  func testClosingEndsGenerationsAndTheStoreCanBeReplacedAndDestroyed() throws {
    let store = try TestStore()
    let (open, _) = try makeLibrary(store)
    let context = try pin(open)
    let token = context.queryGenerationToken
    let known = try find("03", context)
    XCTAssertEqual(known["pages"] as? Int64, 3)
    try open.close()
    XCTAssertEqual(known["pages"] as? Int64, 3)
    XCTAssertThrowsError(try context.fetch(books))
    let coordinator = open.coordinator
    let description = store.description
    try waitFor { try await coordinator.destroyPersistentStore(with: description) }
    withExtendedLifetime(token) {}
  }

  func testMovingAStoreEndsItsGenerations() throws {
    let store = try TestStore()
    let (open, _) = try makeLibrary(store)
    let context = try pin(open)
    let (coordinator, persistent) = (open.coordinator, open.persistentStore)
    let description = PersistentStoreDescription(url: store.folder.file("moved.store"))
    let moved = try waitFor { try await coordinator.migratePersistentStore(persistent, to: description) }
    assertStoreError(.queryGenerationExpired) { try context.count(for: books) }
    try context.setQueryGeneration(from: .current)
    XCTAssertEqual(try context.count(for: books), 40)
    try coordinator.remove(moved)
  }

  // MARK: Large values

  func testGenerationsRetainFilesOfLargeValues() async throws {
    let store = try FilmStore()
    let open = try store.open()
    let poster = FilmStore.bytes(300_000, 1)
    for number in 0..<3 { try open.addFilm("\(number)", FilmStore.bytes(300_000, number + 1)) }
    XCTAssertEqual(store.files().count, 3)
    var context: ManagedObjectContext? = open.newContext()
    try context?.setQueryGeneration(from: .current)
    let films = FetchRequest<ManagedObject>(entityName: "Film").sorted(by: "title")
    var found = try context?.fetch(films) ?? []
    try open.withFilm("0") { film, context in
      try film.setValue(FilmStore.bytes(300_000, 9), forKey: "poster")
      try context.save()
    }
    try open.withFilm("1") { film, context in
      context.delete(film)
      try context.save()
    }
    XCTAssertEqual(store.files().count, 4)
    XCTAssertEqual(found[0]["poster"] as? Data, poster)
    XCTAssertEqual(found[1]["poster"] as? Data, FilmStore.bytes(300_000, 2))
    XCTAssertEqual(try open.poster("0"), FilmStore.bytes(300_000, 9))
    found = []
    context = nil
    XCTAssertTrue(eventually { store.files().count == 2 })
    XCTAssertEqual(try open.poster("2"), FilmStore.bytes(300_000, 3))
    try open.close()
    let findings = try await store.verify()
    XCTAssertEqual(findings, [])
  }

  func testFilesOfUnreleasedGenerationsAreRemovedOnOpening() throws {
    let store = try FilmStore()
    let open = try store.open()
    try open.addFilm("0", FilmStore.bytes(300_000))
    let context = open.newContext()
    try context.setQueryGeneration(from: .current)
    XCTAssertEqual(try context.count(for: FetchRequest<ManagedObject>(entityName: "Film")), 1)
    try open.withFilm("0") { film, context in
      context.delete(film)
      try context.save()
    }
    XCTAssertEqual(store.files().count, 1)
    try open.close()
    try store.open().close()
    XCTAssertEqual(store.files().count, 0)
  }

  // MARK: Damage

  func testOnlyADamagedPageEndsAGeneration() throws {
    let store = try TestStore()
    let (open, writer) = try makeLibrary(store)
    for number in 0..<300 { try writer.insert("Book", ["title": "\(number)" + String(repeating: "x", count: 3_000)]) }
    try writer.save()
    writer.reset()
    XCTAssertTrue(try engine(open).pool.truncateLog())
    let context = try pin(open)
    XCTAssertThrowsError(try context.fetch(FetchRequest<ManagedObject>(entityName: "Nothing")))
    XCTAssertNoThrow(try context.count(for: books))
    let file = try FileHandle(forUpdating: store.url)
    for page in 150..<250 {
      try file.seek(toOffset: UInt64(4_096 * page + 100))
      try file.write(contentsOf: Data(repeating: 0x55, count: 64))
    }
    try file.close()
    let found = FetchRequest<ManagedObject>(entityName: "Book", predicate: .compare("title", .contains, "y"))
    assertStoreError(.storeCorrupt) { try context.fetch(found) }
    assertStoreError(.queryGenerationLost) { try context.count(for: books) }
    XCTAssertEqual(open.persistentStore.queryGenerations, [])
  }

  // MARK: Options

  func testTheLimitsAreSettings() throws {
    var description = PersistentStoreDescription(url: URL(fileURLWithPath: "/nowhere"))
    XCTAssertEqual(description.logLimit, 64 << 20)
    XCTAssertEqual(description.generationLogLimit, 512 << 20)
    description.generationLogLimit = nil
    XCTAssertNil(description.generationLogLimit)
    description.generationLogLimit = 1
    XCTAssertEqual(description.generationLogLimit, 1)
    let options: [String: any Sendable] = ["logLimit": 5, "generationLogLimit": 6]
    let same = try PersistentStoreDescription(type: .sqlcipher, url: URL(fileURLWithPath: "/nowhere"), options: options)
    XCTAssertEqual(same.logLimit, 5)
    XCTAssertEqual(same.generationLogLimit, 6)
  }

  func testAReadOnlyStoreHasGenerationsToo() throws {
    let store = try TestStore()
    let (open, writer) = try makeLibrary(store)
    var description = store.description
    description.isReadOnly = true
    let reader = try OpenStore(description, model: SpecificationModels.library)
    let context = try pin(reader)
    try writer.insert("Book", ["title": "new"])
    try writer.save()
    XCTAssertEqual(try context.count(for: books), 40)
    context.reset()
    XCTAssertEqual(try context.count(for: books), 41)
    try reader.close()
    try open.close()
  }

  func testContextsOfManyThreadsReadOneGeneration() throws {
    let store = try TestStore()
    let (open, writer) = try makeLibrary(store)
    let context = try pin(open)
    let token = context.queryGenerationToken
    let failures = Mutex<[String]>([])
    let coordinator = open.coordinator
    DispatchQueue.concurrentPerform(iterations: 6) { thread in
      do {
        if thread == 0 {
          let writer = ManagedObjectContext(coordinator: coordinator)
          for number in 0..<100 {
            try writer.insert("Book", ["title": "\(number)"])
            try writer.save()
          }
        } else {
          for _ in 0..<30 {
            let context = ManagedObjectContext(coordinator: coordinator)
            try context.setQueryGeneration(from: token)
            let found = try context.fetch(FetchRequest<ManagedObject>(entityName: "Book"))
            if found.count != 40 { failures.withLock { $0.append("\(found.count)") } }
            for object in found where object["pages"] as? Int64 == nil { failures.withLock { $0.append("\(object)") } }
          }
        }
      } catch {
        failures.withLock { $0.append("\(error)") }
      }
    }
    XCTAssertEqual(failures.withLock { $0 }, [])
    withExtendedLifetime(writer) {}
  }
}

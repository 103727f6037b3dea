import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification

@testable import SQLCipherConnection
@testable import SQLCipherStore

/// Repeated fetches of the first rows of a table that exceeds the cache alternate between forward and backward scans.
final class AlternatingScanTests: XCTestCase {
  /// A store with authors whose names take 200 bytes each, and a cache of 16 pages.
  private func store(authors count: Int) throws -> (TestStore, OpenStore) {
    let store = try TestStore()
    var description = store.description
    description.cacheSize = 65_536
    let open = try OpenStore(description, model: SpecificationModels.library)
    _ = try open.save { save in
      try (0..<count).map {
        let name = String(repeating: "\(($0 * 7_919) % count % 10)", count: 190) + "\($0 * 7_919 % count)"
        return try save.insert("Author", ["name": .text(name), "born": .int(Int64($0))])
      }
    }
    return (store, open)
  }

  private func firstAuthors(bornAfter born: Int) -> FetchSpecification {
    var fetch = FetchSpecification(entityName: "Author", predicate: .compare("born", .greater, born))
    fetch.sortDescriptors = [FetchSortDescriptor("name", ascending: false)]
    fetch.fetchLimit = 30
    return fetch
  }

  /// Runs a fetch repeatedly; returns its results and which of its statements scan backward.
  private func ask(_ fetch: FetchSpecification, _ store: TestStore, _ open: OpenStore) throws -> (answers: Set<[Int64]>, backwards: [Bool])
  {
    var answers: Set<[Int64]> = []
    var backwards: [Bool] = []
    for _ in 0..<5 {
      let statements = try store.statements {
        let rows = try open.rows(fetch)
        answers.insert((0..<rows.count).map { rows.reference($0).key })
      }
      backwards.append(statements.contains { $0.hasSuffix(#"ORDER BY t0."_pk" DESC"#) })
    }
    return (answers, backwards)
  }

  func testTableLargerThanTheCacheIsScannedInBothDirections() throws {
    let (store, open) = try store(authors: 1_500)
    let (answers, backwards) = try ask(firstAuthors(bornAfter: 700), store, open)
    XCTAssertEqual(answers.count, 1)
    XCTAssertEqual(answers.first?.count, 30)
    // Since version 3.24, SQLite itself limits a scan for the first rows of an order.
    let turns = LibraryVersion.prunesOrderByLimit ? [false, false, false, false, false] : [false, true, false, true, false]
    XCTAssertEqual(backwards, turns)
  }

  func testSmallAndVeryLargeTablesAreScannedForward() throws {
    for count in [40, 6_000] {
      let (store, open) = try store(authors: count)
      let (answers, backwards) = try ask(firstAuthors(bornAfter: 5), store, open)
      XCTAssertEqual(answers.count, 1)
      XCTAssertFalse(backwards.contains(true), "\(count)")
    }
  }

  func testIndexScansKeepTheirDirection() throws {
    let (store, open) = try store(authors: 0)
    _ = try open.save { save in
      try (0..<1_500).map {
        try save.insert(
          "Book", ["isbn": .text("\($0)"), "title": .text(String(repeating: "\($0 % 10)", count: 200)), "year": .int(Int64($0))])
      }
    }
    var fetch = FetchSpecification(entityName: "Book", predicate: .compare("isbn", .greater, "5"))
    fetch.sortDescriptors = [FetchSortDescriptor("rating"), FetchSortDescriptor("pages")]
    fetch.fetchLimit = 30
    let (answers, backwards) = try ask(fetch, store, open)
    XCTAssertEqual(answers.count, 1)
    XCTAssertFalse(backwards.contains(true))
  }

  func testScanDirectionAlternatesByMissedPages() {
    var turns = AlternatingScans()
    var asked = 0
    func walk(_ missed: Int, canReverse: Bool = true) -> Bool {
      turns.record(1, missed: missed, capacity: 1_000) {
        asked += 1
        return canReverse
      }
      return turns.isBackwards(1)
    }
    XCTAssertFalse(walk(900), "it may fit")
    XCTAssertFalse(walk(9_000), "it is read ahead by the system")
    XCTAssertEqual(asked, 0)
    XCTAssertTrue(walk(2_000))
    XCTAssertFalse(walk(1_000))
    XCTAssertTrue(walk(1_000))
    XCTAssertTrue(walk(3), "all of it was there")
    XCTAssertFalse(walk(2_000))
    XCTAssertFalse(walk(9_000), "it has grown")
    XCTAssertEqual(asked, 1)
    turns.record(2, missed: 2_000, capacity: 1_000) { false }
    turns.record(2, missed: 2_000, capacity: 1_000) { true }
    XCTAssertFalse(turns.isBackwards(2))
  }
}

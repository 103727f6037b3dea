import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

@testable import ObjectContext

/// The cost of keeping results up to date: comparisons, moved results, statements.
final class ResultsCostTests: XCTestCase {
  // MARK: The list

  private static let order = ResultOrder([
    ResolvedSortKey(expression: .constant(0, .integer), isAscending: true, order: .binary)
  ])

  private func item(_ value: Int64, _ key: Int64) -> ResultItem {
    ResultItem(id: ManagedObjectID(space: 1, entityNumber: 0, key: key), values: [.int(value)], section: Int32(value / 1_000))
  }

  private func load(_ count: Int64, _ list: ResultList) -> [ResultItem] {
    let items = (1...count).map { item($0 * 7 % 100_003, $0) }.sorted {
      ($0.values[0].number, $0.id.key) < ($1.values[0].number, $1.id.key)
    }
    list.load(items.map(\.id), values: items.flatMap(\.values), sections: items.map(\.section))
    return items
  }

  func testChangeComparesAndMovesFewResults() throws {
    let list = ResultList(Self.order, isSectioned: true)
    let items = load(100_000, list)
    XCTAssertEqual(list.work, ResultList.Work())
    var random = SeededGenerator(seed: 3)
    let changes = 1_000
    for _ in 0..<changes {
      let item = try XCTUnwrap(items.randomElement(using: &random))
      list.remove(item.id)
      list.insert(self.item(Int64.random(in: 0..<100_000, using: &random), item.id.key))
    }
    // The binary logarithm of 100,000 is 17. A node has at most 256 results, and half of a full one moves to a new one.
    XCTAssertLessThanOrEqual(list.work.comparisons, changes * 19)
    XCTAssertLessThanOrEqual(list.work.moved, changes * 2 * ResultList.maximumChunkSize)
    XCTAssertEqual(list.count, 100_000)
  }

  func testResultsMatchASortedArray() throws {
    let list = ResultList(Self.order, isSectioned: true)
    var random = SeededGenerator(seed: 4)
    var items = load(2_000, list)
    func check(line: UInt = #line) {
      XCTAssertEqual(list.ids(in: 0..<list.count), items.map(\.id), line: line)
      var starts: [Int] = []
      for (position, item) in items.enumerated() {
        if position == 0 || items[position - 1].section != item.section { starts.append(position) }
        XCTAssertEqual(list.position(of: item.id), position, line: line)
        XCTAssertEqual(list.item(at: position), item, line: line)
        let path = list.path(ofPosition: position)
        XCTAssertEqual(path.section, starts.count - 1, line: line)
        XCTAssertEqual(path.item, position - starts[starts.count - 1], line: line)
      }
      XCTAssertEqual(list.sectionCount, starts.count, line: line)
      for (section, start) in starts.enumerated() {
        let end = section + 1 < starts.count ? starts[section + 1] : items.count
        XCTAssertEqual(list.range(ofSection: section), start..<end, line: line)
        XCTAssertEqual(list.name(ofSection: section), items[start].section, line: line)
      }
    }
    check()
    var key: Int64 = 10_000
    for step in 0..<4_000 {
      // The list grows, and then shrinks to nothing.
      if items.isEmpty || step < 1_500 && Bool.random(using: &random) {
        key += 1
        let new = item(Int64.random(in: 0..<100_000, using: &random), key)
        let place = items.firstIndex { ($0.values[0].number, $0.id.key) > (new.values[0].number, new.id.key) } ?? items.count
        items.insert(new, at: place)
        XCTAssertEqual(list.insert(new), place)
      } else {
        let place = Int.random(in: 0..<items.count, using: &random)
        list.remove(items.remove(at: place).id)
      }
      if step % 800 == 0 { check() }
    }
    check()
  }

  func testUnaffectedResultsStayInPlace() {
    XCTAssertEqual(LongestIncreasingSubsequence.members(of: []), [])
    XCTAssertEqual(LongestIncreasingSubsequence.members(of: [1, 2, 3]), [true, true, true])
    XCTAssertEqual(LongestIncreasingSubsequence.members(of: [9, 1, 2, 3]), [false, true, true, true])
    XCTAssertEqual(LongestIncreasingSubsequence.members(of: [3, 2, 1]).count { $0 }, 1)
    XCTAssertEqual(LongestIncreasingSubsequence.members(of: [2, 8, 3, 9, 4, 5]), [true, false, true, false, true, true])
  }

  // MARK: Statements

  private static let count = 2_000

  /// 2,000 books by 1,000 authors, and a context that merges the saves of others.
  private func onBooks(_ body: (ManagedObjectContext, Stack) throws -> Void) async throws {
    try await onEachStore([.sqlcipher]) { stack in
      do {
        let writer = stack.makeShortLivedContext()
        let authors = (0..<Self.count / 2).map { number in
          let author = Author(context: writer)
          author.name = "author \(number)"
          return author
        }
        for number in 0..<Self.count {
          let book = Book(context: writer)
          book.title = "book \(number)"
          book.pages = Int32(number % 26)
          book.author = authors[number / 2]
        }
        try writer.save()
      }
      let context = stack.makeContext()
      context.automaticallyMergesChangesFromParent = true
      try body(context, stack)
    }
  }

  private func controller(
    _ context: ManagedObjectContext, _ format: String? = nil, by keys: String..., section: String? = nil
  ) throws -> FetchedResultsController<Book> {
    var request = FetchRequest<Book>(entityName: "Book", predicate: try format.map { try FetchPredicate(format: $0) })
    request.sortDescriptors = keys.map { FetchSortDescriptor($0) }
    let controller = FetchedResultsController(fetchRequest: request, context: context, sectionNameKeyPath: section)
    try controller.performFetch()
    return controller
  }

  func testAThousandChangesOfObjectsInMemoryReadNothing() async throws {
    try await onBooks { context, stack in
      let controller = try controller(context, by: "pages", "title", section: "pages")
      XCTAssertEqual(controller.sections?.count, 26)
      let books = try XCTUnwrap(controller.fetchedObjects)
      for book in books { book.willAccess() }
      stack.statements?.reset()
      books[77].title = "x"
      context.processPendingChanges()
      XCTAssertLessThanOrEqual(controller.results?.list.work.comparisons ?? .max, 12)
      for book in books.prefix(1_000) { book.pages = 25 - (book.pages ?? 0) }
      context.processPendingChanges()
      XCTAssertEqual(stack.statements?.count, 0, "\(stack.statements?.texts ?? [])")
      XCTAssertEqual(controller.sections?.map(\.numberOfObjects).reduce(0, +), Self.count)
      XCTAssertEqual(controller.fetchedObjectIDs, try context.fetchIdentifiers(controller.fetchRequest))
    }
  }

  func testFetchingResultsUsesOneStatement() async throws {
    try await onBooks { context, stack in
      stack.statements?.reset()
      let controller = try controller(context, "price < 100", by: "title")
      XCTAssertEqual(stack.statements?.count, 1, "\(stack.statements?.texts ?? [])")
      XCTAssertEqual(context.registeredObjects.count, 0, "No object was made.")
      XCTAssertEqual(controller.numberOfObjects, Self.count)
    }
  }

  func testResultsAreReadTogetherOnAccess() async throws {
    try await onBooks { context, stack in
      let controller = try controller(context, by: "title")
      stack.forgetRows()
      stack.statements?.reset()
      for item in 0..<400 { XCTAssertNotNil(controller.object(at: IndexPath(item: item, section: 0))?.price) }
      XCTAssertEqual(stack.statements?.count, 1, "\(stack.statements?.texts.count ?? 0)")
    }
  }

  func testMergedChangesAreFetchedTogether() async throws {
    try await onBooks { context, stack in
      let controller = try controller(context, "price < 50", by: "title")
      let other = stack.makeContext()
      try other.execute(
        BatchUpdateRequest(entityName: "Book", predicate: .compare("pages", .less, 13), propertiesToUpdate: ["price": 60.0]))
      stack.statements?.reset()
      context.processPendingChanges()
      XCTAssertEqual(stack.statements?.count, 1, "\(stack.statements?.texts ?? [])")
      XCTAssertEqual(controller.fetchedObjectIDs, try context.fetchIdentifiers(controller.fetchRequest))
    }
  }

  func testRelatedChangesUseOneStatementPerFiveHundred() async throws {
    try await onBooks { context, stack in
      let controller = try controller(context, "author.name BEGINSWITH 'author'", by: "title")
      XCTAssertEqual(controller.numberOfObjects, Self.count)
      let other = stack.makeContext()
      try other.execute(BatchUpdateRequest(entityName: "Author", propertiesToUpdate: ["name": "nobody"]))
      stack.statements?.reset()
      context.processPendingChanges()
      // 1,000 authors lead to their books, which one fetch returns.
      XCTAssertEqual(stack.statements?.count, 3, "\(stack.statements?.texts ?? [])")
      XCTAssertEqual(controller.numberOfObjects, 0)
    }
  }

  func testIrrelevantChangesCostOneCheck() async throws {
    try await onBooks { context, stack in
      let controller = try controller(context, "author.name BEGINSWITH 'author'", by: "title")
      let other = stack.makeContext()
      try other.execute(BatchUpdateRequest(entityName: "Author", propertiesToUpdate: ["born": 1_900]))
      stack.statements?.reset()
      context.processPendingChanges()
      XCTAssertEqual(stack.statements?.count, 0, "\(stack.statements?.texts ?? [])")
      XCTAssertEqual(controller.numberOfObjects, Self.count)
    }
  }

  func testWindowIsRefilledByOneFetch() async throws {
    try await onBooks { context, stack in
      var request = FetchRequest<Book>(entityName: "Book")
      request.sortDescriptors = [FetchSortDescriptor("title")]
      (request.fetchLimit, request.fetchOffset) = (10, 5)
      let controller = FetchedResultsController(fetchRequest: request, context: context)
      try controller.performFetch()
      let other = stack.makeContext()
      other.delete(try XCTUnwrap(try other.fetch(request).first))
      try other.save()
      stack.statements?.reset()
      context.processPendingChanges()
      let count = try XCTUnwrap(stack.statements?.count)
      XCTAssertEqual(controller.numberOfObjects, 10)
      // The store reads the order and the rows of the window separately.
      stack.statements?.reset()
      XCTAssertEqual(controller.fetchedObjectIDs, try stack.makeContext().fetch(request).map(\.objectID))
      XCTAssertEqual(count, stack.statements?.count, "One fetch, whatever it takes.")
    }
  }
}

extension Slot {
  fileprivate var number: Int64 { if case .int(let number) = self { number } else { 0 } }
}

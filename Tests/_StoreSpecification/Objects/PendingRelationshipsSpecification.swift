import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

/// A fetch finds the same objects before a save as after it, even if the result depends on unsaved changes of related objects, in memory or
/// not.
public final class PendingRelationshipsSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testFetchesIncludeUnsavedDeletionsOfMembers", { $0.testFetchesIncludeUnsavedDeletionsOfMembers }),
        ("testFetchesIncludeUnsavedInsertionsAndMovesOfMembers", { $0.testFetchesIncludeUnsavedInsertionsAndMovesOfMembers }),
        (
          "testFetchesIncludeUnsavedValuesAcrossSeveralRelationships",
          { $0.testFetchesIncludeUnsavedValuesAcrossSeveralRelationships }
        ),
        ("testUnsavedChangesOfRelatedObjectsReorderResults", { $0.testUnsavedChangesOfRelatedObjectsReorderResults }),
        ("testExplanationReportsRelatedUnsavedChanges", { $0.testExplanationReportsRelatedUnsavedChanges }),
        ("testFetchWithoutRelationshipsReadsNoAdditionalRows", { $0.testFetchWithoutRelationshipsReadsNoAdditionalRows }),
        ("testEveryFetchHasTheSameResultsBeforeAndAfterTheSave", { $0.testEveryFetchHasTheSameResultsBeforeAndAfterTheSave }),
        (
          "testEveryNestedFetchHasTheSameResultsBeforeAndAfterTheSave",
          { $0.testEveryNestedFetchHasTheSameResultsBeforeAndAfterTheSave }
        ),
      ] as [(String, (PendingRelationshipsSpecification) -> () throws -> Void)])
  }

  /// Three books with two chapters and two tags each, and one author for two of them. Nothing is in memory.
  private func makeBooks() throws -> (OpenStore, ManagedObjectContext) {
    let open = try makeStore()
    let context = open.newContext()
    let mentor = try context.insert("Author", ["name": "Mentor"])
    let authors = try ["Ada", "Bob"].map { try context.insert("Author", ["name": $0, "mentor": mentor]) }
    let tags = try ["blue", "red", "green"].map { try context.insert("Tag", ["name": $0]) }
    for (number, title) in ["A", "B", "C"].enumerated() {
      let book = try context.insert("Book", ["title": title, "author": authors[number / 2], "tags": Set(tags.prefix(2))])
      for chapter in 0..<2 { try context.insert("Chapter", ["title": "\(title)\(chapter)", "pages": 10, "book": book]) }
    }
    try context.save()
    context.reset()
    return (open, context)
  }

  private func request(_ format: String, _ keys: String...) throws -> FetchRequest<ManagedObject> {
    FetchRequest<ManagedObject>(
      entityName: "Book", predicate: try FetchPredicate(format: format), sortDescriptors: keys.map { FetchSortDescriptor($0) })
  }

  /// Checks the results of each kind of fetch with only changed objects in memory, with the books in memory, and after the save.
  private func check(
    _ context: ManagedObjectContext, _ expected: [(String, [String])], message: String = "", line: UInt = #line
  ) throws {
    func checkFetches(_ when: String) throws {
      for (format, titles) in expected {
        let message = "\(message) \(when): \(format)"
        let request = try request(format, "title")
        XCTAssertEqual(try context.texts("title", request), titles, message, line: line)
        XCTAssertEqual(try context.count(for: request), titles.count, message, line: line)
        let ids = try context.fetchIdentifiers(request)
        XCTAssertEqual(ids.map { context.object(with: $0).text("title") ?? "-" }, titles, message, line: line)
        XCTAssertEqual(try context.fetch(request, batchSize: 100).map { $0.text("title") ?? "-" }, titles, message, line: line)
        XCTAssertEqual(
          try context.fetch(request, as: ObjectSnapshot.self).map { try $0["title"] as? String ?? "-" }, titles, message,
          line: line)
        var first = request
        first.fetchLimit = 1
        XCTAssertEqual(try context.texts("title", first), Array(titles.prefix(1)), message, line: line)
        let list = FetchedResultsController(fetchRequest: request, context: context, sectionNameKeyPath: nil)
        try list.performFetch()
        XCTAssertEqual(list.fetchedObjects?.map { $0.text("title") ?? "-" }, titles, message, line: line)
      }
    }
    context.processPendingChanges()
    try checkFetches("not in memory")
    let books = try context.all("Book")
    for book in books { XCTAssertLessThanOrEqual(book.list("chapters").count + book.members("tags").count, 7) }
    try checkFetches("in memory")
    try context.save()
    try checkFetches("saved")
    withExtendedLifetime(books) {}
  }

  func testFetchesIncludeUnsavedDeletionsOfMembers() throws {
    var (_, context) = try makeBooks()
    context.delete(try find("Chapter", "title", "A0", in: context))
    try check(
      context,
      [
        ("chapters.@count == 1", ["A"]), ("chapters.@count == 2", ["B", "C"]), ("ANY chapters.title == 'A0'", []),
        ("chapters.@sum.pages == 10", ["A"]), ("author.books.chapters.@count == 3", []),
        ("SUBQUERY(author.books, $b, $b.chapters.@count == 1).@count == 1", ["A", "B"]),
      ].filter { !$0.0.hasPrefix("author.books.chapters") })
    context.delete(try find("Tag", "name", "red", in: context))
    try check(
      context, [("tags.@count == 1", ["A", "B", "C"]), ("tags.@count == 2", []), ("ANY tags.name == 'red'", []), ("tags.@count == 0", [])])
    (_, context) = try makeBooks()
    context.delete(try find("Book", "title", "A", in: context))
    try check(context, [("author.books.@count == 1", ["B", "C"]), ("author.books.@count == 2", []), ("ANY tags.books.title == 'A'", [])])
    (_, context) = try makeBooks()
    context.delete(try find("Author", "name", "Mentor", in: context))
    try check(context, [("author.mentor == nil", ["A", "B", "C"]), ("author.mentor.name == 'Mentor'", [])])
  }

  func testFetchesIncludeUnsavedInsertionsAndMovesOfMembers() throws {
    let (_, context) = try makeBooks()
    let ids = try context.fetchIdentifiers(request("TRUEPREDICATE", "title"))
    try context.insert("Chapter", ["title": "new", "pages": 5, "book": context.object(with: ids[0])])
    try find("Tag", "name", "green", in: context).mutableSetValue(forKey: "books").add(context.object(with: ids[1]))
    try check(
      context,
      [
        ("chapters.@count == 3", ["A"]), ("ANY chapters.title == 'new'", ["A"]), ("chapters.@avg.pages < 10", ["A"]),
        ("tags.@count == 3", ["B"]), ("ANY tags.name == 'green'", ["B"]), ("NONE tags.name == 'green'", ["A", "C"]),
      ])
    try find("Chapter", "title", "B0", in: context).setValue(context.object(with: ids[2]), forKey: "book")
    try find("Book", "title", "A", in: context).setValue(try find("Author", "name", "Bob", in: context), forKey: "author")
    try check(
      context,
      [
        ("chapters.@count == 3", ["A", "C"]), ("chapters.@count == 1", ["B"]), ("author.books.@count == 1", ["B"]),
        ("author.books.@count == 2", ["A", "C"]), ("ANY author.books.chapters.title == 'B0'", ["A", "C"]),
      ])
  }

  func testFetchesIncludeUnsavedValuesAcrossSeveralRelationships() throws {
    let (_, context) = try makeBooks()
    try find("Author", "name", "Mentor", in: context).setValue("New", forKey: "name")
    try find("Author", "name", "Bob", in: context).setValue(nil, forKey: "mentor")
    try find("Tag", "name", "red", in: context).setValue("pink", forKey: "name")
    try find("Chapter", "title", "C1", in: context).setValue(99, forKey: "pages")
    try check(
      context,
      [
        ("author.mentor.name == 'New'", ["A", "B"]), ("author.mentor.name == 'Mentor'", []), ("author.mentor == nil", ["C"]),
        ("ANY tags.name == 'pink'", ["A", "B", "C"]), ("ANY tags.name == 'red'", []), ("chapters.@max.pages == 99", ["C"]),
        ("ANY tags.books.chapters.pages == 99", ["A", "B", "C"]), ("author.books.@count == 2 AND author.mentor.name != nil", ["A", "B"]),
      ])
  }

  func testUnsavedChangesOfRelatedObjectsReorderResults() throws {
    let (_, context) = try makeBooks()
    try find("Author", "name", "Ada", in: context).setValue("Zoe", forKey: "name")
    context.delete(try find("Chapter", "title", "B0", in: context))
    for chapter in ["C0", "C1"] { context.delete(try find("Chapter", "title", chapter, in: context)) }
    context.processPendingChanges()
    func check(_ when: String) throws {
      XCTAssertEqual(try context.texts("title", request("TRUEPREDICATE", "chapters.@count", "title")), ["C", "B", "A"], when)
      XCTAssertEqual(try context.texts("title", request("TRUEPREDICATE", "author.name", "title")), ["C", "A", "B"], when)
      var window = try request("TRUEPREDICATE", "chapters.@count", "title")
      (window.fetchLimit, window.fetchOffset) = (1, 1)
      XCTAssertEqual(try context.texts("title", window), ["B"], when)
      let list = FetchedResultsController(
        fetchRequest: try request("TRUEPREDICATE", "author.name", "title"), context: context, sectionNameKeyPath: "author.name")
      try list.performFetch()
      XCTAssertEqual(list.sections?.map(\.name), ["Bob", "Zoe"], when)
      XCTAssertEqual(list.sections?.map { $0.objects.map { $0.text("title") ?? "-" } }, [["C"], ["A", "B"]], when)
    }
    try check("unsaved")
    try context.save()
    try check("saved")
  }

  func testExplanationReportsRelatedUnsavedChanges() throws {
    let (_, context) = try makeBooks()
    context.delete(try find("Chapter", "title", "A0", in: context))
    func isSaid(_ format: String) throws -> Bool {
      try context.explain(request(format)).inMemory.contains { $0.contains("related objects") }
    }
    XCTAssertTrue(try isSaid("chapters.@count == 1"))
    XCTAssertFalse(try isSaid("tags.@count == 1"))
    XCTAssertFalse(try isSaid("title == 'A'"))
    try context.save()
    XCTAssertFalse(try isSaid("chapters.@count == 1"))
  }

  /// The store alone decides on objects without relevant unsaved changes.
  func testFetchWithoutRelationshipsReadsNoAdditionalRows() throws {
    let (_, context) = try makeBooks()
    context.delete(try find("Chapter", "title", "A0", in: context))
    context.processPendingChanges()
    let before = context.registeredObjects.count
    XCTAssertEqual(try context.count(for: request("title != 'A'", "title")), 2)
    XCTAssertEqual(try context.count(for: request("tags.@count == 2", "title")), 3)
    XCTAssertEqual(context.registeredObjects.count, before)
    var saved = try request("chapters.@count == 2", "title")
    saved.includesPendingChanges = false
    XCTAssertEqual(try context.texts("title", saved), ["A", "B", "C"])
  }

  // MARK: Random changes

  func testEveryFetchHasTheSameResultsBeforeAndAfterTheSave() throws { try run(seed: 4_000, isNested: false) }

  func testEveryNestedFetchHasTheSameResultsBeforeAndAfterTheSave() throws { try run(seed: 4_100, isNested: true) }

  /// Returns the numbers of the objects that a request finds, as objects, as IDs and as a window, and its count.
  private func answers(_ requests: [FetchSpecification], _ context: ManagedObjectContext) throws -> [[Int64]] {
    try requests.map { specification in
      var request = FetchRequest<ManagedObject>(entityName: specification.entityName)
      request.specification = specification
      let numbers = try context.fetch(request).map { $0.integer("number") ?? -1 }
      let ids = try context.fetchIdentifiers(request).map { context.object(with: $0).integer("number") ?? -1 }
      var window = request
      (window.fetchLimit, window.fetchOffset) = (3, 2)
      let some = try context.fetch(window).map { $0.integer("number") ?? -1 }
      if ids != numbers { XCTFail("\(specification): \(ids) as IDs, \(numbers) as objects") }
      if some != Array(numbers.dropFirst(2).prefix(3)) { XCTFail("\(specification): a window of \(numbers) is \(some)") }
      let count = try context.count(for: request)
      if count != numbers.count { XCTFail("\(specification): \(count) are counted of \(numbers)") }
      return numbers
    }
  }

  private func run(seed: UInt64, isNested: Bool) throws {
    var random = SeededGenerator(seed: seed)
    var queries = UndoGraphQueries(seed: seed + 1)
    let (right, open) = (try makeStore(UndoGraph.model).newContext(), try makeStore(UndoGraph.model))
    let base = open.newContext()
    let tested = isNested ? ManagedObjectContext(parent: base) : base
    var nextNumber: Int64 = 0
    var differences = 0
    for round in 0..<RandomSteps.count(24) {
      var log: [UndoGraph.Step] = []
      for _ in 0..<Int.random(in: round == 0 ? 30...30 : 1...8, using: &random) {
        guard let step = try UndoGraph.step(in: right, nextNumber: &nextNumber, using: &random) else { continue }
        if case .save = step { continue }
        try UndoGraph.run(step, in: right)
        try UndoGraph.run(step, in: tested)
        log.append(step)
        if round % 3 == 0 { tested.processPendingChanges() }
      }
      right.processPendingChanges()
      tested.processPendingChanges()
      let requests = try (0..<20).map { _ in try queries.next() }
      let saved = try answers(requests, open.newContext())
      let before = try answers(requests, tested)
      func compare(_ other: [[Int64]], _ when: String) {
        for (number, request) in requests.enumerated() where other[number] != before[number] {
          XCTFail(
            "seed \(seed), round \(round), \(log): \(request.entityName) \(request.predicate.map { "\($0)" } ?? "") by \(request.sortDescriptors)"
              + " finds \(before[number]) with nothing in memory, \(other[number]) \(when)")
        }
      }
      differences += zip(saved, before).count { $0 != $1 }
      // Everything is in memory, including members.
      let held = try UndoGraph.model.entities.flatMap { try tested.all($0.name) }
      _ = try UndoGraph.state(of: tested)
      compare(try answers(requests, tested), "with all objects in memory")
      compare(try answers(requests, ManagedObjectContext(parent: tested)), "in a nested context")
      try tested.save()
      withExtendedLifetime(held) {}
      if isNested {
        compare(try answers(requests, base), "in the parent")
        try base.save()
      }
      compare(try answers(requests, tested), "after the save")
      compare(try answers(requests, open.newContext()), "in another context after the save")
      try right.save()
      if round % 4 == 3 { tested.reset() }
      if testRun?.totalFailureCount ?? 0 > 0 { return }
    }
    XCTAssertGreaterThan(differences, 25, "Unsaved changes decide too few answers.")
  }
}

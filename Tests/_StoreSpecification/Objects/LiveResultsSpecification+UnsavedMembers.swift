import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

extension LiveResultsSpecification {
  private func makeList(
    _ format: String?, _ key: String = "title", in context: ManagedObjectContext
  ) throws -> FetchedResultsController<ManagedObject> {
    let request = request(try format.map { try FetchPredicate(format: $0) }, key, "title")
    let list = FetchedResultsController(fetchRequest: request, context: context)
    try list.performFetch()
    return list
  }

  func testDeletingAnUnsavedMemberLeavesNoStaleReference() throws {
    let formats: [(String?, isMet: Bool)] = [
      (nil, true), ("title != 'x'", true), ("chapters.@count > 0", true), ("chapters.@count == 2", false),
      ("ANY chapters.title == 'c0'", false), ("ANY chapters.title == 'c1'", true), ("author.books.@count > 0", true),
      ("ANY author.books.chapters.title == 'c1'", true), ("ANY author.books.chapters.title == 'c0'", false),
      ("SUBQUERY(chapters, $c, $c.pages > 0).@count == 1", true),
    ]
    for (format, isMet) in formats {
      for key in ["title", "tags.@count", "chapters.@count", "author.name"] {
        let message = "\(format ?? "all"), by \(key)"
        let open = try makeStore()
        let context = open.newContext()
        let author = try context.insert("Author", ["name": "Ursula"])
        try context.save()
        let list = try makeList(format, key, in: context)
        let book = try context.insert("Book", ["title": "new", "author": author])
        let chapters = try (0..<2).map { try context.insert("Chapter", ["title": "c\($0)", "pages": 5, "book": book]) }
        context.processPendingChanges()
        context.delete(chapters[0])
        context.processPendingChanges()
        XCTAssertNil(context.pendingError, message)
        XCTAssertEqual(list.fetchedObjects, isMet ? [book] : [], message)
        XCTAssertEqual(try context.fetch(list.fetchRequest), isMet ? [book] : [], message)
        XCTAssertNoThrow(try context.save(), message)
        XCTAssertEqual(list.fetchedObjects, isMet ? [book] : [], message)
        XCTAssertEqual(try open.newContext().count(for: FetchRequest<ManagedObject>(entityName: "Chapter")), 1, message)
      }
    }
  }

  /// Which list examines a new object first depends on hashes, which differ between contexts.
  func testSeveralResultsOfOneContextContainEachObjectOnce() throws {
    let formats = [
      "ANY author.books.title == 'new'", "author.books.@count > 0", "ANY author.books.title == 'old'", "author.name != 'x'",
      "ANY tags.books.title == 'new'",
    ]
    for round in 0..<4 {
      for format in formats {
        for others in [[], ["title != 'x'"], ["title == 'x'"], ["title != 'x'", "title != 'y'"]] {
          let context = try makeStore().newContext()
          let author = try context.insert("Author", ["name": "Ursula"])
          let tag = try context.insert("Tag", ["name": "red"])
          try context.insert("Book", ["title": "old", "author": author, "tags": Set([tag])])
          try context.save()
          let lists = try others.map { try makeList($0, in: context) }
          let list = try makeList(format, in: context)
          for number in 0...round {
            try context.insert("Book", ["title": number == 0 ? "new" : "\(number)", "author": author, "tags": Set([tag])])
          }
          context.processPendingChanges()
          let message = "\(format) after \(others), \(round + 1) new books"
          for list in lists + [list] {
            let ids = list.fetchedObjectIDs ?? []
            XCTAssertEqual(Set(ids).count, ids.count, "\(message): an object is there twice")
            XCTAssertEqual(list.fetchedObjects, try context.fetch(list.fetchRequest), message)
          }
          try context.save()
          XCTAssertEqual(list.fetchedObjects, try context.fetch(list.fetchRequest), message)
        }
      }
    }
  }

  func testUnsavedMembersWithoutAnInverseAffectResults() throws {
    let context = try makeStore().newContext()
    let shelf = try context.insert("Shelf", ["name": "s"])
    try context.save()
    var request = FetchRequest<ManagedObject>(entityName: "Shelf", predicate: try FetchPredicate(format: "ANY hidden.title == 'b'"))
    request.sortDescriptors = [FetchSortDescriptor("first.title")]
    let list = FetchedResultsController(fetchRequest: request, context: context)
    try list.performFetch()
    let book = try context.insert("Book", ["title": "a"])
    try shelf.setValue(Set([book]), forKey: "hidden")
    try shelf.setValue(book, forKey: "first")
    context.processPendingChanges()
    XCTAssertEqual(list.fetchedObjects, [])
    try book.setValue("b", forKey: "title")
    context.processPendingChanges()
    XCTAssertEqual(list.fetchedObjects, [shelf])
    context.delete(book)
    context.processPendingChanges()
    XCTAssertNil(context.pendingError)
    XCTAssertEqual(list.fetchedObjects, [])
    // Without an inverse, a deleted member has to be removed explicitly.
    try shelf.setValue(Set<ManagedObject>(), forKey: "hidden")
    try shelf.setValue(nil, forKey: "first")
    try context.save()
    XCTAssertEqual(list.fetchedObjects, [])
  }

  /// Sections by a count, and by one across a relationship, for objects that are not in memory when their members change.
  func testUnsavedMembersOfUnregisteredOwnersAffectSections() throws {
    for key in ["chapters.@count", "author.books.@count"] {
      for isFetchedBefore in [false, true] {
        let open = try makeStore()
        let setup = open.newContext()
        let authors = try ["A", "B"].map { try setup.insert("Author", ["name": $0]) }
        for (title, author, count) in [("a", 0, 1), ("b", 0, 2), ("c", 1, 2)] {
          let book = try setup.insert("Book", ["title": title, "author": authors[author]])
          for number in 0..<count { try setup.insert("Chapter", ["title": "\(title)\(number)", "pages": 5, "book": book]) }
        }
        try setup.save()
        let context = open.newContext()
        let list = FetchedResultsController(fetchRequest: request(nil, key, "title"), context: context, sectionNameKeyPath: key)
        func check(_ expected: [String: [String]], _ message: String) throws {
          context.processPendingChanges()
          if list.fetchedObjects == nil { try list.performFetch() }
          XCTAssertNil(context.pendingError, message)
          let sections = (list.sections ?? []).map { section in (section.name, section.objects.map { $0.text("title") ?? "" }) }
          XCTAssertEqual(Dictionary(uniqueKeysWithValues: sections), expected, "\(key), \(message), fetched before: \(isFetchedBefore)")
        }
        if isFetchedBefore {
          try check(key == "chapters.@count" ? ["1": ["a"], "2": ["b", "c"]] : ["1": ["c"], "2": ["a", "b"]], "at first")
        }
        // A deletion, an insertion and a move, whose owners need not be in the context.
        if key == "chapters.@count" {
          context.delete(try find("Chapter", "title", "b0", in: context))
          let moved = try find("Chapter", "title", "c0", in: context)
          try moved.setValue(find("Book", "title", "a", in: context), forKey: "book")
          try check(["1": ["b", "c"], "2": ["a"]], "after changes")
        } else {
          try find("Book", "title", "a", in: context).setValue(find("Author", "name", "B", in: context), forKey: "author")
          try check(["1": ["b"], "2": ["a", "c"]], "after a move")
          context.delete(try find("Book", "title", "c", in: context))
          try check(["1": ["a", "b"]], "after a deletion")
        }
        let unsaved = (list.sections ?? []).map(\.name)
        try context.save()
        context.processPendingChanges()
        XCTAssertEqual((list.sections ?? []).map(\.name), unsaved, "after the save")
        let again = FetchedResultsController(fetchRequest: request(nil, key, "title"), context: open.newContext(), sectionNameKeyPath: key)
        try again.performFetch()
        XCTAssertEqual((again.sections ?? []).map(\.name), unsaved, "of the store")
      }
    }
  }
}

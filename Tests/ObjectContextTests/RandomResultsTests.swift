import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

@testable import ObjectContext

/// After each of many random changes, live results equal those found by examining every object.
final class RandomResultsTests: XCTestCase {
  private static let changes = RandomSteps.count(2_500)

  func testResultsMatchAFullEvaluationInMemory() async throws {
    try await run(.inMemory, seed: 14)
  }

  func testResultsMatchAFullEvaluationOverAnEncryptedStore() async throws {
    try await run(.sqlcipher, seed: 15)
  }

  func testResultsOfManyContextsMatchAFullEvaluationInMemory() async throws {
    try await runContexts(.inMemory, seed: 1_400, count: 60)
  }

  func testResultsOfManyContextsMatchAFullEvaluationOverAnEncryptedStore() async throws {
    try await runContexts(.sqlcipher, seed: 1_500, count: 40)
  }

  /// Contexts with one to four lists each, and changes that are rarely saved. The iteration order of sets differs between contexts, so that
  /// any list can be the first to examine a new object.
  private func runContexts(_ kind: StoreKind, seed: UInt64, count: Int) async throws {
    for number in 0..<UInt64(RandomSteps.count(count)) {
      try await onEachStore([kind]) { stack in
        let world = try World(stack, seed: seed + number, listCount: Int(number % 4) + 1)
        for step in 0..<50 {
          let deed = try world.actWithoutSaving()
          if let difference = try world.check(isWhole: step % 5 == 0) {
            return XCTFail("\(kind), seed \(seed + number), step \(step), after \(deed), \(world.log): \(difference)")
          }
        }
      }
    }
  }

  private func run(_ kind: StoreKind, seed: UInt64) async throws {
    try await onEachStore([kind]) { stack in
      let world = try World(stack, seed: seed)
      for step in 0..<Self.changes {
        let deed = try world.act()
        if let difference = try world.check(isWhole: step % 5 == 0) {
          return XCTFail("\(kind), seed \(seed), step \(step), after \(deed), \(world.log): \(difference)")
        }
      }
      for (deed, count) in world.deeds { XCTAssertGreaterThan(count, 10, "\(deed): \(world.deeds)") }
      for list in world.lists { XCTAssertGreaterThan(list.changeCount, 100, "\(list.name)") }
    }
  }
}

/// A value that results are sorted by.
private enum Key: Comparable {
  case none
  case number(Double)
  case text(String)

  init(_ number: (some BinaryInteger)?) { self = number.map { .number(Double($0)) } ?? .none }
  init(_ text: String?) { self = text.map { .text($0) } ?? .none }

  static func < (left: Key, right: Key) -> Bool {
    switch (left, right) {
    case (.none, .none): false
    case (.none, _): true
    case (_, .none): false
    case (.number(let left), .number(let right)): left < right
    case (.text(let left), .text(let right)): left.utf8.lexicographicallyPrecedes(right.utf8)
    case (.number, .text): true
    case (.text, .number): false
    }
  }
}

/// Live results, and the expected ones from examining every object.
private protocol ObservedResults: AnyObject {
  var name: String { get }
  var changeCount: Int { get }
  /// Returns a description of the problem, or nil.
  func difference(isWhole: Bool, among objects: [ManagedObject]) throws -> String?
}

private final class List<Object: ManagedObject>: ObservedResults, FetchedResultsControllerDelegate {
  let name: String
  let controller: FetchedResultsController<Object>
  private(set) var changeCount = 0
  private var known: ResultsSnapshot
  private var before: ResultsSnapshot?
  private var failures: [String] = []
  private let matches: (Object) -> Bool
  private let keys: [(isAscending: Bool, value: (Object) -> Key)]
  private let section: ((Object) -> String)?

  init(
    _ name: String, _ request: FetchRequest<Object>, in context: ManagedObjectContext, section: String? = nil,
    matches: @escaping (Object) -> Bool, keys: [(Bool, (Object) -> Key)], sectionName: ((Object) -> String)? = nil
  ) throws {
    self.name = name
    self.matches = matches
    self.keys = keys.map { (isAscending: $0.0, value: $0.1) }
    self.section = sectionName
    controller = FetchedResultsController(fetchRequest: request, context: context, sectionNameKeyPath: section)
    try controller.performFetch()
    known = controller.snapshot
    controller.delegate = self
  }

  func controllerWillChangeContent(_ controller: FetchedResultsController<Object>) { before = controller.snapshot }

  func controller(_ controller: FetchedResultsController<Object>, didChangeContentWith change: ResultsChange) {
    changeCount += 1
    if before != known { failures.append("the results were others before they changed") }
    if change.isEmpty { failures.append("an empty change was reported") }
    guard let applied = known.applying(change), applied == controller.snapshot else {
      failures.append("the change \(change) does not make \(controller.snapshot) of \(known)")
      known = controller.snapshot
      return
    }
    // Insertions and removals are consistent, and only the necessary results have moved.
    let (old, new) = (Set(known.itemIdentifiers), Set(applied.itemIdentifiers))
    if Set(change.inserted.map(\.objectID)) != new.subtracting(old) || Set(change.removed.map(\.objectID)) != old.subtracting(new) {
      failures.append("insertions or deletions are not reported correctly: \(change)")
    }
    for kept in change.moved + change.updated {
      if controller.indexPath(of: kept.objectID) != kept.newIndexPath { failures.append("\(kept) is elsewhere") }
    }
    known = applied
  }

  func controller(_ controller: FetchedResultsController<Object>, didFailWith error: ResultsError) { failures.append("\(error)") }

  private func precedes(_ left: Object, _ right: Object) -> Bool {
    for (isAscending, value) in keys {
      let (one, other) = (value(left), value(right))
      if one != other { return (one < other) == isAscending }
    }
    return left.objectID.key < right.objectID.key
  }

  func difference(isWhole: Bool, among all: [ManagedObject]) throws -> String? {
    let context = controller.managedObjectContext
    let request = controller.fetchRequest
    var expected: [ManagedObjectID]
    if request.fetchLimit > 0 {
      let fetched = try context.fetch(request)
      expected = fetched.map(\.objectID)
      // Which of equal objects are in a window depends on the fetch.
      let objects = controller.fetchedObjects ?? []
      let isSame = objects.map { object in keys.map { $0.value(object) } } == fetched.map { object in keys.map { $0.value(object) } }
      if isSame, objects.allSatisfy(matches) { expected = objects.map(\.objectID) }
    } else {
      let objects = all.compactMap { $0 as? Object }.filter(matches).sorted(by: precedes)
      expected = objects.map(\.objectID)
      if let section {
        var sections: [ResultsSnapshot.Section] = []
        for object in objects {
          let name = section(object)
          if sections.last?.name != name { sections.append(ResultsSnapshot.Section(name: name, itemIdentifiers: [])) }
          sections[sections.count - 1].itemIdentifiers.append(object.objectID)
        }
        let found = controller.snapshot
        if found.sections != sections {
          return
            "\(name): \(found) instead of \(sections); a fetch finds \(try context.fetch(request).map(\.objectID)); \(String(describing: context.pendingError))"
        }
      }
      if isWhole {
        let answer = try context.fetch(request)
        // Among objects that are equal in the order, a fetch returns those with unsaved changes last.
        let sorted = answer.sorted(by: precedes)
        let isInOrder = sorted.map { object in keys.map { $0.value(object) } } == answer.map { object in keys.map { $0.value(object) } }
        let fetched = (context.hasChanges && isInOrder ? sorted : answer).map(\.objectID)
        if fetched != expected {
          let other = ManagedObjectContext(coordinator: context.persistentStoreCoordinator, classes: context.classes)
          func state(_ id: ManagedObjectID, _ context: ManagedObjectContext) -> String {
            guard let book = try? context.existingObject(with: id) as? Book else { return "?" }
            return
              "\(book.tags.map { "\($0.objectID.key) \($0.name)" }) \(String(describing: book.author?.objectID.key)) \(String(describing: book.author?.one("agent")?.objectID.key))"
          }
          return "\(name): a fetch finds \(fetched) instead of \(expected)"
            + Set(fetched).symmetricDifference(expected).map { "\n\($0): \(state($0, context)) / \(state($0, other))" }.joined()
        }
      }
    }
    let found = controller.snapshot.itemIdentifiers
    if found != expected {
      return
        "\(name): \(found) instead of \(expected); a fetch finds \(try context.fetch(request).map(\.objectID)); \(String(describing: context.pendingError))"
    }
    if known != controller.snapshot { return "\(name): not all changes were reported" }
    defer { failures = [] }
    return failures.isEmpty ? nil : "\(name): \(failures)"
  }
}

/// A context with live results of many kinds, and others that change its objects.
private final class World {
  private let context: ManagedObjectContext
  private let sibling: ManagedObjectContext
  private let child: ManagedObjectContext
  private var random: SeededGenerator
  private var held: [ManagedObject] = []
  private(set) var lists: [any ObservedResults] = []
  private(set) var deeds: [String: Int] = [:]

  /// - Parameter listCount: The number of randomly selected lists; nil for all, in order.
  init(_ stack: Stack, seed: UInt64, listCount: Int? = nil) throws {
    random = SeededGenerator(seed: seed)
    context = stack.makeContext()
    sibling = stack.makeContext()
    child = ManagedObjectContext(parent: context)
    sibling.mergePolicy = .mergeByPropertyStoreTrump
    child.mergePolicy = .mergeByPropertyStoreTrump
    context.automaticallyMergesChangesFromParent = true
    sibling.automaticallyMergesChangesFromParent = true
    for _ in 0..<4 { try insertAuthor(in: context) }
    for _ in 0..<3 { try insertTag(in: context) }
    for _ in 0..<10 { try insertBook(in: context) }
    try context.save()
    let makers = listCount.map { listMakers.shuffled(using: &random).prefix($0) } ?? listMakers[...]
    lists = try makers.map { try $0() }
    _ = context.addEventObserver { [unowned self] event in
      func names(_ changes: [ContextEvent.Change]) -> [String] {
        changes.map {
          "\($0.object.objectID.reference.entity)/\($0.object.objectID.key):\($0.slots?.slots(below: 8) ?? [-1])\($0.toMany?.slots(below: 3) ?? [-1]) \($0.object.isFault)"
        }
      }
      log.append(
        "\(event.kind) +\(event.inserted.map(\.objectID.key)) ~\(names(event.updated)) r\(names(event.refreshed)) -\(event.deleted.map(\.objectID.key)) m \(event.merged.map { "\($0.inserted) \($0.updated) \($0.deleted) \($0.refreshed) \($0.links) \($0.unlistedRelationships)" } ?? "") \(event.isWhole) \(context.hasChanges)"
      )
    }
  }
  private(set) var log: [String] = []

  private func books(_ format: String?, _ sort: FetchSortDescriptor...) throws -> FetchRequest<Book> {
    var request = FetchRequest<Book>(entityName: "Book", predicate: try format.map { try FetchPredicate(format: $0) })
    request.sortDescriptors = sort
    return request
  }

  private func authors(_ format: String, _ sort: FetchSortDescriptor...) throws -> FetchRequest<Author> {
    FetchRequest<Author>(entityName: "Author", predicate: try FetchPredicate(format: format), sortDescriptors: sort)
  }

  private var listMakers: [() throws -> any ObservedResults] {
    [
      { [self] in
        try List(
          "cheap books", try books("price < 5", FetchSortDescriptor("price"), FetchSortDescriptor("title", ascending: false)), in: context,
          matches: { $0.price < 5 }, keys: [(true, { Key(Int($0.price)) }), (false, { Key($0.title) })])
      },
      { [self] in
        try List(
          "books by author", try books("author.name BEGINSWITH 'a'", FetchSortDescriptor("author.name"), FetchSortDescriptor("title")),
          in: context, section: "author.name", matches: { $0.author?.name.hasPrefix("a") ?? false },
          keys: [(true, { Key($0.author?.name) }), (true, { Key($0.title) })], sectionName: { $0.author?.name ?? "" })
      },
      { [self] in
        try List(
          "tagged books", try books("ANY tags.name == 'a'", FetchSortDescriptor("pages", ascending: false)), in: context, section: "pages",
          matches: { $0.tags.contains { $0.name == "a" } }, keys: [(false, { Key($0.pages) })],
          sectionName: { $0.pages.map { "\($0)" } ?? "" })
      },
      { [self] in
        try List(
          "books without tags", try books("tags.@count == 0 AND author.agent == nil", FetchSortDescriptor("title")), in: context,
          matches: { $0.tags.isEmpty && $0.author?.one("agent") == nil }, keys: [(true, { Key($0.title) })])
      },
      { [self] in
        try List(
          "busy authors",
          try authors("books.@count > 1", FetchSortDescriptor("books.@count", ascending: false), FetchSortDescriptor("name")), in: context,
          matches: { $0.books.count > 1 }, keys: [(false, { Key($0.books.count) }), (true, { Key($0.name) })])
      },
      { [self] in
        try List(
          "authors of tagged books",
          try authors("SUBQUERY(books, $b, $b.price > 2 AND ANY $b.tags.name == 'b').@count > 0", FetchSortDescriptor("name")), in: context,
          matches: { $0.books.contains { $0.price > 2 && $0.tags.contains { $0.name == "b" } } }, keys: [(true, { Key($0.name) })])
      },
      { [self] in
        var window = try books("price > 1", FetchSortDescriptor("title"), FetchSortDescriptor("price"))
        (window.fetchLimit, window.fetchOffset) = (4, 2)
        return try List(
          "a window", window, in: context, matches: { $0.price > 1 }, keys: [(true, { Key($0.title) }), (true, { Key(Int($0.price)) })])
      },
      { [self] in
        try List(
          "books with siblings", try books("author.books.@count > 1", FetchSortDescriptor("author.books.@count")), in: context,
          matches: { ($0.author?.books.count ?? 0) > 1 }, keys: [(true, { Key($0.author?.books.count) })])
      },
      { [self] in
        try List(
          "books next to cheap ones",
          try books(
            "ANY author.books.price < 4 OR ANY tags.books.price > 8", FetchSortDescriptor("tags.@count"), FetchSortDescriptor("title")),
          in: context,
          matches: {
            $0.author?.books.contains { $0.price < 4 } ?? false || $0.tags.contains { $0.books.contains { $0.price > 8 } }
          }, keys: [(true, { Key($0.tags.count) }), (true, { Key($0.title) })])
      },
      { [self] in
        try List(
          "authors without books", try authors("SUBQUERY(books, $b, $b.tags.@count > 0).@count == 0", FetchSortDescriptor("name")),
          in: context,
          matches: { author in !author.books.contains { !$0.tags.isEmpty } }, keys: [(true, { Key($0.name) })])
      },
    ]
  }

  // MARK: Checks

  func check(isWhole: Bool) throws -> String? {
    let objects = try context.all(Book.self) + context.all(Author.self)
    for list in lists {
      if let difference = try list.difference(isWhole: isWhole, among: objects) { return difference }
    }
    return nil
  }

  // MARK: Changes

  private func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }
  private func name() -> String { ["a", "b", "aa", "ab", "ba", "c"][number(0..<6)] }

  private func any<Object: ManagedObject>(_ type: Object.Type, in context: ManagedObjectContext) throws -> Object? {
    // A fetch without an order can return changed objects in any order.
    let object = try context.all(type).sorted { $0.objectID.key < $1.objectID.key }.randomElement(using: &random)
    if let object, context === self.context, number(0..<3) == 0 { held.append(object) }
    if held.count > 6 { held.removeFirst(number(1..<6)) }
    return object
  }

  private func insertAuthor(in context: ManagedObjectContext) throws {
    let author = Author(context: context)
    author.name = name()
    if number(0..<2) == 0 { try context.make("Agent", ["name": name(), "client": author]) }
  }

  private func insertTag(in context: ManagedObjectContext) throws { Tag(context: context).name = name() }

  private func insertBook(in context: ManagedObjectContext) throws {
    let book = number(0..<3) == 0 ? Novel(context: context) : Book(context: context)
    book.title = "\(number(0..<10))"
    book.price = Double(number(0..<10))
    book.pages = number(0..<3) == 0 ? nil : Int32(number(0..<3))
    book.author = try any(Author.self, in: context)
    if let tag = try any(Tag.self, in: context), number(0..<2) == 0 { book.tags.insert(tag) }
  }

  /// Whether other contexts may delete. Conflicts between links and deletions are not tested here.
  private func mayDelete(in context: ManagedObjectContext) -> Bool { context !== sibling || !self.context.hasChanges }

  /// Makes a random change in a context.
  private func change(in context: ManagedObjectContext) throws -> String {
    let book = try any(Book.self, in: context)
    switch number(0..<20) {
    case 0, 1: book?.title = "\(number(0..<10))"
    case 2, 3: book?.price = Double(number(0..<10))
    case 4: book?.pages = number(0..<3) == 0 ? nil : Int32(number(0..<3))
    case 5, 6: book?.author = number(0..<4) == 0 ? nil : try any(Author.self, in: context)
    case 7:
      if let tag = try any(Tag.self, in: context) {
        if book?.tags.contains(tag) ?? false { book?.tags.remove(tag) } else { book?.tags.insert(tag) }
      }
    case 8:
      if let tag = try any(Tag.self, in: context), let book {
        if tag.books.contains(book) { tag.books.remove(book) } else { tag.books.insert(book) }
      }
    case 9, 10: try any(Tag.self, in: context)?.name = name()
    case 11, 12: try any(Author.self, in: context)?.name = name()
    case 13:
      if let author = try any(Author.self, in: context) {
        if let agent = author.one("agent") {
          context.delete(agent)
        } else {
          try context.make("Agent", ["name": name(), "client": author])
        }
      }
    case 14: if let book, try context.all(Book.self).count > 8 { context.delete(book) }
    case 15:
      if mayDelete(in: context), try context.all(Tag.self).count > 2, let tag = try any(Tag.self, in: context) { context.delete(tag) }
    case 16:
      if mayDelete(in: context), try context.all(Author.self).count > 3, let author = try any(Author.self, in: context) {
        author.one("agent").map { context.delete($0) }
        context.delete(author)
      }
    case 17: if try context.all(Author.self).count < 7 { try insertAuthor(in: context) }
    case 18: if try context.all(Tag.self).count < 5 { try insertTag(in: context) }
    default: if try context.all(Book.self).count < 16 { try insertBook(in: context) }
    }
    return "a change"
  }

  @discardableResult
  private func save(_ context: ManagedObjectContext) -> Bool {
    // Changes by others can make a save fail.
    do { try context.save() } catch {
      context.rollback()
      return false
    }
    return true
  }

  private func batch(in context: ManagedObjectContext) throws {
    switch number(0..<6) {
    case 0, 1:
      try context.execute(
        BatchUpdateRequest(
          entityName: "Book", predicate: .compare("title", .equal, "\(number(0..<10))"),
          propertiesToUpdate: ["price": Double(number(0..<10))]))
    case 2:
      try context.execute(
        BatchUpdateRequest(entityName: "Tag", predicate: .compare("name", .equal, name()), propertiesToUpdate: ["name": name()]))
    case 3:
      if try context.all(Book.self).count > 8 {
        try context.execute(BatchDeleteRequest(entityName: "Book", predicate: .compare("title", .equal, "\(number(0..<10))")))
      }
    case 4:
      if !self.context.hasChanges, try context.all(Tag.self).count > 2 {
        try context.execute(BatchDeleteRequest(entityName: "Tag", predicate: .compare("name", .equal, name())))
      }
    default:
      if try context.all(Book.self).count < 16 {
        let rows: [[String: Any]] = (0..<2).map { _ in ["title": "\(number(0..<10))", "price": Double(number(0..<10))] }
        try context.execute(BatchInsertRequest(entityName: "Book", objects: rows))
      }
    }
  }

  /// Makes a change that is rarely saved, and updates the results.
  func actWithoutSaving() throws -> String {
    switch number(0..<10) {
    case 0..<5: _ = try change(in: context)
    case 5..<7: for _ in 0..<number(2..<6) { _ = try change(in: context) }
    case 7, 8:
      if let object = context.insertedObjects.sorted(by: { $0.objectID.key < $1.objectID.key }).randomElement(using: &random) {
        context.delete(object)
      }
    default: return try act()
    }
    context.processPendingChanges()
    return "unsaved changes"
  }

  /// Makes a change, and updates the results.
  func act() throws -> String {
    log = []
    let deed: String
    switch number(0..<100) {
    case 0..<45: deed = try change(in: context)
    case 45..<55:
      deed = save(context) ? "a save" : "a save that is given up"
    case 55..<72:
      for _ in 0..<number(1..<4) { _ = try change(in: sibling) }
      save(sibling)
      deed = "a save of another"
    case 72..<80:
      try batch(in: number(0..<2) == 0 ? context : sibling)
      deed = "a batch request"
    case 80..<84:
      context.rollback()
      deed = "a rollback"
    case 84..<88:
      if let book = try any(Book.self, in: context) { context.refresh(book, mergeChanges: number(0..<2) == 0) }
      deed = "a refresh"
    case 88:
      context.refreshAllObjects()
      deed = "a refresh of all"
    case 89:
      held = []
      context.reset()
      child.reset()
      deed = "a reset"
    default:
      child.reset()
      for _ in 0..<number(1..<4) { _ = try change(in: child) }
      save(child)
      deed = "a push"
    }
    deeds[deed, default: 0] += 1
    context.processPendingChanges()
    return deed
  }
}

import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import StoreKeys
import XCTest
import _StoreSpecification
import _TestSupport

@testable import ObjectContext

/// Random operations in contexts nested three levels deep, compared with a model of dictionaries.
final class RandomNestingTests: XCTestCase {
  func testNestedContextsMatchTheReferenceModelInMemory() throws {
    try run(PersistentStoreDescription(type: .inMemory), seed: 14, operations: 10_000)
  }

  func testNestedContextsMatchTheReferenceModelOverAnEncryptedStore() throws {
    let folder = try TemporaryFolder("RandomNestingTests")
    var description = PersistentStoreDescription(
      url: folder.file("test.store"), key: .databaseKey(SecretBytes([UInt8](repeating: 3, count: 32))))
    description.durability = .fast
    try run(description, seed: 15, operations: 3_000)
  }

  /// The root, two children, and a child of the first.
  private func run(_ description: PersistentStoreDescription, seed: UInt64, operations: Int) throws {
    let open = try OpenStore(description, model: SpecificationModels.library)
    var random = SeededGenerator(seed: seed)
    let root = Level(open.newContext(), below: nil)
    let one = Level(ManagedObjectContext(parent: root.context), below: root)
    let two = Level(ManagedObjectContext(parent: root.context), below: root)
    let three = Level(ManagedObjectContext(parent: one.context), below: one)
    let levels = [root, one, two, three]
    var number = 0
    var outcomes: [String: Int] = [:]
    let operations = RandomSteps.count(operations)
    for step in 0..<operations {
      guard let level = levels.randomElement(using: &random) else { return }
      outcomes[try level.act(&random, &number), default: 0] += 1
      if step % 20 == 0 || step == operations - 1 {
        for (index, level) in levels.enumerated() {
          let (expected, found) = (level.expected(), try level.found())
          XCTAssertEqual(Set(found).symmetricDifference(expected).sorted(), [], "seed \(seed), step \(step), level \(index)")
          if found != expected { return }
        }
      }
    }
    for outcome in ["saved", "refused", "rolled back", "deleted"] {
      XCTAssertGreaterThan(outcomes[outcome] ?? 0, 20, "\(outcome): \(outcomes)")
    }
  }
}

/// The expected values of an object.
private struct Thing: Equatable {
  var entity: String
  var year: Int64 = 0
  var author: String?
  var tags: Set<String> = []
}

/// A context, and its changes since the last save.
private final class Level {
  let context: ManagedObjectContext
  private let parent: Level?
  private var stored: [String: Thing] = [:]
  private var inserted: [String: Thing] = [:]
  private var years: [String: Int64] = [:]
  private var authors: [String: String?] = [:]
  private var added: [String: Set<String>] = [:]
  private var removed: [String: Set<String>] = [:]
  private var deleted: Set<String> = []

  init(_ context: ManagedObjectContext, below parent: Level?) { (self.context, self.parent) = (context, parent) }

  private var base: [String: Thing] { parent?.visible ?? stored }
  /// Objects that were changed here.
  private var touched: Set<String> { Set(years.keys).union(authors.keys).union(added.keys).union(removed.keys) }
  /// Objects that were changed here and deleted in the parent. Their state is unspecified.
  private var conflicted: Set<String> { touched.subtracting(base.keys).subtracting(inserted.keys) }

  /// The expected result of a fetch.
  var visible: [String: Thing] {
    var things = base.merging(inserted) { $1 }
    for (name, year) in years { things[name]?.year = year }
    for (name, author) in authors { things[name]?.author = author }
    for (name, tags) in added { things[name]?.tags.formUnion(tags) }
    for (name, tags) in removed { things[name]?.tags.subtract(tags) }
    for name in deleted { things[name] = nil }
    let there = things
    return there.mapValues { thing in
      var thing = thing
      if let author = thing.author, there[author] == nil { thing.author = nil }
      thing.tags = thing.tags.filter { there[$0] != nil }
      return thing
    }
  }

  func expected() -> [String] {
    let (things, hidden) = (visible, hidden)
    return things.filter { !hidden.contains($0.key) }.map { name, thing in
      let books = things.filter { $0.value.author == name || $0.value.tags.contains(name) }.map(\.key)
      return Self.line(
        name, thing.year, thing.author.flatMap { hidden.contains($0) ? nil : $0 }, thing.tags.subtracting(hidden),
        Set(books).subtracting(hidden))
    }.sorted()
  }

  /// Objects in conflict here or in a parent.
  private var hidden: Set<String> { conflicted.union(parent?.hidden ?? []) }

  /// Returns the result of a fetch in a nested context.
  func found() throws -> [String] {
    settle()
    let probe = ManagedObjectContext(parent: context)
    let hidden = hidden
    var lines: [String] = []
    func name(_ object: ManagedObject?) -> String? {
      guard let object, let name = object.text(object.entity.name == "Book" ? "title" : "name"), !hidden.contains(name) else { return nil }
      return name
    }
    for entity in ["Author", "Book", "Tag"] {
      for object in try probe.all(entity) {
        guard let own = name(object) else { continue }
        let isBook = entity == "Book"
        lines.append(
          Self.line(
            own, isBook ? object.integer("year") ?? 0 : 0, isBook ? name(object.object("author")) : nil,
            isBook ? Set(object.members("tags").compactMap(name)) : [], isBook ? [] : Set(object.members("books").compactMap(name))))
      }
    }
    return lines.sorted()
  }

  private static func line(_ name: String, _ year: Int64, _ author: String?, _ tags: Set<String>, _ books: Set<String>) -> String {
    "\(name) \(year) \(author ?? "-") \(tags.sorted()) \(books.sorted())"
  }

  /// Merges the parents' current values below the changes of changed objects.
  private func settle() {
    parent?.settle()
    let gone = conflicted
    for object in context.updatedObjects where !gone.contains(object.text(object.entity.name == "Book" ? "title" : "name") ?? "") {
      context.refresh(object, mergeChanges: true)
      // An added member that exists, or a removed one that does not, is no longer a change.
      _ = object.members(object.entity.name == "Book" ? "tags" : "books")
    }
    let base = base
    for (book, tags) in added where base[book] != nil { added[book] = tags.subtracting(base[book]?.tags ?? []) }
    for (book, tags) in removed where base[book] != nil { removed[book] = tags.intersection(base[book]?.tags ?? []) }
  }

  // MARK: Operations

  func act(_ random: inout SeededGenerator, _ number: inout Int) throws -> String {
    let things = visible.filter { !hidden.contains($0.key) }
    func pick(_ entity: String) -> String? {
      things.filter { $0.value.entity == entity }.map(\.key).sorted().randomElement(using: &random)
    }
    settle()
    let kind = Int.random(in: 0..<100, using: &random)
    switch kind {
    case 0..<20 where things.count < 40:
      number += 1
      let entity = ["Author", "Book", "Book", "Tag"].randomElement(using: &random) ?? "Book"
      let name = "\(entity)\(number)"
      try context.insert(entity, [entity == "Book" ? "title" : "name": name])
      inserted[name] = Thing(entity: entity)
      return "inserted"
    case 20..<40:
      guard let book = pick("Book") else { return "nothing" }
      number += 1
      let year = Int64(number)
      try find(book).setValue(year, forKey: "year")
      if inserted[book] == nil { years[book] = year } else { inserted[book]?.year = year }
      return "changed"
    case 40..<55:
      guard let book = pick("Book") else { return "nothing" }
      let author = Bool.random(using: &random) ? pick("Author") : nil
      try find(book).setValue(try author.map(find), forKey: "author")
      setAuthor(author, of: book)
      return "changed"
    case 55..<70:
      guard let book = pick("Book"), let tag = pick("Tag") else { return "nothing" }
      let (object, member) = (try find(book), try find(tag))
      if things[book]?.tags.contains(tag) ?? false {
        try object.mutableSetValue(forKey: "tags").remove(member)
        if inserted[book] == nil { note(tag, of: book, isAdded: false) } else { inserted[book]?.tags.remove(tag) }
      } else {
        try object.mutableSetValue(forKey: "tags").add(member)
        if inserted[book] == nil { note(tag, of: book, isAdded: true) } else { inserted[book]?.tags.insert(tag) }
      }
      return "changed"
    case 70..<82:
      guard let name = pick(["Author", "Book", "Tag"].randomElement(using: &random) ?? "Tag") else { return "nothing" }
      context.delete(try find(name))
      context.processPendingChanges()
      for (book, thing) in things where thing.author == name { setAuthor(nil, of: book) }
      if inserted.removeValue(forKey: name) == nil { deleted.insert(name) }
      forget(name)
      return "deleted"
    case 82..<95: return try save()
    case 95..<98:
      context.rollback()
      forgetAll()
      return "rolled back"
    case 98:
      context.refreshAllUnchanged()
      return "refreshed"
    default:
      context.processPendingChanges()
      return "ended"
    }
  }

  private func find(_ name: String) throws -> ManagedObject {
    let entity = name.hasPrefix("Book") ? "Book" : name.hasPrefix("Tag") ? "Tag" : "Author"
    let key = entity == "Book" ? "title" : "name"
    let found = try context.fetch(FetchRequest<ManagedObject>(entityName: entity, predicate: .compare(key, .equal, name)))
    let object = try XCTUnwrap(found.first, "\(name) is not found")
    // Its changes start from the parent's current values.
    if !object.hasChanges { context.refresh(object, mergeChanges: true) }
    return object
  }

  private func setAuthor(_ author: String?, of book: String) {
    if inserted[book] == nil { authors[book] = .some(author) } else { inserted[book]?.author = author }
  }

  private func note(_ tag: String, of book: String, isAdded: Bool) {
    if isAdded {
      if removed[book]?.remove(tag) == nil { added[book, default: []].insert(tag) }
    } else if added[book]?.remove(tag) == nil {
      removed[book, default: []].insert(tag)
    }
  }

  private func forget(_ name: String) {
    years[name] = nil
    authors[name] = nil
    added[name] = nil
    removed[name] = nil
  }

  private func forgetAll() { (inserted, years, authors, added, removed, deleted) = ([:], [:], [:], [:], [:], []) }

  private func save() throws -> String {
    let (isDoubtful, things) = (!conflicted.isEmpty || hasDeletedDestination, visible)
    do { try context.save() } catch let error as StoreError {
      XCTAssertTrue(isDoubtful, "\(error)")
      context.rollback()
      forgetAll()
      return "refused"
    }
    XCTAssertFalse(context.hasChanges)
    XCTAssertEqual(definite, [], "what the parent has deleted was saved")
    if let parent { push(to: parent) } else { stored = things }
    forgetAll()
    return "saved"
  }

  /// Whether values were set on an object that the parent no longer has.
  private var definite: [String] { conflicted.subtracting(parent?.touched ?? []).filter { years[$0] != nil } }

  /// Whether a reference leads to an object that the parent has deleted.
  private var hasDeletedDestination: Bool {
    let base = base
    let tags = inserted.values.flatMap(\.tags) + added.values.flatMap { $0 }
    let destinations = inserted.values.compactMap(\.author) + authors.values.compactMap { $0 } + tags
    return destinations.contains { base[$0] == nil && inserted[$0] == nil }
  }

  private func push(to parent: Level) {
    for (name, thing) in inserted { parent.inserted[name] = thing }
    // Values that equal the parent's are not changes.
    let there = parent.visible
    for (name, year) in years where there[name].map({ $0.year != year }) ?? false {
      if parent.inserted[name] == nil { parent.years[name] = year } else { parent.inserted[name]?.year = year }
    }
    for (name, author) in authors where there[name].map({ $0.author != author }) ?? false { parent.setAuthor(author, of: name) }
    for (name, tags) in added {
      // Deleted tags are not members here either.
      for tag in tags where there[tag] != nil || parent.inserted[tag] != nil {
        if parent.inserted[name] == nil { parent.take(tag, of: name, isAdded: true) } else { parent.inserted[name]?.tags.insert(tag) }
      }
    }
    for (name, tags) in removed {
      for tag in tags {
        if parent.inserted[name] == nil { parent.take(tag, of: name, isAdded: false) } else { parent.inserted[name]?.tags.remove(tag) }
      }
    }
    for name in deleted {
      for (book, thing) in parent.visible where thing.author == name { parent.setAuthor(nil, of: book) }
      if parent.inserted.removeValue(forKey: name) == nil, parent.base[name] != nil { parent.deleted.insert(name) }
      parent.forget(name)
    }
  }

  /// Applies a link that a nested context has added or removed; the parent may have done the same.
  private func take(_ tag: String, of book: String, isAdded: Bool) {
    let has = visible[book]?.tags.contains(tag) ?? false
    if has != isAdded { note(tag, of: book, isAdded: isAdded) }
  }
}

extension ManagedObjectContext {
  /// Turns unchanged objects into faults.
  fileprivate func refreshAllUnchanged() {
    for object in registeredObjects where !object.hasChanges { refresh(object, mergeChanges: false) }
  }
}

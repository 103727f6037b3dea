import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

/// Runs random operations in two contexts on a store, and logs the observable state.
private struct RandomWork {
  /// The property with each entity's unique label.
  private static let labels = ["Author": "name", "Book": "title", "Chapter": "title", "Shelf": "name", "Tag": "name"]
  private static let entities = ["Author", "Book", "Book", "Chapter", "Shelf", "Tag"]

  let open: OpenStore
  var contexts: [ManagedObjectContext]
  var generator: SeededGenerator
  /// The entity and label of every object ever created.
  var known: [(entity: String, label: String)] = []
  /// The observed states.
  var log: [String] = []

  init(_ store: any StoreUnderTest, folder: URL, seed: UInt64) throws {
    store.register()
    open = try OpenStore(store.storeDescription(in: folder), model: SpecificationModels.library)
    contexts = [open.newContext(), open.newContext()]
    generator = SeededGenerator(seed: seed)
  }

  mutating func random(_ count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }

  mutating func run(steps: Int) throws {
    for _ in 0..<steps { try step() }
    for context in contexts { save(context) }
    log.append(try state())
    try open.close()
  }

  private mutating func step() throws {
    let context = contexts[random(4) == 0 ? 1 : 0]
    switch random(16) {
    case 0...3:
      let entity = Self.entities[random(Self.entities.count)]
      let label = "\(entity.prefix(2))\(known.count)"
      known.append((entity, label))
      try context.insert(entity, [Self.labels[entity] ?? "": label])
    case 4...5:
      guard let book = try any("Book", in: context) else { return }
      try book.setValue(random(4) == 0 ? nil : Int64(random(20)), forKey: "pages")
      if random(3) == 0 { try book.setValue("isbn \(random(9))", forKey: "isbn") }
    case 6...7: try relate(in: context)
    case 8...9: try relateMany(in: context)
    case 10:
      guard let name = Self.labels.keys.sorted().randomElement(using: &generator), let object = try any(name, in: context) else { return }
      context.delete(object)
    case 11...12: try ask(context)
    case 13...14: save(context)
    default:
      switch random(3) {
      case 0: context.rollback()
      case 1: context.reset()
      default: context.refreshAllObjects()
      }
    }
  }

  /// A random object of an entity that is visible to the context.
  private mutating func any(_ entity: String, in context: ManagedObjectContext) throws -> ManagedObject? {
    let candidates = known.filter { $0.entity == entity }
    guard !candidates.isEmpty, let key = Self.labels[entity] else { return nil }
    let label = candidates[random(candidates.count)].label
    let found = try context.fetch(FetchRequest<ManagedObject>(entityName: entity, predicate: .compare(key, .equal, label)))
    log.append("\(label) \(found.count)")
    return found.first
  }

  private mutating func several(_ entity: String, in context: ManagedObjectContext) throws -> [ManagedObject] {
    var found: [ManagedObject] = []
    for _ in 0..<random(4) {
      if let object = try any(entity, in: context), !found.contains(object) { found.append(object) }
    }
    return found
  }

  /// Ordered relationships are changed in one context only, since the result of merging two independent orders is unspecified.
  private func mayRelate(_ entity: String, _ key: String, in context: ManagedObjectContext) -> Bool {
    let ordered: Set = ["Chapter.book", "Book.chapters", "Shelf.books", "Book.shelves"]
    return context === contexts[0] || !ordered.contains("\(entity).\(key)")
  }

  private mutating func relate(in context: ManagedObjectContext) throws {
    let choices = [
      ("Book", "author", "Author"), ("Author", "spouse", "Author"), ("Author", "mentor", "Author"), ("Chapter", "book", "Book"),
      ("Shelf", "first", "Book"),
    ]
    let (entity, key, destination) = choices[random(choices.count)]
    if !mayRelate(entity, key, in: context) { return }
    guard let object = try any(entity, in: context) else { return }
    try object.setValue(random(4) == 0 ? nil : try any(destination, in: context), forKey: key)
  }

  private mutating func relateMany(in context: ManagedObjectContext) throws {
    let choices = [
      ("Author", "books", "Book"), ("Author", "friends", "Author"), ("Author", "pupils", "Author"), ("Book", "tags", "Tag"),
      ("Tag", "books", "Book"), ("Book", "chapters", "Chapter"), ("Shelf", "books", "Book"), ("Book", "shelves", "Shelf"),
      ("Shelf", "hidden", "Book"),
    ]
    let (entity, key, destination) = choices[random(choices.count)]
    if !mayRelate(entity, key, in: context) { return }
    guard let object = try any(entity, in: context) else { return }
    try object.setValue(try several(destination, in: context), forKey: key)
  }

  private mutating func ask(_ context: ManagedObjectContext) throws {
    let limit = Int64(random(20))
    let predicates: [FetchPredicate] = [
      .compare("pages", .greater, limit), .compare("pages", .equal, nil), .compare("author.mentor", .notEqual, nil),
      .compare("tags.@count", .greaterOrEqual, 1), .compare("chapters.title", .contains, "\(limit)", modifier: .any),
      .compare("shelves.name", .beginsWith, "Sh", modifier: .none), .compare("isbn", .endsWith, "\(limit)"),
    ]
    var request = FetchRequest<ManagedObject>(entityName: "Book", predicate: predicates[random(predicates.count)])
    request.sortDescriptors = [FetchSortDescriptor("pages", ascending: random(2) == 0), FetchSortDescriptor("title")]
    request.fetchLimit = random(2) * 5
    let found = try context.texts("title", request)
    log.append("\(found) \(try context.count(for: request))")
  }

  private mutating func save(_ context: ManagedObjectContext) {
    do {
      try context.save()
      log.append(try state())
    } catch {
      log.append((error as? StoreError).map { "\($0.code)" } ?? "\(type(of: error))")
      context.rollback()
      context.refreshAllObjects()
    }
  }

  /// Everything in the store, as a new context reads it.
  private func state() throws -> String {
    let context = open.newContext()
    var lines: [String] = []
    for (entity, key) in Self.labels {
      for object in try context.all(entity) {
        var words = [object.text(key) ?? "-"]
        for slot in try open.entity(entity).slots where slot.name != key {
          words.append("\(slot.name)=\(object.object(slot.name).map(label) ?? object[slot.name].map { "\($0)" } ?? "nil")")
        }
        for relationship in try open.entity(entity).toManyRelationships {
          let members =
            relationship.isOrdered ? object.list(relationship.name).map(label) : object.members(relationship.name).map(label).sorted()
          words.append("\(relationship.name)=\(members)")
        }
        lines.append(words.joined(separator: " "))
      }
    }
    return lines.sorted().joined(separator: "\n")
  }

  private func label(_ object: ManagedObject) -> String { object.text(Self.labels[object.entity.name] ?? "") ?? "(gone)" }
}

/// The same random operations have the same results with every built-in store after each step.
final class StoreComparisonTests: XCTestCase {
  private static let seeds: ClosedRange<UInt64> = 100...110

  func testRandomWorkHasTheSameOutcomeOverEveryStore() throws {
    for seed in Self.seeds {
      let stores: [any StoreUnderTest] = [
        InMemoryStoreUnderTest(), SQLCipherStoreUnderTest(), SQLCipherStoreUnderTest(checksForeignKeys: true),
      ]
      let logs = try stores.map { store in
        let folder = try TemporaryFolder("Differential")
        var work = try RandomWork(store, folder: folder.url, seed: seed)
        try work.run(steps: 250)
        return work.log
      }
      XCTAssertGreaterThan(logs[0].count, 100)
      for (store, whole) in zip(stores, logs).dropFirst() {
        // With foreign keys, a reference to an object deleted in another context is rejected; without them it dangles. The logs differ from
        // there on.
        let log = Array(whole.prefix { $0 != "objectNotFound" })
        let expected = Array(log.count < whole.count ? logs[0].prefix(log.count) : logs[0][...])
        if log == expected { continue }
        let step = zip(log, expected).enumerated().first { $1.0 != $1.1 }
        XCTFail("Seed \(seed): \(store.name) differs at entry \(step?.offset ?? -1): \(difference(step?.element.0, step?.element.1))")
      }
    }
  }

  private func difference(_ left: String?, _ right: String?) -> String {
    let (left, right) = (left?.components(separatedBy: "\n") ?? [], right?.components(separatedBy: "\n") ?? [])
    return "\(left.filter { !right.contains($0) }.prefix(4)) instead of \(right.filter { !left.contains($0) }.prefix(4))"
  }
}

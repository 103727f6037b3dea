import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// A context can be kept up to date from the history alone, whichever process wrote it.
final class HistoryMergingTests: XCTestCase {
  private func open(
    _ store: TestStore, _ level: HistoryLevel = .properties, _ model: CompiledModel = SpecificationModels.library
  ) throws -> OpenStore {
    var description = store.description
    description.historyTracking = true
    description.historyLevel = level
    return try OpenStore(description, model: model)
  }

  func testChangesOfAnotherStoreInstanceAreMergedByHistory() throws {
    for level in HistoryLevel.allCases {
      let store = try TestStore()
      let (one, other) = (try open(store, level), try open(store, level))
      let (mine, theirs) = (one.newContext(), other.newContext())
      let author = try mine.insert("Author", ["name": "Anna"])
      let book = try mine.insert("Book", ["title": "One", "author": author])
      let gone = try mine.insert("Tag", ["name": "gone"])
      try mine.save()
      XCTAssertEqual(author.members("books").count, 1)
      var place = one.coordinator.currentToken
      let copy = try XCTUnwrap(theirs.all("Book").first)
      try copy.setValue("Two", forKey: "title")
      try theirs.insert("Book", ["title": "New", "author": try XCTUnwrap(theirs.all("Author").first)])
      theirs.delete(try XCTUnwrap(theirs.all("Tag").first))
      try theirs.insert("Tag", ["name": "red", "books": Set([copy])])
      try theirs.save()
      XCTAssertEqual(book.text("title"), "One", "nothing is merged unless asked for")
      place = try mine.mergeChanges(fromHistoryAfter: place)
      XCTAssertEqual(book.text("title"), "Two")
      XCTAssertEqual(author.members("books").count, 2)
      XCTAssertEqual(Set(book.members("tags").map { $0.text("name") }), ["red"])
      XCTAssertNil(gone.managedObjectContext)
      XCTAssertEqual(place, one.coordinator.currentToken)
      XCTAssertEqual(try mine.mergeChanges(fromHistoryAfter: place), place, "there are no changes since")
    }
  }

  func testObjectRestoredWithItsIDReadsItsNewRow() throws {
    let store = try TestStore()
    let open = try open(store)
    let replica = OpenContext(open)
    let (keeps, deletes) = (OpenContext(open), OpenContext(open))
    let book = try keeps.context.insert("Book", ["title": "One", "pages": Int64(7)])
    try keeps.context.insert("Tag", ["name": "red", "books": Set([book])])
    try keeps.context.save()
    let copy = try XCTUnwrap(replica.context.all("Book").first)
    XCTAssertEqual(copy.members("tags").count, 1)
    let place = open.coordinator.currentToken
    try book.setValue("Two", forKey: "title")
    deletes.context.delete(try XCTUnwrap(deletes.context.all("Book").first))
    try deletes.context.save()
    keeps.context.mergePolicy = .mergeByPropertyObjectTrump
    try keeps.context.save()
    let fresh = OpenContext(open)
    let stored = try XCTUnwrap(fresh.context.all("Book").first)
    try replica.context.mergeChanges(fromHistoryAfter: place)
    XCTAssertEqual(stored.objectID, copy.objectID)
    XCTAssertEqual(copy.text("title"), "Two")
    XCTAssertEqual(copy.members("tags").map(\.objectID), stored.members("tags").map(\.objectID))
    let set = try XCTUnwrap(open.coordinator.changeSets(afterHistory: place).changes.first)
    XCTAssertEqual(set.updated, [book.objectID])
    XCTAssertEqual(set.inserted + set.deleted, [])
  }

  func testATransactionIsAChangeSet() throws {
    let store = try TestStore()
    let open = try open(store)
    let context = open.newContext()
    let tag = try context.insert("Tag", ["name": "red"])
    try context.save()
    try tag.setValue("blue", forKey: "name")
    try context.save()
    let found = try open.coordinator.execute(.fetchHistory(after: nil)).transactions
    XCTAssertEqual(found.map(\.changeSet.inserted), [[tag.objectID], []])
    XCTAssertEqual(found.map(\.changeSet.updated), [[], [tag.objectID]])
    XCTAssertEqual(found.map(\.changeSet.historyToken), found.map(\.token))
    let other = OpenContext(open)
    let copy = try XCTUnwrap(other.context.all("Tag").first)
    try tag.setValue("green", forKey: "name")
    try context.save()
    other.context.mergeChanges(from: try XCTUnwrap(open.coordinator.execute(.fetchHistory(after: nil)).transactions.last))
    XCTAssertEqual(copy.text("name"), "green")
  }

  /// A replica that reads only the history equals the store after each step of saves, batch requests, partly failing transactions, undone
  /// merges and migrations. `Scripts/test-replicas` sets the number of steps per level to 20,000.
  func testReplicaMaintainedFromHistoryEqualsTheStore() throws {
    let steps = ProcessInfo.processInfo.environment["CIPHERDATA_HISTORY_STEPS"].flatMap(Int.init) ?? 1_000
    for (seed, level) in [(UInt64(5), HistoryLevel.properties), (7, .values)] {
      var random = SeededGenerator(seed: seed)
      let store = try TestStore()
      var (writer, reader) = (try open(store, level, Self.library(version: 0)), try open(store, level, Self.library(version: 0)))
      var replica = reader.newContext()
      var place = reader.coordinator.currentToken
      var migrations = 0
      // Fetched objects are retained, so that merges have to update them.
      var held: [ManagedObject] = []
      for step in 0..<steps {
        if step % 100 == 99 {
          // The replica pauses while the store is migrated and written to, and continues from its token under the new model.
          held = []
          replica.reset()
          try writer.close()
          try reader.close()
          migrations += 1
          let model = try Self.library(version: migrations)
          writer = try open(store, level, model)
          try write(in: writer.newContext(), of: writer, &random)
          reader = try open(store, level, model)
          replica = reader.newContext()
        }
        if step % 7 == 3 {
          try failToMerge(in: writer.newContext(), against: writer.newContext(), &random)
        } else {
          try write(in: writer.newContext(), of: writer, &random)
        }
        place =
          step % 5 == 2
          ? try mergeBelowUnsavedChanges(in: replica, after: place, &random) : try replica.mergeChanges(fromHistoryAfter: place)
        let (expected, found) = (try picture(of: writer.newContext()), try picture(of: replica))
        XCTAssertEqual(Set(found).symmetricDifference(expected).sorted(), [], "seed \(seed), step \(step)")
        if found != expected { return }
        held = try ["Book", "Author", "Tag", "Chapter"].flatMap { try replica.all($0) }
        try thin(held.count, of: writer, &random)
      }
      XCTAssertFalse(held.isEmpty)
      XCTAssertEqual(migrations, steps / 100)
    }
  }

  /// The library's model versions: every second one adds an attribute and removes one.
  private static func library(version: Int) throws -> CompiledModel {
    var model = SpecificationModels.library.model
    model.versionIdentifiers = ["\(version)"]
    for index in model.entities.indices where !version.isMultiple(of: 2) {
      switch model.entities[index].name {
      case "Tag": model.entities[index].properties.append(SpecificationModels.text("note"))
      case "Chapter": model.entities[index].properties.removeAll { $0.name == "pages" }
      default: break
      }
    }
    return try CompiledModel(model)
  }

  /// Two contexts change the same objects. The second context's save fails, is discarded, or wins.
  private func failToMerge(in context: ManagedObjectContext, against other: ManagedObjectContext, _ random: inout SeededGenerator) throws {
    context.automaticallyMergesChangesFromParent = false
    let books = try context.all("Book").filter { _ in Bool.random(using: &random) }
    for book in books {
      try book.setValue(UUID().uuidString, forKey: "title")
      let same = try XCTUnwrap(try other.existingObject(with: book.objectID))
      if Bool.random(using: &random) { try same.setValue(UUID().uuidString, forKey: "title") } else { other.delete(same) }
    }
    try other.save()
    let policies: [MergePolicy] = [.error, .mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .overwrite, .rollback]
    context.mergePolicy = policies.randomElement(using: &random) ?? .error
    do { try context.save() } catch {
      XCTAssertFalse(books.isEmpty, "\(error)")
      context.rollback()
    }
    XCTAssertFalse(context.hasChanges)
  }

  /// The replica merges while it has unsaved changes, and then discards them.
  private func mergeBelowUnsavedChanges(
    in replica: ManagedObjectContext, after place: PersistentHistoryToken?, _ random: inout SeededGenerator
  ) throws -> PersistentHistoryToken? {
    for book in try replica.all("Book").prefix(5) {
      switch Int.random(in: 0...3, using: &random) {
      case 0: replica.delete(book)
      case 1: try book.setValue(Set<ManagedObject>(), forKey: "tags")
      case 2: try book.setValue(nil, forKey: "author")
      default: try book.setValue("unsaved", forKey: "title")
      }
    }
    try replica.insert("Tag", ["name": "unsaved"])
    let place = try replica.mergeChanges(fromHistoryAfter: place)
    replica.rollback()
    return place
  }

  /// Keeps the store small, so that a long run compares many states instead of large ones.
  private func thin(_ count: Int, of open: OpenStore, _ random: inout SeededGenerator) throws {
    guard count > 120 else { return }
    let context = open.newContext()
    for entity in ["Author", "Book", "Tag", "Chapter"] {
      let ids = try context.all(entity).map(\.objectID).filter { _ in Int.random(in: 0...3, using: &random) > 0 }
      try context.execute(BatchDeleteRequest(objectIDs: ids))
    }
  }

  private struct Stop: Error {}

  private func write(in context: ManagedObjectContext, of open: OpenStore, _ random: inout SeededGenerator) throws {
    func pick(_ entity: String) throws -> ManagedObject? { try context.all(entity).randomElement(using: &random) }
    switch Int.random(in: 0...9, using: &random) {
    case 0:
      try context.execute(
        BatchUpdateRequest(
          entityName: "Book", predicate: .compare("year", .less, Int.random(in: 0...50, using: &random)),
          propertiesToUpdate: ["pages": Int64.random(in: 0...900, using: &random)]))
    case 1:
      try context.execute(
        BatchDeleteRequest(entityName: "Author", predicate: .compare("born", .equal, Int.random(in: 0...5, using: &random))))
    case 2:
      try context.execute(
        BatchInsertRequest(
          entityName: "Book", objects: (0..<5).map { _ in ["year": Int64.random(in: 0...100, using: &random), "title": UUID().uuidString] })
      )
    case 3:
      try? open.store.performTransaction {
        try context.insert("Tag", ["name": UUID().uuidString])
        try context.save()
        if Bool.random(using: &random) { throw Stop() }
        if let book = try pick("Book") { try book.setValue(UUID().uuidString, forKey: "title") }
        try context.save()
      }
    default:
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        switch Int.random(in: 0...8, using: &random) {
        case 0: try context.insert("Author", ["name": UUID().uuidString, "born": Int64.random(in: 0...5, using: &random)])
        case 1:
          try context.insert(
            "Book", ["title": UUID().uuidString, "year": Int64.random(in: 0...100, using: &random), "author": try pick("Author")])
        case 2: try context.insert("Tag", ["name": UUID().uuidString])
        case 3: if let book = try pick("Book") { try book.setValue(try pick("Author"), forKey: "author") }
        case 4:
          if let book = try pick("Book") {
            try book.setValue(Set(try context.all("Tag").filter { _ in Bool.random(using: &random) }), forKey: "tags")
          }
        case 5: if let object = try pick(["Book", "Author", "Tag"].randomElement(using: &random) ?? "Tag") { context.delete(object) }
        case 6: if let book = try pick("Book") { try context.insert("Chapter", ["title": UUID().uuidString, "book": book]) }
        case 7:
          if let book = try pick("Book") { try book.setValue(Array(book.list("chapters").shuffled(using: &random)), forKey: "chapters") }
        default: if let book = try pick("Book") { try book.setValue(UUID().uuidString, forKey: "title") }
        }
      }
      try context.save()
    }
  }

  /// All objects with their values and members, independent of the context.
  private func picture(of context: ManagedObjectContext) throws -> [String] {
    var lines: [String] = []
    for entity in ["Author", "Book", "Tag", "Chapter"] {
      for object in try context.all(entity) {
        var line = "\(object.objectID.uriString)"
        for name in ["name", "title", "year", "pages", "born"] where object.entity.properties.contains(where: { $0.name == name }) {
          line += " \(name)=\(object[name].map { "\($0)" } ?? "-")"
        }
        switch entity {
        case "Author": line += " books=\(object.members("books").map(\.objectID.key).sorted())"
        case "Book":
          line += " author=\(object.object("author")?.objectID.key ?? 0) tags=\(object.members("tags").map(\.objectID.key).sorted())"
          line += " chapters=\(object.list("chapters").map(\.objectID.key))"
        case "Tag": line += " books=\(object.members("books").map(\.objectID.key).sorted())"
        default: line += " book=\(object.object("book")?.objectID.key ?? 0)"
        }
        lines.append(line)
      }
    }
    return lines.sorted()
  }
}

/// Retains the context as long as its objects are used.
private struct OpenContext {
  let context: ManagedObjectContext
  init(_ open: OpenStore) { context = open.newContext() }
}

extension PersistentStoreCoordinator {
  fileprivate var currentToken: PersistentHistoryToken? { try? currentPersistentHistoryToken() }
}

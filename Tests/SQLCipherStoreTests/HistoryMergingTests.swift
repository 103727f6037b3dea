// HistoryMergingTests: a context is brought in step by a history alone, whoever has written it.
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

final class HistoryMergingTests: XCTestCase {
  private func open(_ store: TestStore, _ level: HistoryLevel = .properties) throws -> OpenStore {
    var description = store.description
    description.historyTracking = true
    description.historyLevel = level
    return try OpenStore(description, model: SpecificationModels.library)
  }

  func testWhatAnotherOpeningHasWrittenIsMergedByItsHistory() throws {
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
      XCTAssertEqual(try mine.mergeChanges(fromHistoryAfter: place), place, "nothing has come since")
    }
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
    XCTAssertEqual(found.map(\.changeSet.inserted), [[], [tag.objectID], []])
    XCTAssertEqual(found.map(\.changeSet.updated), [[], [], [tag.objectID]])
    XCTAssertEqual(found.map(\.changeSet.historyToken), found.map(\.token))
    let other = OpenContext(open)
    let copy = try XCTUnwrap(other.context.all("Tag").first)
    try tag.setValue("green", forKey: "name")
    try context.save()
    other.context.mergeChanges(from: try XCTUnwrap(open.coordinator.execute(.fetchHistory(after: nil)).transactions.last))
    XCTAssertEqual(copy.text("name"), "green")
  }

  /// A replica that hears nothing but the history equals the store after each step, whatever was written: saves, batch requests, transactions that fail in part.
  func testAReplicaKeptByTheHistoryAloneEqualsTheStore() throws {
    for (seed, level) in [(UInt64(5), HistoryLevel.properties), (7, .values)] {
      var random = SeededGenerator(seed: seed)
      let store = try TestStore()
      let (writer, reader) = (try open(store, level), try open(store, level))
      let replica = reader.newContext()
      var place = reader.coordinator.currentToken
      // What was fetched once is held, so that it has to be told what becomes of it.
      var held: [ManagedObject] = []
      for step in 0..<250 {
        let context = writer.newContext()
        try write(in: context, of: writer, &random)
        place = try replica.mergeChanges(fromHistoryAfter: place)
        let (expected, found) = (try picture(of: writer.newContext()), try picture(of: replica))
        XCTAssertEqual(found, expected, "seed \(seed), step \(step)")
        if found != expected { return }
        held = try ["Book", "Author", "Tag", "Chapter"].flatMap { try replica.all($0) }
      }
      XCTAssertFalse(held.isEmpty)
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

  /// All objects with their values and members, by what does not depend on a context.
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

/// A context that is held as long as its objects are asked.
private struct OpenContext {
  let context: ManagedObjectContext
  init(_ open: OpenStore) { context = open.newContext() }
}

extension PersistentStoreCoordinator {
  fileprivate var currentToken: PersistentHistoryToken? { try? currentPersistentHistoryToken() }
}

import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import Observation
import Synchronization
import XCTest
import _TestSupport

/// Random changes by two contexts: readers of changed properties are notified, readers of others are not.
final class RandomObservationTests: XCTestCase {
  /// A property of an object.
  private struct Place: Hashable {
    let object: ManagedObjectID
    let key: String
  }

  /// Some objects and their changeable properties.
  private struct Graph {
    let context: ManagedObjectContext
    let authors: [Author]
    let books: [Book]
    let tags: [Tag]

    /// The same objects in another context.
    func copy(in other: ManagedObjectContext) throws -> Graph {
      Graph(
        context: other, authors: try authors.map { try XCTUnwrap(other.existingObject(with: $0.objectID) as? Author) },
        books: try books.map { try XCTUnwrap(other.existingObject(with: $0.objectID) as? Book) },
        tags: try tags.map { try XCTUnwrap(other.existingObject(with: $0.objectID) as? Tag) })
    }

    /// Makes a random change, and returns the affected properties.
    func change(_ random: inout SeededGenerator) -> Set<Place> {
      guard let book = books.randomElement(using: &random) else { return [] }
      func place(_ object: ManagedObject, _ key: String) -> Place { Place(object: object.objectID, key: key) }
      switch Int.random(in: 0..<5, using: &random) {
      case 0:
        book.title = "\(UInt16.random(in: 0..<4, using: &random))"
        return [place(book, "title")]
      case 1:
        book.price = Double.random(in: 0..<100, using: &random)
        return [place(book, "price")]
      case 2:
        book.pages = Bool.random(using: &random) ? nil : Int32.random(in: 0..<4, using: &random)
        return [place(book, "pages")]
      case 3:
        let former = book.author
        book.author = Bool.random(using: &random) ? nil : authors.randomElement(using: &random)
        return Set([place(book, "author")] + [former, book.author].compactMap { $0 }.map { place($0, "books") })
      default:
        let former = book.tags
        book.tags = Set(tags.filter { _ in Bool.random(using: &random) })
        return Set([place(book, "tags")] + former.union(book.tags).map { place($0, "books") })
      }
    }

    /// All readable values.
    func values() -> [Place: () -> AnyHashable?] {
      var all: [Place: () -> AnyHashable?] = [:]
      for book in books {
        all[Place(object: book.objectID, key: "title")] = { book.title }
        all[Place(object: book.objectID, key: "price")] = { book.price }
        all[Place(object: book.objectID, key: "pages")] = { book.pages }
        all[Place(object: book.objectID, key: "author")] = { book.author?.objectID }
        all[Place(object: book.objectID, key: "tags")] = { Set(book.tags.map(\.objectID)) }
      }
      for author in authors { all[Place(object: author.objectID, key: "books")] = { Set(author.books.map(\.objectID)) } }
      for tag in tags { all[Place(object: tag.objectID, key: "books")] = { Set(tag.books.map(\.objectID)) } }
      return all
    }
  }

  private func makeGraph(_ context: ManagedObjectContext) throws -> Graph {
    let graph = Graph(
      context: context, authors: (0..<3).map { _ in Author(context: context) }, books: (0..<6).map { _ in Book(context: context) },
      tags: (0..<3).map { _ in Tag(context: context) })
    for author in graph.authors { author.name = "a" }
    for book in graph.books { book.title = "b" }
    for tag in graph.tags { tag.name = "t" }
    try context.save()
    return graph
  }

  func testOnlyReadersOfChangedPropertiesAreNotified() async throws {
    try await onEachStore { stack in
      var random = SeededGenerator(seed: 14)
      let own = try self.makeGraph(stack.makeContext())
      let others = try own.copy(in: stack.makeContext())
      own.context.tracksObservation = true
      for graph in [own, others] {
        graph.context.automaticallyMergesChangesFromParent = true
        graph.context.mergePolicy = .mergeByPropertyObjectTrump
      }
      let readers = own.values()
      for round in 0..<400 {
        let reported = Mutex<Set<Place>>([])
        var before: [Place: AnyHashable?] = [:]
        for (place, read) in readers {
          withObservationTracking {
            before[place] = read()
          } onChange: {
            reported.withLock { _ = $0.insert(place) }
          }
        }
        var touched: Set<Place> = []
        for _ in 0..<Int.random(in: 1...4, using: &random) { touched.formUnion(own.change(&random)) }
        let savesOtherContext = round % 3 == 0
        if savesOtherContext {
          for _ in 0..<3 { touched.formUnion(others.change(&random)) }
          try others.context.save()
        }
        if round % 5 == 0 { try own.context.save() } else { own.context.processPendingChanges() }
        let isRolledBack = round % 7 == 0
        if isRolledBack { own.context.rollback() }
        let received = reported.withLock { $0 }
        for (place, read) in readers where read() != before[place] {
          XCTAssertTrue(received.contains(place), "\(stack.kind), round \(round): no observer was notified of \(place.key)")
        }
        // A rollback notifies for whole objects, and a merge for the ends of relationships with local changes.
        if !isRolledBack && !savesOtherContext { XCTAssertEqual(received.subtracting(touched), [], "\(stack.kind), round \(round)") }
      }
    }
  }
}

import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

@_spi(Generated) @testable import ObjectContext

/// The statements that snapshots take, their shared storage, and snapshots of classes that declare their entities.
final class SnapshotCountTests: XCTestCase {
  private func makeBooks(_ count: Int, _ stack: Stack) throws {
    let context = stack.makeShortLivedContext()
    let tags = try (0..<3).map { try context.make("Tag", ["name": "tag \($0)"]) }
    for number in 0..<count {
      try context.make("Book", ["title": "book \(number)", "tags": Set([tags[number % 3]])])
    }
    try context.save()
    stack.forgetRows()
  }

  private func count(_ stack: Stack, _ body: () throws -> Void) rethrows -> Int {
    stack.statements?.reset()
    try body()
    return stack.statements?.count ?? 0
  }

  func testFetchOfSnapshotsUsesOneStatement() async throws {
    try await onEachStore([.sqlcipher]) { stack in
      try makeBooks(700, stack)
      let context = stack.makeContext()
      let request = FetchRequest<Book>(entityName: "Book")
      var found: [ObjectSnapshot] = []
      let objects = try count(stack) { _ = try stack.makeShortLivedContext().fetch(request) }
      stack.forgetRows()
      XCTAssertEqual(try count(stack) { found = try context.fetch(request, as: ObjectSnapshot.self) }, objects, "as many as of objects")
      XCTAssertEqual(found.count, 700)
      XCTAssertEqual(context.registeredObjects.count, 0)
      let plain = try count(stack) { _ = try context.fetch(request, as: ObjectSnapshot.self) }
      let members = try count(stack) { found = try context.fetch(request, as: ObjectSnapshot.self, including: ["tags"]) }
      XCTAssertEqual([plain, members], [1, 3], "in addition to the rows, the members of 500 results at a time")
      XCTAssertEqual(found.map { $0.memberIDs(at: 0)?.count }, [Int?](repeating: 1, count: 700))
    }
  }

  func testSnapshotOfALoadedObjectSharesItsRow() async throws {
    try await onEachStore { stack in
      try makeBooks(20, stack)
      let context = stack.makeContext()
      let books = try context.all(Book.self)
      for book in books { _ = book.title }
      let asked = try count(stack) {
        for book in books {
          let (one, other) = (try (book as ManagedObject).snapshot(), try (book as ManagedObject).snapshot())
          XCTAssertEqual(one.row.base, book.row, "the row itself")
          XCTAssertEqual(one.row.base, other.row.base)
        }
      }
      XCTAssertEqual(asked, 0)
      let fetched = try context.fetch(FetchRequest<Book>(entityName: "Book"), as: ObjectSnapshot.self)
      XCTAssertEqual(Set(fetched.map(\.row.base)), Set(books.compactMap(\.row)), "the rows of the row cache")
    }
  }

  func testApplyingToALoadedObjectUsesNoStatement() async throws {
    try await onEachStore([.sqlcipher]) { stack in
      try makeBooks(20, stack)
      let context = stack.makeContext()
      let books = try context.all(Book.self)
      var snapshots = try books.map { try ($0 as ManagedObject).snapshot() }
      for position in snapshots.indices { try snapshots[position].setValue("new \(position)", forKey: "title") }
      XCTAssertEqual(try count(stack) { for snapshot in snapshots { try context.apply(snapshot) } }, 0)
      XCTAssertEqual(context.updatedObjects.count, 20)
      try context.save()
    }
  }

  func testTransformerErrorIsThrownWhenTheSnapshotIsApplied() async throws {
    let model = ManagedObjectModel {
      Entity("Note") {
        Attribute("text", .string)
        Attribute("words", transforming: [Double].self)
      }
    }
    for kind in StoreKind.allCases {
      let stack = try await Stack(kind, model: model, classes: ManagedObjectClasses())
      let context = stack.makeContext()
      let note = try context.make("Note", ["text": "a"])
      try context.save()
      var snapshot = try note.snapshot()
      snapshot.setTransformed([1.5], at: 1)
      XCTAssertEqual(snapshot.transformed(at: 1, as: [Double].self), [1.5])
      struct Plain: Sendable {}
      snapshot.setTransformed(Plain(), at: 1)
      try snapshot.setValue("b", forKey: "text")
      XCTAssertEqual(snapshot.transformed(at: 1, as: [Double].self), [1.5], "nothing was set")
      XCTAssertThrowsError(try context.apply(snapshot)) { XCTAssertEqual(($0 as? KeyValueError)?.code, .transformFailed) }
      XCTAssertFalse(context.hasChanges)
      XCTAssertThrowsError(try JSONEncoder().encode(snapshot))
      try stack.close()
    }
  }

  func testSlotsOfAnotherLayoutAreNotRead() async throws {
    try await onEachStore([.inMemory]) { stack in
      try makeBooks(1, stack)
      let context = stack.makeContext()
      let tag = try XCTUnwrap(context.objects("Tag").first)
      var snapshot = try tag.snapshot()
      XCTAssertEqual(snapshot.value(at: 40, as: String.self), "")
      XCTAssertNil(snapshot.optionalValue(at: -1, as: Int64.self))
      XCTAssertNil(snapshot.toOneID(at: 0))
      XCTAssertNil(snapshot.externalData(at: 0))
      XCTAssertNil(snapshot.memberIDs(at: 9))
      snapshot.setValue("x", at: 40)
      snapshot.setMemberIDs([tag.objectID], at: 9)
      snapshot.setToOneID(tag.objectID, at: 0)
      XCTAssertFalse(snapshot.hasChanges)
    }
  }
}

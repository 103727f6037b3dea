import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Fetches reuse the cached rows that equal the stored ones, and read all others.
final class ReusableRowsTests: XCTestCase {
  private func fill(_ stack: Stack) throws {
    let context = stack.makeContext()
    for index in 0..<600 { try context.make("Author", ["name": "\(1000 + index)"]) }
    try context.save()
    stack.forgetRows()
  }

  private func addresses(of authors: [ManagedObject], in stack: Stack) throws -> [UnsafeRawPointer] {
    try authors.map { try XCTUnwrap(stack.store.cache.row($0.objectID.reference)).base }
  }

  func testASecondFetchSharesTheRowsOfTheFirst() async throws {
    try await onEachStore([.sqlcipher]) { stack in
      try fill(stack)
      let first = try stack.makeContext().objects("Author", by: "name")
      let before = try addresses(of: first, in: stack)
      let second = try stack.makeContext().objects("Author", by: "name")
      XCTAssertEqual(try addresses(of: second, in: stack), before)
      XCTAssertEqual(second.map { $0.text("name") }, (0..<600).map { "\(1000 + $0)" })
    }
  }

  func testFetchInAnotherOrderSharesRows() async throws {
    try await onEachStore([.sqlcipher]) { stack in
      try fill(stack)
      let before = try addresses(of: try stack.makeContext().objects("Author", by: "name"), in: stack)
      var request = FetchRequest<ManagedObject>(entityName: "Author")
      request.sortDescriptors = [FetchSortDescriptor("name", ascending: false)]
      let second = try stack.makeContext().fetch(request)
      XCTAssertEqual(try addresses(of: second, in: stack), before.reversed())
      XCTAssertEqual(second.map { $0.text("name") }, (0..<600).reversed().map { "\(1000 + $0)" })
    }
  }

  func testConcurrentlySavedRowIsReadAgain() async throws {
    try await onEachStore([.sqlcipher]) { stack in
      try fill(stack)
      let context = stack.makeContext()
      let author = try context.named("1300", "Author")
      XCTAssertEqual(author.text("name"), "1300")
      let row = try XCTUnwrap(stack.store.cache.row(author.objectID.reference))
      try stack.changeElsewhere(keeping: [row]) { try $0.named("1300", "Author").setValue("Ada", forKey: "name") }
      let names = try stack.makeContext().objects("Author", by: "name").compactMap { $0.text("name") }
      XCTAssertEqual(names.last, "Ada")
      XCTAssertEqual(Set(names).count, 600)
      XCTAssertNotEqual(stack.store.cache.row(author.objectID.reference)?.base, row.base)
    }
  }

  func testSharedRowsOutliveTheCache() async throws {
    try await onEachStore([.sqlcipher]) { stack in
      try fill(stack)
      _ = try stack.makeContext().objects("Author")
      let second = try stack.makeContext().objects("Author", by: "name")
      stack.forgetRows()
      stack.statements?.reset()
      XCTAssertEqual(second.map { $0.text("name") }, (0..<600).map { "\(1000 + $0)" })
      XCTAssertEqual(stack.statements?.count, 0)
    }
  }

  /// Assigns books to authors by ID. The authors' rows are checked before the save.
  private func giveBooks(toAuthors count: Int, in stack: Stack) throws -> [ManagedObjectID] {
    try fill(stack)
    let ids = Array(try stack.makeContext().objects("Author", by: "name").map(\.objectID).prefix(count))
    stack.forgetRows()
    let context = stack.makeContext()
    for (index, id) in ids.enumerated() {
      let book = try context.make("Book", ["title": "\(index)"])
      try book.setValue(context.object(with: id), forKey: "author")
    }
    try context.save()
    XCTAssertEqual(try stack.makeContext().count(for: FetchRequest<ManagedObject>(entityName: "Book")), count)
    return ids
  }

  func testImportDoesNotCacheRowsOfOwners() async throws {
    try await onEachStore([.sqlcipher]) { stack in
      let ids = try giveBooks(toAuthors: 400, in: stack)
      XCTAssertFalse(ids.contains { stack.store.cache.hasRow($0.reference) })
    }
  }

  func testRowsOfOwnersStayCachedAfterASmallSave() async throws {
    try await onEachStore([.sqlcipher]) { stack in
      let ids = try giveBooks(toAuthors: 40, in: stack)
      XCTAssertTrue(ids.allSatisfy { stack.store.cache.hasRow($0.reference) })
    }
  }

  func testRowsWithInlineBytesAreShared() async throws {
    var film = EntityDescription(name: "Film")
    var poster = AttributeDescription(name: "poster", type: .binary, isOptional: true)
    poster.allowsExternalBinaryDataStorage = true
    film.properties = [.attribute(AttributeDescription(name: "name", type: .string)), .attribute(poster)]
    let posters = [Data(), Data(repeating: 1, count: 1_000), Data(repeating: 2, count: 300_000)]
    try await onEachStore([.sqlcipher], model: ManagedObjectModel(entities: [film]), classes: ManagedObjectClasses([:])) { stack in
      let context = stack.makeContext()
      try context.make("Film", ["name": "0"])
      for (index, poster) in posters.enumerated() { try context.make("Film", ["name": "\(index + 1)", "poster": poster]) }
      try context.save()
      stack.forgetRows()
      let first = try stack.makeContext().objects("Film", by: "name")
      let before = try addresses(of: first, in: stack)
      let second = try stack.makeContext().objects("Film", by: "name")
      let after = try addresses(of: second, in: stack)
      XCTAssertEqual(Array(after.prefix(3)), Array(before.prefix(3)))
      XCTAssertNotEqual(after[3], before[3])
      for films in [first, second] { XCTAssertEqual(films.map { $0["poster"] as? Data }, [nil] + posters) }
    }
  }
}

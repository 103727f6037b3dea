// KnownRowsTests: fetches share the rows that are at hand as they are stored, and read all others.
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

final class KnownRowsTests: XCTestCase {
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

  func testAFetchInAnotherOrderSharesThemToo() async throws {
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

  func testARowThatWasSavedMeanwhileIsReadAnew() async throws {
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

  func testWhatAFetchSharesOutlivesTheCache() async throws {
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
}

import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// A query generation is an unchanging state of a store; stores without generations throw.
public final class GenerationSpecification: StoreSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testGenerationDoesNotChange", { $0.testGenerationDoesNotChange }),
        ("testMembersInAGenerationDoNotChange", { $0.testMembersInAGenerationDoNotChange }),
        ("testCountsAndDictionariesInAGenerationDoNotChange", { $0.testCountsAndDictionariesInAGenerationDoNotChange }),
        ("testEqualStatesShareOneGeneration", { $0.testEqualStatesShareOneGeneration }),
        ("testEachGenerationHasItsOwnState", { $0.testEachGenerationHasItsOwnState }),
        ("testGenerationExcludesUncommittedChanges", { $0.testGenerationExcludesUncommittedChanges }),
        ("testClosingEndsGenerations", { $0.testClosingEndsGenerations }),
        ("testAGenerationOfAnotherStoreIsRejected", { $0.testAGenerationOfAnotherStoreIsRejected }),
        ("testAnErrorDoesNotEndAGeneration", { $0.testAnErrorDoesNotEndAGeneration }),
      ] as [(String, (GenerationSpecification) -> () throws -> Void)])
  }

  private final class Other: StoreGeneration {
    var isOver: Bool { false }
  }

  /// Returns a store to test; nil if it has no generations, after checking the error.
  private func makeStoreWithGenerations() throws -> OpenStore? {
    let open = try makeStore()
    if type(of: open.store).hasQueryGenerations { return open }
    assertStoreError(.unsupported) { try open.store.currentGeneration(in: open.scope) }
    return nil
  }

  private func pinned(_ open: OpenStore) throws -> RequestScope {
    var scope = open.scope
    scope.generation = try open.store.currentGeneration(in: scope)
    return scope
  }

  private func names(_ open: OpenStore, _ scope: RequestScope) throws -> [String] {
    guard case .rows(let rows) = try open.store.execute(.fetch(FetchSpecification(entityName: "Tag")), in: scope) else { return [] }
    return try rows.map { if case .text(let text) = try open.value($0, "name") { text } else { "(none)" } }.sorted()
  }

  func testGenerationDoesNotChange() throws {
    guard let open = try makeStoreWithGenerations() else { return }
    let (red, blue) = (try open.insert("Tag", ["name": .text("red")]), try open.insert("Tag", ["name": .text("blue")]))
    let scope = try pinned(open)
    try open.save { try $0.update(red, ["name": .text("crimson")]) }
    try open.save { try $0.delete(blue) }
    let green = try open.insert("Tag", ["name": .text("green")])
    XCTAssertEqual(try names(open, scope), ["blue", "red"])
    XCTAssertEqual(try names(open, open.scope), ["crimson", "green"])
    let rows = try open.store.newValuesForObjects(with: [red, blue, green], in: scope)
    XCTAssertEqual(Set(rows.map(\.key)), [red.key, blue.key])
    XCTAssertEqual(rows.map(\.version), [1, 1])
    XCTAssertEqual(try open.store.newValuesForObjects(with: [green], in: scope).count, 0)
    XCTAssertEqual(try open.store.newValuesForObjects(with: [blue], in: scope).count, 1)
    XCTAssertEqual(try open.row(red)?.version, 2)
  }

  func testMembersInAGenerationDoNotChange() throws {
    guard let open = try makeStoreWithGenerations() else { return }
    let book = try open.insert("Book", ["title": .text("Ulysses")])
    let (one, two) = (try open.insert("Tag", ["name": .text("one")]), try open.insert("Tag", ["name": .text("two")]))
    let author = try open.insert("Author", ["name": .text("Joyce")])
    try open.save { save in
      try save.change(book, "tags", add: [one])
      try save.update(book, ["author": author.slot])
    }
    let scope = try pinned(open)
    try open.save { save in
      try save.change(book, "tags", add: [two], remove: [one])
      try save.update(book, ["author": .null])
    }
    func members(_ id: ManagedObjectID, _ name: String, _ scope: RequestScope) throws -> [ObjectReference] {
      let relationship = try open.relationship(id.entityName, name)
      return Array(try open.store.newValues(forRelationship: relationship, forObjectsWith: [id], in: scope)[0])
    }
    XCTAssertEqual(try members(book, "tags", scope), [one.reference])
    XCTAssertEqual(try members(author, "books", scope), [book.reference])
    XCTAssertEqual(try members(book, "tags", open.scope), [two.reference])
    XCTAssertEqual(try members(author, "books", open.scope), [])
  }

  func testCountsAndDictionariesInAGenerationDoNotChange() throws {
    guard let open = try makeStoreWithGenerations() else { return }
    for number in 0..<5 { try open.insert("Book", ["pages": .int(Int64(number))]) }
    let scope = try pinned(open)
    try open.save { save in for number in 5..<9 { try save.insert("Book", ["pages": .int(Int64(number))]) } }
    var specification = FetchSpecification(entityName: "Book")
    specification.resultType = .count
    guard case .count(let count) = try open.store.execute(.fetch(specification), in: scope) else { return XCTFail("no count") }
    XCTAssertEqual(count, 5)
    specification.resultType = .dictionaries
    specification.propertiesToFetch = [.expression(try FetchExpression(format: "sum(pages)"), as: "sum")]
    guard case .dictionaries(let rows) = try open.store.execute(.fetch(specification), in: scope) else { return XCTFail("no rows") }
    XCTAssertEqual(rows.rows, [[.int(10)]])
    XCTAssertEqual(try open.count("Book"), 9)
  }

  func testEqualStatesShareOneGeneration() throws {
    guard let open = try makeStoreWithGenerations() else { return }
    let tag = try open.insert("Tag", ["name": .text("red")])
    let first = try open.store.currentGeneration(in: open.scope)
    _ = try open.row(tag)
    XCTAssertTrue(try open.store.currentGeneration(in: open.scope) === first)
    try open.save { try $0.update(tag, ["name": .text("blue")]) }
    XCTAssertFalse(try open.store.currentGeneration(in: open.scope) === first)
  }

  func testEachGenerationHasItsOwnState() throws {
    guard let open = try makeStoreWithGenerations() else { return }
    var scopes: [RequestScope] = []
    for number in 0..<8 {
      scopes.append(try pinned(open))
      try open.insert("Tag", ["name": .text("\(number)")])
    }
    for (number, scope) in scopes.enumerated() { XCTAssertEqual(try names(open, scope), (0..<number).map { "\($0)" }) }
  }

  func testGenerationExcludesUncommittedChanges() throws {
    guard let open = try makeStoreWithGenerations() else { return }
    try open.insert("Tag", ["name": .text("red")])
    let scope = try pinned(open)
    try open.store.performTransaction {
      try open.insert("Tag", ["name": .text("blue")])
      XCTAssertEqual(try names(open, scope), ["red"])
      XCTAssertEqual(try names(open, open.scope), ["blue", "red"])
      let within = try pinned(open)
      XCTAssertEqual(try names(open, within), ["red"], "what is not committed is no state of the store")
    }
    XCTAssertEqual(try names(open, scope), ["red"])
    XCTAssertEqual(try names(open, try pinned(open)), ["blue", "red"])
  }

  func testClosingEndsGenerations() throws {
    guard let open = try makeStoreWithGenerations() else { return }
    try open.insert("Tag", ["name": .text("red")])
    let scope = try pinned(open)
    XCTAssertEqual(scope.generation?.isOver, false)
    try open.close()
    XCTAssertEqual(scope.generation?.isOver, true)
    XCTAssertThrowsError(try names(open, scope))
  }

  func testAGenerationOfAnotherStoreIsRejected() throws {
    guard let open = try makeStoreWithGenerations() else { return }
    var scope = open.scope
    scope.generation = Other()
    assertStoreError(.queryGenerationOfOtherStore) { try names(open, scope) }
    let other = try makeStore()
    scope.generation = try other.store.currentGeneration(in: other.scope)
    assertStoreError(.queryGenerationOfOtherStore) { try names(open, scope) }
  }

  func testAnErrorDoesNotEndAGeneration() throws {
    guard let open = try makeStoreWithGenerations() else { return }
    try open.insert("Tag", ["name": .text("red")])
    let scope = try pinned(open)
    try open.insert("Tag", ["name": .text("blue")])
    XCTAssertThrowsError(try open.store.execute(.fetch(FetchSpecification(entityName: "Nobody")), in: scope))
    var cancelled = scope
    let cancellation = RequestCancellation()
    cancellation.cancel()
    cancelled.cancellation = cancellation
    _ = try? names(open, cancelled)
    XCTAssertEqual(try names(open, scope), ["red"])
  }
}

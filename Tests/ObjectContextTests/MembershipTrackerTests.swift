import ObjectContext
import ObjectModel
import XCTest

/// The relationships that were accessed, and the deleted members.
final class MembershipTrackerTests: XCTestCase {
  private struct Numbers {
    let model: CompiledModel
    let books: CompiledRelationship
    let tags: CompiledRelationship

    init() throws {
      let model = try CompiledModel(Library.model)
      self.model = model
      func relationship(_ entity: String, _ name: String) throws -> CompiledRelationship {
        try XCTUnwrap(model.relationships.first { $0.name == name && $0.sourceEntity == model.entity(named: entity)?.number })
      }
      books = try relationship("Author", "books")
      tags = try relationship("Book", "tags")
    }

    func entity(_ name: String) throws -> Int { try XCTUnwrap(model.entity(named: name)).number }

    func id(_ entity: String, _ key: Int64) throws -> ManagedObjectID {
      ManagedObjectID(space: 1, entityNumber: UInt32(try self.entity(entity)), key: key)
    }
  }

  func testRelationshipIsTrackedOnceItHasState() throws {
    let numbers = try Numbers()
    var states = MembershipTracker(model: numbers.model)
    XCTAssertFalse(states.mayHaveState(of: numbers.books))
    XCTAssertNil(states.relationships(toEntities: [try numbers.entity("Book")]))
    states.recordState(of: numbers.books)
    XCTAssertTrue(states.mayHaveState(of: numbers.books))
    XCTAssertFalse(states.mayHaveState(of: numbers.tags))
    // Novels are books.
    let touched = try XCTUnwrap(states.relationships(toEntities: [try numbers.entity("Novel")]))
    XCTAssertEqual(touched.indices.filter { touched[$0] }, [numbers.books.id])
    XCTAssertNil(states.relationships(toEntities: [try numbers.entity("Tag")]))
  }

  func testOnlyRowsOfTrackedDestinationsAreRecordedAsDeleted() throws {
    let numbers = try Numbers()
    var states = MembershipTracker(model: numbers.model)
    let (book, novel, tag) = (try numbers.id("Book", 1), try numbers.id("Novel", 2), try numbers.id("Tag", 3))
    states.markRemoved(book)
    XCTAssertFalse(states.hasRemovedRows)
    states.recordState(of: numbers.books)
    for id in [novel, tag] { states.markRemoved(id) }
    XCTAssertTrue(states.hasRemovedRows)
    XCTAssertEqual([book, novel, tag].map { states.isRemoved($0.reference) }, [false, true, false])
    XCTAssertEqual(states.existing([book.reference, novel.reference]), [book.reference])
  }

  func testManyDeletedRowsArePruned() throws {
    let numbers = try Numbers()
    var states = MembershipTracker(model: numbers.model)
    states.recordState(of: numbers.books)
    for key in 1...4_096 { states.markRemoved(try numbers.id("Book", Int64(key))) }
    XCTAssertNil(states.takeRemovedBeyondLimit())
    states.markRemoved(try numbers.id("Book", 5_000))
    XCTAssertEqual(states.takeRemovedBeyondLimit()?.count, 4_097)
    XCTAssertFalse(states.hasRemovedRows)
  }
}

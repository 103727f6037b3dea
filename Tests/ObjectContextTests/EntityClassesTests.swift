import ObjectContext
import ObjectModel
import XCTest

/// The classes of entities by number, and the entities of classes.
final class EntityClassesTests: XCTestCase {
  func testEveryEntityHasAClassAndEveryRegisteredClassAnEntity() throws {
    let model = try CompiledModel(Library.model)
    func number(_ name: String) throws -> Int { try XCTUnwrap(model.entity(named: name)).number }
    var classes = EntityClasses(ManagedObjectClasses(["Book": Book.self, "Author": Author.self]), of: model)
    XCTAssertTrue(classes.type(ofEntity: try number("Book")) == Book.self)
    XCTAssertTrue(classes.type(ofEntity: try number("Author")) == Author.self)
    XCTAssertTrue(classes.type(ofEntity: try number("Tag")) == ManagedObject.self, "An entity without a class of its own")
    // The last lookup is cached, in the other direction too.
    for _ in 0..<2 {
      XCTAssertEqual(classes.entity(of: Book.self)?.name, "Book")
      XCTAssertEqual(classes.entity(of: Book.self)?.name, "Book")
      XCTAssertEqual(classes.entity(of: Author.self)?.name, "Author")
    }
    XCTAssertNil(classes.entity(of: Tag.self))
    XCTAssertEqual(classes.entity(of: Author.self)?.name, "Author", "An unregistered class is not cached.")
    XCTAssertNil(classes.entity(of: ManagedObject.self))
  }

  func testClassOfAnotherModelHasNoEntity() throws {
    let model = try CompiledModel(Library.model)
    var classes = EntityClasses(ManagedObjectClasses(["Nothing": Book.self]), of: model)
    XCTAssertNil(classes.entity(of: Book.self))
  }
}

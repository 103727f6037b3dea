import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Objects as predicate arguments, including unsaved ones, and indexes into relationships with unsaved changes.
final class PredicateArgumentTests: XCTestCase {
  private let model = ManagedObjectModel {
    Entity("Author") {
      Attribute("name", .string)
      Relationship("books", toMany: "Book", inverse: "author")
    }
    Entity("Book") {
      Attribute("title", .string)
      Relationship("author", to: "Author", inverse: "books")
      Relationship("chapters", toMany: "Chapter", inverse: "book").ordered()
    }
    Entity("Chapter") {
      Attribute("title", .string)
      Relationship("book", to: "Book", inverse: "chapters")
    }
  }

  private func titles(_ context: ManagedObjectContext, _ format: String, _ arguments: (any FetchConstantConvertible)?...) throws -> String {
    let predicate = try FetchPredicate(format: format, argumentArray: arguments)
    let found = try context.fetch(FetchRequest<ManagedObject>(entityName: "Book", predicate: predicate))
    return found.compactMap { $0["title"] as? String }.sorted().joined()
  }

  func testObjectsCanBeArgumentsBeforeAndAfterTheSave() async throws {
    try await onEachStore(model: model, classes: ManagedObjectClasses([:])) { stack in
      let context = stack.makeContext()
      let (ada, bob) = (try context.make("Author", ["name": "Ada"]), try context.make("Author", ["name": "Bob"]))
      let books = try ["a", "b", "c"].map { try context.make("Book", ["title": $0, "author": $0 == "c" ? bob : ada]) }
      func check(_ state: String) throws {
        XCTAssertEqual(try titles(context, "author == %@", ada), "ab", state)
        XCTAssertEqual(try titles(context, "author != %@", ada), "c", state)
        XCTAssertEqual(try titles(context, "author IN %@", [bob, ada]), "abc", state)
        XCTAssertEqual(try titles(context, "SELF == %@ OR SELF IN %@", books[0], [books[2]]), "ac", state)
        XCTAssertEqual(try titles(context, "ANY author.books == %@", books[0].objectID), "ab", state)
        XCTAssertEqual(try titles(context, "%@ IN author.books", books[2]), "c", state)
      }
      let template = try FetchPredicate(format: "author == $who AND author.name == $name")
      XCTAssertThrowsError(try context.fetch(FetchRequest<ManagedObject>(entityName: "Book", predicate: template)))
      func checkTemplate() throws {
        let predicate = template.withSubstitutionVariables(["who": bob, "name": "Bob"])
        let found = try context.fetch(FetchRequest<ManagedObject>(entityName: "Book", predicate: predicate))
        XCTAssertEqual(found.compactMap { $0["title"] as? String }, ["c"])
      }
      try check("unsaved")
      try checkTemplate()
      try context.save()
      try check("saved")
      try checkTemplate()
      // A new author among saved ones.
      let eve = try context.make("Author", ["name": "Eve"])
      try books[0].setValue(eve, forKey: "author")
      XCTAssertEqual(try titles(context, "author == %@", eve), "a")
      XCTAssertEqual(try titles(context, "author IN %@", [eve, bob]), "ac")
      XCTAssertEqual(try titles(context, "author == %@", ada), "b")
      XCTAssertEqual(try titles(context, "author == nil"), "")
    }
  }

  func testPositionsFollowUnsavedChanges() async throws {
    try await onEachStore(model: model, classes: ManagedObjectClasses([:])) { stack in
      let context = stack.makeContext()
      let book = try context.make("Book", ["title": "a"])
      let chapters = try ["x", "y", "z"].map { try context.make("Chapter", ["title": $0]) }
      try book.setValue(chapters, forKey: "chapters")
      XCTAssertEqual(try titles(context, "chapters[0].title == 'x' AND chapters[LAST].title == 'z' AND chapters[SIZE] == 3"), "a")
      try context.save()
      XCTAssertEqual(try titles(context, "chapters[FIRST] == %@ AND chapters[1].title == 'y'", chapters[0]), "a")
      try book.setValue(Array(chapters.reversed().prefix(2)), forKey: "chapters")
      XCTAssertEqual(try titles(context, "chapters[0].title == 'z' AND chapters[2] == nil AND chapters[SIZE] == 2"), "a")
      try context.save()
      XCTAssertEqual(try titles(context, "chapters[0].title == 'z' AND chapters[2] == nil AND chapters[SIZE] == 2"), "a")
    }
  }
}

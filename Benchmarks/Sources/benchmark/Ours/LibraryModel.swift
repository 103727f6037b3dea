// The bookshop's model, and classes for it as the generator writes them.
import CipherData
import Foundation

/// The bookshop: what `library.c` creates by hand.
enum Library {
  static let model = ManagedObjectModel(version: "bookshop") {
    Entity("Author", class: "Author") {
      Attribute("name", .string).required()
      Attribute("email", .string).required()
      Attribute("born", .integer64).required()
      Relationship("books", toMany: "Book", inverse: "author")
    }
    Entity("Book", class: "Book") {
      Attribute("title", .string).required()
      Attribute("isbn", .string).required()
      Attribute("price", .double).required()
      Attribute("published", .date).required()
      Attribute("pages", .integer64).required()
      Relationship("author", to: "Author", inverse: "books")
      Relationship("tags", toMany: "Tag", inverse: "books")
    }
    Entity("Tag", class: "Tag") {
      Attribute("name", .string).required()
      Relationship("books", toMany: "Book", inverse: "tags")
    }
  }

  static let classes = ManagedObjectClasses(["Author": Author.self, "Book": Book.self, "Tag": Tag.self])
}

final class Author: ManagedObject {
  var name: String {
    get { _value(0) }
    set { _setValue(newValue, at: 0) }
  }
  var email: String {
    get { _value(1) }
    set { _setValue(newValue, at: 1) }
  }
  var born: Int64 {
    get { _value(2) }
    set { _setValue(newValue, at: 2) }
  }
  var books: Set<Book> {
    get { _toManySet(0) }
    set { _setToMany(Array(newValue), at: 0) }
  }
}

final class Book: ManagedObject {
  var title: String {
    get { _value(0) }
    set { _setValue(newValue, at: 0) }
  }
  var isbn: String {
    get { _value(1) }
    set { _setValue(newValue, at: 1) }
  }
  var price: Double {
    get { _value(2) }
    set { _setValue(newValue, at: 2) }
  }
  var published: Date {
    get { _value(3) }
    set { _setValue(newValue, at: 3) }
  }
  var pages: Int64 {
    get { _value(4) }
    set { _setValue(newValue, at: 4) }
  }
  var author: Author? {
    get { _toOne(5) }
    set { _setToOne(newValue, at: 5) }
  }
  var authorID: ManagedObjectID? { _toOneID(5) }
  var tags: Set<Tag> {
    get { _toManySet(0) }
    set { _setToMany(Array(newValue), at: 0) }
  }
  func addToTags(_ tag: Tag) { _addToToMany(tag, at: 0) }
}

final class Tag: ManagedObject {
  var name: String {
    get { _value(0) }
    set { _setValue(newValue, at: 0) }
  }
  var books: Set<Book> {
    get { _toManySet(0) }
    set { _setToMany(Array(newValue), at: 0) }
  }
}

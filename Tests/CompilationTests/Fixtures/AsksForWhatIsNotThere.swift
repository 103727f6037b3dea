// Typed queries with names and types that the model does not have.
import CipherData
import Foundation

func asks(author: Author, book: Book, isWanted: Bool, context: ManagedObjectContext) throws {
  _ = Book.all.where { $0.titel == "x" }  // ERROR: has no member 'titel'
  _ = Book.all.where { $0.author.nam == "x" }  // ERROR: has no member 'nam'
  _ = Book.all.where { $0.author.books.title == "x" }  // ERROR: has no member 'title'
  _ = Author.all.where { $0.pages > 5 }  // ERROR: requires that 'Author' inherit from 'Book'
  _ = Book.all.where { $0.title > 5 }  // ERROR: be equivalent
  _ = Book.all.where { $0.pages == "5" && $0.title == "x" }  // ERROR: be equivalent
  _ = Book.all.where { $0.published > 5 }  // ERROR: be equivalent
  _ = Book.all.where { $0.pages.hasPrefix("5") }  // ERROR: be equivalent
  _ = Book.all.where { $0.pages.isIn(["a", "b"]) }  // ERROR: be equivalent
  _ = Book.all.where { $0.pages == $0.title }  // ERROR: be equivalent
  _ = Book.all.where { $0.author == book }  // ERROR: cannot convert value of type 'Book'
  _ = Author.all.where { $0.books.contains(author) }  // ERROR: no exact matches in call to instance method 'contains'
  _ = Author.all.where { $0.books.any { $0.pages == "x" } }  // ERROR: be equivalent
  _ = Author.all.where { $0.books.sum { $0.title } > 5 }  // ERROR: conform to 'FetchNumber'
  _ = Author.all.where(FetchCondition<Book> { $0.pages > 5 })  // ERROR: cannot convert value of type 'FetchCondition<Book>'
  _ = Book.all.where {
    if $0.title == $0.isbn { $0.pages > 5 }  // ERROR: cannot convert value of type 'FetchPredicate'
  }
  _ = Book.all.sorted { $0.author.books }  // ERROR: FetchSortable
  _ = Book.all.where { isWanted && $0.pages > 5 }  // ERROR: a Bool is not a condition on objects
  _ = Book.all.where { $0.pages > 5 || isWanted }  // ERROR: a Bool is not a condition on objects
  _ = try context.update(Book.all) { $0.set(\.pages, to: "x") }  // ERROR: cannot convert value of type 'String'
  _ = try context.update(Book.all) { $0.set(\.author, to: book) }  // ERROR: cannot convert value of type 'Book'
  _ = try context.update(Book.all) { $0.set(\.pages) { $0.title } }  // ERROR: be equivalent
}

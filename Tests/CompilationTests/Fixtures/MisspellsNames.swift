// Typed queries with a name that the model does not have: the compiler says that, and nothing else.
import CipherData
import Foundation

func asks(title: String?, date: Date, context: ManagedObjectContext) throws {
  _ = Book.all.where { $0.titel == "x" }  // ERROR: has no member 'titel'
  _ = Book.all.where { $0.titel != "x" }  // ERROR: has no member 'titel'
  _ = Book.all.where { $0.titel == 5 }  // ERROR: has no member 'titel'
  _ = Book.all.where { $0.titel == title }  // ERROR: has no member 'titel'
  _ = Book.all.where { $0.titel == nil }  // ERROR: has no member 'titel'
  _ = Book.all.where { $0.titel != nil }  // ERROR: has no member 'titel'
  _ = Book.all.where { $0.page > 5 }  // ERROR: has no member 'page'
  _ = Book.all.where { $0.publishd < date }  // ERROR: has no member 'publishd'
  _ = Book.all.where { $0.titel }  // ERROR: has no member 'titel'
  _ = Book.all.where { $0.titel.hasPrefix("x") }  // ERROR: has no member 'titel'
  _ = Book.all.where { $0.author.nam == "x" }  // ERROR: has no member 'nam'
  _ = Book.all.where { $0.pages > 5 && $0.titel == "x" }  // ERROR: has no member 'titel'
  _ = Book.all.where { $0.titel == "x" && $0.pages > 5 }  // ERROR: has no member 'titel'
  _ = Book.all.where { $0.pages > 5 || $0.titel == "x" }  // ERROR: has no member 'titel'
  _ = Book.all.where { $0.pages > 5 && ($0.title == "a" || $0.titel == "x") }  // ERROR: has no member 'titel'
  _ = Book.all.where { !($0.titel == "x") }  // ERROR: has no member 'titel'
  _ = Book.all.where {
    $0.pages > 5
    $0.titel == "x"  // ERROR: has no member 'titel'
  }
  _ = Book.all.where {
    if title != nil { $0.titel == title }  // ERROR: has no member 'titel'
  }
  _ = Book.all.where { ["a"].contains($0.titel) }  // ERROR: has no member 'titel'
  _ = Book.all.where { (1...3).contains($0.page) }  // ERROR: has no member 'page'
  _ = Author.all.where { $0.books.any { $0.titel == "x" } }  // ERROR: has no member 'titel'
  _ = Author.all.where { $0.books.count { $0.titel == "x" } > 3 }  // ERROR: has no member 'titel'
  _ = Author.all.where { $0.books.sum { $0.page } > 3 }  // ERROR: has no member 'page'
  _ = Author.all.where { $0.books.average { $0.page } > 3 }  // ERROR: has no member 'page'
  _ = FetchCondition<Book> { $0.titel == "x" }  // ERROR: has no member 'titel'
  _ = Book.all.sorted { $0.titel }  // ERROR: has no member 'titel'
  _ = Book.all.sorted { $0.titel.descending }  // ERROR: has no member 'titel'
  _ = Book.all.sorted { ($0.title, $0.titel) }  // ERROR: has no member 'titel'
  _ = Book.all.select { $0.titel }  // ERROR: has no member 'titel'
  _ = Book.all.select { ($0.title, $0.titel) }  // ERROR: has no member 'titel'
  _ = Book.all.select { ($0.title, $0.page.sum) }  // ERROR: has no member 'page'
  _ = Book.all.select { $0.title }.having { $0.page.sum > 3 }  // ERROR: has no member 'page'
  _ = try context.update(Book.all) { $0.set(\.titel, to: "x") }  // ERROR: has no member 'titel'
  _ = try context.update(Book.all.where { $0.titel == "x" }) { $0.set(\.pages, to: 3) }  // ERROR: has no member 'titel'
  _ = try context.delete(Book.all.where { $0.titel == "x" })  // ERROR: has no member 'titel'
  _ = try context.fetch(Book.all.where { $0.titel == "x" }.sorted { $0.title })  // ERROR: has no member 'titel'
}

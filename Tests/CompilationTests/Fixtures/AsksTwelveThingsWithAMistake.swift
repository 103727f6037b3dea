// Typed queries with one long expression that contains one error: the compiler reports that error instead of a failed type check.
import CipherData
import Foundation

func asks(author: Author, date: Date, title: String?) {
  _ = Book.all.where {
    $0.pages > 10 && $0.title != title && $0.author.name.hasPrefix("A") && $0.isbn == nil && $0.published > date
      && $0.titel == "a"  // ERROR: has no member 'titel'
      && $0.author.books.count > 2 && $0.title == "x" && $0.pages < 500 && $0.published < .now && $0.author != author
  }
  _ = Book.all.where {
    $0.pages > 10 && $0.title != title && $0.author.name.hasPrefix("A") && $0.isbn == nil
      && $0.pages == "5"  // ERROR: be equivalent
      && $0.author.books.count > 2 && $0.pages < 500 && $0.published < .now && $0.author != author && $0.isbn != "a"
  }
}

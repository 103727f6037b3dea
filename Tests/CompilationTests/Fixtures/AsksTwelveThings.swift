// A typed query with twelve comparisons in one expression.
import CipherData
import Foundation

func asks(author: Author, date: Date, title: String?) -> FetchRequest<Book> {
  Book.all.where {
    $0.pages > 10 && $0.pages * 2 + 1 < 5000 && $0.title != title && $0.author.name.hasPrefix("A", .caseInsensitive) && $0.isbn == nil
      && ($0.published > date || $0.published == nil) && $0.author.books.count > 2
      && $0.author.books.any { $0.pages > 9 && $0.title == "x" } && !["a", "b"].contains($0.title) && (10...20).contains($0.pages)
      && $0.author != author
  }
}

// Objects of generated classes that leave their context are rejected in Swift 6. Swift 5 mode does not diagnose classes of the same target.
import CipherData
import Dispatch
import Foundation

func outOfABackgroundTask(container: PersistentContainer) async throws {
  let books = try await container.performBackgroundTask { context in  // ERROR: does not conform to the 'Sendable' protocol
    try context.fetch(Book.all)
  }
  _ = books
}

func intoABackgroundTask(container: PersistentContainer, book: Book) async throws {
  try await container.performBackgroundTask { context in
    _ = book.title  // ERROR: with non-Sendable type 'Book'
  }
}

func outOfAnActor(library: ContextActor) async throws {
  let book = try await library.perform { try $0.fetch(Book.all)[0] }  // ERROR: does not conform to the 'Sendable' protocol
  _ = book
}

func toAQueue(book: Book) {
  DispatchQueue.global().async { _ = book.title }  // ERROR: with non-Sendable type 'Book'
}

func toAThread(book: Book) {
  Thread.detachNewThread { _ = book.title }  // ERROR: with non-Sendable type 'Book'
}

@MainActor final class Reader {
  var books: [Book] = []
}

func outOfTheMainActor(reader: Reader) async -> Int {
  let books = await reader.books  // ERROR: cannot exit main actor-isolated context
  return books.count
}

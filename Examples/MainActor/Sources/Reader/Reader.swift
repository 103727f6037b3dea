// An application with the main actor as default isolation. Only annotated code runs elsewhere.
import CipherData
import Foundation
import Library

@main struct Reader {
  static func main() async throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("library.store")
    let shelf = try await Shelf(url: url)
    try await shelf.add(["  The Dispossessed", "The Left Hand of Darkness "], by: "Ursula K. Le Guin")
    for line in try shelf.lines() { print(line) }
  }
}

/// The contents of a window.
final class Shelf {
  private let container: PersistentContainer

  init(url: URL) async throws {
    container = try LibraryModel.makeContainer(
      persistentStoreDescriptions: [PersistentStoreDescription(url: url, key: .passphrase("correct horse battery staple"))])
    try await container.loadPersistentStores()
  }

  /// Adds books on a background queue.
  func add(_ titles: [String], by name: String) async throws {
    try await container.performBackgroundTask { context in
      let author = Author(context: context)
      author.name = name
      for title in titles {
        let book = Book(context: context)
        book.title = title
        author.addToBooks(book)
      }
      try context.save()
    }
  }

  func lines() throws -> [String] {
    let books = try container.viewContext.fetch(Book.all.where { $0.author.name.hasPrefix("Ursula") }.sorted { $0.title })
    return books.map { "\($0.title), \($0.author?.label ?? "")" }
  }
}

import CipherData
import Foundation

/// A bookshop in a temporary folder: one author per 100 books, one tag per 200 books, and three tags for each book.
struct Shop {
  let folder: URL

  init(in parent: URL) { folder = parent.appendingPathComponent("shop-\(UUID().uuidString)") }

  /// Opens the store with empty caches.
  func open() async throws -> PersistentContainer {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let description = PersistentStoreDescription(
      url: folder.appendingPathComponent("shop.store"), key: .passphrase("correct horse battery staple"))
    let container = try ShopModel.makeContainer(persistentStoreDescriptions: [description])
    try await container.loadPersistentStores()
    return container
  }

  /// Adds books whose authors and tags follow no order.
  func fill(books count: Int) async throws {
    let container = try await open()
    try await container.performBackgroundTask { context in
      let authors = (0..<max(1, count / 100)).map { number in
        let author = Author(context: context)
        author.name = "Author \(number)"
        author.born = Int32(1800 + number % 200)
        return author
      }
      let tags = (0..<max(3, count / 200)).map { number in
        let tag = Tag(context: context)
        tag.name = "Tag \(number)"
        return tag
      }
      for number in 0..<count {
        let book = Book(context: context)
        book.title = "Book \(number * 7_919 % count)"
        book.author = authors[number * 31 % authors.count]
        for step in 0..<3 { book.addToTags(tags[(number * 17 + step * (tags.count / 3)) % tags.count]) }
      }
      try context.save()
    }
    try container.close()
  }
}

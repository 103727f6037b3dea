// The example of the README, unchanged. Its classes are generated from Library.xcdatamodeld in this folder.
import CipherData
import Foundation

// Open the store. It is created if it does not exist.
let url = FileManager.default.temporaryDirectory.appendingPathComponent("library.store")
let container = try LibraryModel.makeContainer(
  persistentStoreDescriptions: [PersistentStoreDescription(url: url, key: .passphrase("correct horse battery staple"))])
try await container.loadPersistentStores()
let context = container.viewContext

// Insert objects and save them.
let author = Author(context: context)
author.name = "Ursula K. Le Guin"
for title in ["The Dispossessed", "The Left Hand of Darkness"] {
  let book = Book(context: context)
  book.title = title
  author.addToBooks(book)  // sets book.author, too
}
try context.save()

// Fetch objects with a query over a relationship.
let request = Book.all
  .where { $0.author.name.hasPrefix("ursula", .caseInsensitive) && $0.title.contains("Dark") }
  .sorted { $0.title }
for book in try context.fetch(request) {
  print(book.title, "by", book.author?.name ?? "unknown")
}

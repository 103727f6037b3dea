// The example of the README, word for word. Its classes are generated from Library.xcdatamodeld beside it.
import CipherData
import Foundation

let url = FileManager.default.temporaryDirectory.appendingPathComponent("library.store")
let container = try LibraryModel.makeContainer(
  persistentStoreDescriptions: [PersistentStoreDescription(url: url, key: .passphrase("correct horse battery staple"))])
try await container.loadPersistentStores()
let context = container.viewContext

let author = Author(context: context)
author.name = "Ursula K. Le Guin"
for title in ["The Dispossessed", "The Left Hand of Darkness"] {
  let book = Book(context: context)
  book.title = title
  author.addToBooks(book)
}
try context.save()

var request = Book.fetchRequest()
request.predicate = try FetchPredicate(format: "author.name BEGINSWITH[c] %@ AND title CONTAINS %@", "ursula", "Dark")
request.sortDescriptors = [FetchSortDescriptor("title")]
for book in try context.fetch(request) {
  print(book.title, "by", book.author?.name ?? "unknown")
}

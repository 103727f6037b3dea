// An application that uses generated classes under any default isolation. Declarations of the main actor are annotated, for the nonisolated
// default.
#if APART
  import Model
#endif
import CipherData
import Foundation

@MainActor final class Reader {
  let container: PersistentContainer
  private(set) var books: [Book] = []

  init(url: URL) throws {
    container = try CityModel.makeContainer(persistentStoreDescriptions: [PersistentStoreDescription(url: url, key: .provider(Keychain()))])
  }

  func begin() async throws {
    try await container.loadPersistentStores()
    let author = Person(context: container.viewContext)
    author.name = "Ursula K. Le Guin"
    let book = Book(context: container.viewContext)
    book.title = "The Dispossessed"
    book.progress = .reading
    book.place = Place(room: "attic", row: 2)
    book.cover = Cover(colours: ["red"])
    author.addToBooks(book)
    let shelf = Library(context: container.viewContext)
    shelf.insertIntoBooks([book], at: 0)
    try container.viewContext.save()
    books = try container.viewContext.fetch(
      Book.all.where { $0.title.hasPrefix("The") && $0.author.name != "" && $0.progress != .finished && $0.place.room == "attic" }
        .sorted { $0.title })
    let titles: [String] = try container.viewContext.fetch(Book.all.select { $0.title })
    print(titles, books.map(\.title), author.visits, author.label)
  }

  func add(_ titles: [String]) async throws {
    let ids = try await container.performBackgroundTask { context in
      let books = titles.map { title in
        let book = Book(context: context)
        book.title = title
        return book
      }
      try context.save()
      return books.map(\.objectID)
    }
    books += ids.compactMap { container.viewContext.object(with: $0) as? Book }
    for try await title in container.values(of: Book.fetchRequest(), { $0.title }) { print(title) }
  }
}

extension Person {
  /// For the user interface.
  var label: String { "\(name), \(born)" }
}

actor Catalogue {
  private let context: ManagedObjectContext

  init(container: PersistentContainer) { context = container.newBackgroundContext() }

  func add(_ title: String) throws -> ManagedObjectID {
    let book = Book(context: context)
    book.title = title
    try context.save()
    return book.objectID
  }

  func count(_ prefix: String) throws -> Int { try context.count(for: Book.all.where { $0.title.hasPrefix(prefix) }) }
}

func counts(_ container: PersistentContainer) async throws -> Int {
  let library = ContextActor(container: container)
  return try await library.perform { context in try context.count(for: Book.all.where(#Predicate<Book> { $0.title != "" })) }
}

let mapping = EntityMapping(.transform, from: "Book", to: "Book", policy: BookPolicy.self)

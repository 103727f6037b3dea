// Traverses from every book to its author and its tags, one by one, without prefetching.
import CipherData
import Foundation

/// The result of a traversal.
struct Sight: Equatable, Sendable {
  var yearsOfBirth = 0
  var letters = 0
}

/// Traverses the shop in code that ignores faulting.
func walk(_ context: ManagedObjectContext) throws -> Sight {
  var sight = Sight()
  for book in try context.fetch(Book.all.sorted { $0.title }) {
    sight.yearsOfBirth += Int(book.author?.born ?? 0)
    for tag in book.tags { sight.letters += tag.name.count }
  }
  return sight
}

@main
struct Walk {
  static func main() async throws {
    let shop = Shop(in: FileManager.default.temporaryDirectory)
    defer { try? FileManager.default.removeItem(at: shop.folder) }
    try await shop.fill(books: 20_000)
    let container = try await shop.open()
    let begin = ContinuousClock.now
    let sight = try await container.performBackgroundTask { try walk($0) }
    print("\(sight.yearsOfBirth) years and \(sight.letters) letters in \(ContinuousClock.now - begin)")
    try container.close()
  }
}

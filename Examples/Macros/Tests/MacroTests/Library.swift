// Library: a model written as Swift classes.
import CipherData
import Foundation

/// Where a book stands with its reader.
enum Progress: Int16, Sendable, Codable {
  case unread, reading, finished
}

@Entity(.abstract, .unique("title", "released")) class Item: ManagedObject {
  @Attribute(.length(1...80), .indexed) var title: String
  @Attribute var released: Date?
  @Attribute(.range(0...)) var price: Decimal = 0
}

@Entity final class Book: Item {
  @Attribute(.unique, .matching("[0-9]{13}")) var isbn: String?
  @Attribute(.range(0...)) var pages: Int32 = 0
  @Attribute var progress: Progress = .unread
  @Attribute var keywords: [String] = []
  @Attribute(.externalStorage) var scan: Data?
  @Attribute(.derived("canonical:(title)")) private(set) var titleKey: String?
  @Relationship(inverse: \Author.books) var author: Author?
  @Relationship(deleteRule: .cascade, inverse: \Chapter.book) var chapters: [Chapter]
}

@Entity(.note("colour", "blue")) final class Author: ManagedObject {
  @Attribute(.unique, .renamed(from: "label")) var name: String
  @Attribute var born: Int?
  @Relationship(deleteRule: .deny) var books: Set<Book>
}

/// Where a shelf stands.
public struct Place: Codable, Hashable, Sendable {
  /// The room.
  public var room: String
  /// The row, from the door.
  public var row: Int
}

/// A shelf.
@Entity public class Shelf: ManagedObject {
  /// A keyword for a name.
  @Attribute public var `default`: Int = 7
  /// Kept in memory only.
  @Attribute(.transient) public var scratch: String?
  /// Where it stands.
  @Attribute public var place: Place?
  /// No property of the entity.
  public var note = ""
}

@Entity(name: "Section") final class Chapter: ManagedObject {
  @Attribute var heading: String
  @Relationship(.required) var book: Book?
}

import CipherData
import Foundation

/// A reader's progress with a book.
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

@Entity(.userInfo("colour", "blue")) final class Author: ManagedObject {
  @Attribute(.unique, .renamed(from: "label")) var name: String
  @Attribute var born: Int?
  @Relationship(deleteRule: .deny) var books: Set<Book>
}

/// The place of a shelf.
public struct Place: Codable, Hashable, Sendable {
  /// The room.
  public var room: String
  /// The row, counted from the door.
  public var row: Int
}

/// A shelf.
@Entity public class Shelf: ManagedObject {
  /// A property whose name is a keyword.
  @Attribute public var `default`: Int = 7
  /// Kept in memory only.
  @Attribute(.transient) public var scratch: String?
  /// The place of the shelf.
  @Attribute public var place: Place?
  /// A property that the entity does not have.
  public var note = ""
}

@Entity(name: "Section") final class Chapter: ManagedObject {
  @Attribute var heading: String
  @Relationship(.required) var book: Book?
}

// The bookshop's records as in GRDB's documentation: structs, `Codable`, associations.
import Foundation
import GRDB

struct Author: Codable, FetchableRecord, MutablePersistableRecord {
  var id: Int64?
  var name: String
  var email: String
  var born: Int64

  mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
}

struct Tag: Codable, FetchableRecord, MutablePersistableRecord {
  var id: Int64?
  var name: String

  mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
}

struct Book: Codable, FetchableRecord, MutablePersistableRecord {
  static let author = belongsTo(Author.self)
  static let bookTags = hasMany(BookTag.self)
  static let tags = hasMany(Tag.self, through: bookTags, using: BookTag.tag)

  // Dates as numbers, as on the other sides; GRDB's default is text.
  static func databaseDateEncodingStrategy(for column: String) -> DatabaseDateEncodingStrategy { .timeIntervalSinceReferenceDate }
  static func databaseDateDecodingStrategy(for column: String) -> DatabaseDateDecodingStrategy { .timeIntervalSinceReferenceDate }

  var id: Int64?
  var title: String
  var isbn: String
  var price: Double
  var published: Date
  var pages: Int64
  var authorId: Int64

  mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
}

struct BookTag: Codable, FetchableRecord, PersistableRecord {
  static let book = belongsTo(Book.self)
  static let tag = belongsTo(Tag.self)

  var bookId: Int64
  var tagId: Int64
}

/// A book with its tags, from one request.
struct BookInfo: Codable, FetchableRecord {
  var book: Book
  var tags: [Tag]
}

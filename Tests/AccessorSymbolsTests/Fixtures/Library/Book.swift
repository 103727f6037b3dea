// A model class with every kind of attribute and relationship.
// swift-format-ignore-file
import Basis
import CoreData
import Foundation

public class Book: NSManagedObject {
  enum State: Int16 { case new, read }
  struct Page { struct Line { enum Side { case left } } }
  typealias Pages = [Page]

  @NSManaged public var title: String
  @NSManaged public var subtitle: String?
  @NSManaged public var book: Book
  @NSManaged public var bookBook: Book?
  @NSManaged public var libraryBook: Set<Book>?
  @NSManaged public var pageCount: Int16, wordCount: Int32, letterCount: Int64
  @NSManaged public var a, b: Double
  @NSManaged public var price: NSDecimalNumber?
  @NSManaged public var rating: Float
  @NSManaged public var isRead: Bool
  @NSManaged public var published: Date?
  @NSManaged public var cover: Data?
  @NSManaged public var identifier: UUID
  @NSManaged public var link: URL?
  @NSManaged public var cost: Decimal
  @NSManaged public var number: NSNumber?
  @NSManaged public var tags: [String]?
  @NSManaged public var counts: [String: Int]
  @NSManaged public var same: [String: String]
  @NSManaged public var twice: [[String]: [String]]
  @NSManaged public var nested: [String: [String: Set<String>]]?
  @NSManaged public var dates: [Date: Set<Date>]
  @NSManaged public var authors: NSSet?
  @NSManaged public var chapters: NSOrderedSet?
  @NSManaged var state: State
  @NSManaged var states: [State]
  @NSManaged var oldState: Book.State?
  @NSManaged var page: Page?
  @NSManaged var pages: Pages
  @NSManaged var line: Page.Line
  @NSManaged var side: Book.Page.Line.Side?
  @NSManaged public var attributes: [String: Any]?
  @NSManaged public var anything: Any?
  @NSManaged public var object: AnyObject?
  @NSManaged public var delegate: NSCoding?
  @NSManaged public var other: (any NSSecureCoding)?
  @NSManaged public var forced: String!
  @NSManaged public var forcedBook: Book!
  @NSManaged public var weight: Weight?
  @NSManaged public var weights: Weights
  @NSManaged public var stamp: Basis.Stamp
  @NSManaged public var pair: Pair<String, Pair<Int, Book>>
  @NSManaged public var casing: String.Casing
  @NSManaged var shadowed: Shadowed
  @NSManaged public var foundation: Foundation.Date
  @NSManaged public var interval: TimeInterval
  @NSManaged public var range: Range<Int>
  @NSManaged public var optional: Optional<Array<Optional<Int>>>
  @NSManaged public var double: String??
  @NSManaged public var `class`: String?
  @NSManaged public var `default`: Bool
  @NSManaged public var _underscored_name: Int
  @NSManaged public var URLString: String
  @NSManaged public var aURLOfTheBookURL: URL
  @NSManaged public var x1y2Title3: Int
  @NSManaged public var größe: Int
  @NSManaged public var 名前: String?
  @NSManaged public var naïveTitleOfBook: [Book: Book]
  @NSManaged public var parent: NSManagedObject?
  @NSManaged public var context: NSManagedObjectContext?
  @NSManaged public internal(set) var guarded: Int
  @NSManaged public private(set) var seen: Set<Book.Genre>
  @NSManaged private var secret: String?
  @NSManaged fileprivate var secretBook: Book?
  @NSManaged private var secretAgain: [Book]?
  @NSManaged final var last: Int
  @NSManaged dynamic var moving: Int
  @nonobjc @NSManaged public var bare: Int

  func useSecrets() {
    (secret, secretBook, secretAgain) = (nil, nil, secretAgain)
    if secret == nil, secretBook == nil { seen = [] }
  }

  public enum Genre: Hashable { case novel }
}

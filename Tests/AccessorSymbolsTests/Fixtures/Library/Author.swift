// Classes that are nested, inherit, and are declared in several extensions.
// swift-format-ignore-file
import Basis
import CoreData
import Foundation

struct Shadowed {}
enum Library {}
public typealias Text = String
public typealias Identifier = UUID

open class Author: BasisObject {
  @NSManaged public var name: Text?
  @NSManaged public var ids: [Identifier]
  /// Declared in the class above.
  @NSManaged public var grade: Level
  @NSManaged open var books: Set<Book>
  @NSManaged public var bookStates: [Nested.Kind: Nested]?

  public class Nested: NSManagedObject {
    public enum Kind { case one }
    @NSManaged var kind: Kind
    @NSManaged var author: Author?
    @NSManaged var nestedNested: Nested?
    class Deeper: Nested {
      @NSManaged var deep: Kind
      @NSManaged var level: Author.Level
    }
  }
}

extension Author.Nested {
  enum Late { case x }
  @NSManaged var late: Late?
}

extension Author.Nested.Deeper { @NSManaged var lateDeep: Author.Nested.Late }

/// A class of another module.
extension BasisObject {
  enum Own: Int { case x }
  @NSManaged var ofLibrary: String?
  @NSManaged var own: Own
  @NSManaged func addToBooks(_ book: Book)
  @NSManaged private var privately: Int
  func usePrivately() { privately += 1 }
}
extension Basis.Stamp { enum Late { case y } }
extension NSManagedObject {
  @NSManaged var everywhere: Basis.Stamp.Late
}

extension Date { enum Zone { case here } }

final class Chapter: Author {
  @NSManaged var zone: Date.Zone?
  @NSManaged var owned: BasisObject.Own
  @NSManaged override var level: Level
  #if os(Linux)
    @NSManaged var onLinux: String
  #elseif os(iOS)
    @NSManaged var onLinux: NotThere
  #else
    @NSManaged var elsewhere: NotThere
  #endif
  #if canImport(UIKit) && !os(watchOS)
    @NSManaged var image: UIImage?
  #endif
  #if UNKNOWN_FLAG
    @NSManaged var flagged: Int
  #else
    @NSManaged var unflagged: Picture
  #endif
}

#if canImport(UIKit)
  typealias Picture = UIImage
#else
  typealias Picture = Data
#endif

// Classes whose properties a program reads and writes in every way that Swift offers.
// swift-format-ignore-file
import CoreData
import Foundation

protocol Titled { var title: String { get set } }

public class Shelf: NSManagedObject, Titled {
  enum Kind { case open, closed }
  @NSManaged public var title: String
  @NSManaged public private(set) var count: Int
  @NSManaged var kind: Kind
  @NSManaged private var secret: [String]?
  @NSManaged final var numbers: Set<Int>?
  #if NOT_SET
  @NSManaged var absent: Nowhere
  #else
  @NSManaged var present: Int
  #endif
  func increment() { count += 1; secret = (secret ?? []) + ["\(count)"] }
  func begin() { count = 0; secret = nil }
  var revealed: [String]? { secret }
}

extension Shelf {
  @NSManaged func addToBooks(_ values: NSSet)
  @NSManaged func removeFromBooks(_ value: Shelf)
  @NSManaged func insertIntoBooks(_ value: Shelf, at idx: Int)
  @NSManaged fileprivate func removeFromBooks(at idx: Int)
  @NSManaged func replaceBooks(at idx: Int, with value: Shelf)
  func removeFirst() { removeFromBooks(at: 0) }
}

extension Shelf {
  #if canImport(ObjectiveC) || MANAGED_IN_SOURCE
  @NSManaged public private(set) var weight: Int
  @NSManaged func addToWeights(_ value: Shelf)
  @NSManaged func replaceWeights(at idx: Int, with value: Shelf)
  #endif
  func lighten() { weight = 1 }
  func weigh() { weight += 2; addToWeights(self); replaceWeights(at: 3, with: self) }
}

final class Case: Shelf {
  @NSManaged var shelves: [Shelf]
  override var title: String { get { "case " + super.title } set { super.title = newValue.uppercased() } }
}

enum Furniture { class Chair: Shelf {} }
private class Hidden: Shelf {}
class Generic<T>: NSManagedObject {}
class Unmanaged2: NSObject {}

func rename(_ titled: inout some Titled) { titled.title += "!" }

@main struct Program {
  static func main() {
    print(EntityClassRegistry.entered)
    let names = EntityClassRegistry.keyPaths.names
    print(names[\Shelf.title] ?? "-", names[\Case.kind] ?? "-", names[\Furniture.Chair?.?.count] ?? "-", names[\Shelf.revealed] ?? "-")
    let order: NSSortDescriptor = NSSortDescriptor(), condition: NSPredicate = NSPredicate()
    print(type(of: order), type(of: condition), Foundation.NSPredicate.self == NSPredicate.self)
    var shelf = Shelf()
    shelf.title = "A"
    rename(&shelf)
    shelf.title.append("?")
    shelf[keyPath: \.title] += "."
    let box = Case()
    box.title = "b"
    box.shelves = [shelf]
    box.shelves.append(box)
    box.numbers = [1]
    box.numbers?.insert(2)
    box.kind = .closed
    shelf.present = 3
    shelf.begin()
    shelf.increment()
    shelf.increment()
    print(shelf.title, box.title, box.shelves.count, (box.numbers ?? []).sorted(), box.kind, shelf.present, shelf.count, shelf.revealed ?? [])
    shelf.addToBooks(NSSet())
    shelf.removeFromBooks(box)
    shelf.insertIntoBooks(box, at: 2)
    shelf.removeFirst()
    shelf.replaceBooks(at: 1, with: box)
    shelf.lighten()
    shelf.weigh()
    print(shelf.weight, names[\Shelf.weight] ?? "-")
  }
}

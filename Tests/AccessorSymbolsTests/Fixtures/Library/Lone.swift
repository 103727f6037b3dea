// A file with private types, which its public declarations do not name.
// swift-format-ignore-file
import CoreData

private enum Kind { case of }
fileprivate typealias Alias = Int

class Lone: NSManagedObject {
  @NSManaged private(set) var count: Alias2
  @NSManaged fileprivate var lone: Lone?
  fileprivate typealias Private = Int
  func use() { count = 1; lone = lone }
}
typealias Alias2 = Swift.Int

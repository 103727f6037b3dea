import Foundation
import ObjectContext

extension NSManagedObject {
  /// Returns the value of a property in Core Data's type.
  ///
  /// The members of an ordered relationship are a set that modifies the relationship. Those of other relationships are a plain `NSSet`:
  /// casting a subclass to `Set` returns an empty set on Linux.
  final func applicationValue(_ value: Any?, of key: String) -> Any? {
    switch value {
    case is Set<ManagedObject>: ManagedValue.shown(value)
    // The results of a fetched property remain an array.
    case let members as [ManagedObject]: isToMany(key) ? RelationshipOrderedSet(self, key, members) : members
    default: value
    }
  }

  /// Returns whether a name is not that of a relationship.
  final func isAttribute(_ key: String) -> Bool {
    switch compiledEntity.property(named: key) {
    case .toOne, .toMany: false
    default: true
    }
  }

  private func isToMany(_ key: String) -> Bool {
    if case .toMany = compiledEntity.property(named: key) { true } else { false }
  }

  /// Returns the members of a to-many relationship.
  fileprivate final func members(_ key: String) -> NSSet { value(forKey: key) as? NSSet ?? NSSet() }
}

/// A live set of the members of a to-many relationship. Changes of the set modify the relationship.
final class RelationshipSet: NSMutableSet {
  private let owner: NSManagedObject?
  private let key: String

  init(_ owner: NSManagedObject, _ key: String) {
    (self.owner, self.key) = (owner, key)
    super.init(capacity: 0)
  }

  required init(capacity numItems: Int) {
    (owner, key) = (nil, "")
    super.init(capacity: numItems)
  }
  required init?(coder: NSCoder) { nil }

  private var members: NSSet { owner?.members(key) ?? NSSet() }

  override var count: Int { members.count }
  override func member(_ object: Any) -> Any? { members.member(object) }
  override func objectEnumerator() -> NSEnumerator { members.objectEnumerator() }
  override func add(_ object: Any) { owner?.managedAdd(object, to: key) }
  override func remove(_ object: Any) { owner?.managedRemove(object, from: key) }
  override func copy(with zone: NSZone? = nil) -> Any { members.copy() }
  override func mutableCopy(with zone: NSZone? = nil) -> Any { members.mutableCopy() }
}

/// The members of an ordered relationship in their order when the set was created. Changes of the set modify the relationship.
final class RelationshipOrderedSet: NSMutableOrderedSet {
  // Foundation reads the inherited storage, so it contains the members too.
  private var owner: NSManagedObject?
  private var key = ""

  init(_ owner: NSManagedObject, _ key: String, _ members: [ManagedObject]) {
    super.init(capacity: 0)
    for member in members { super.insert(member, at: super.count) }
    (self.owner, self.key) = (owner, key)
  }

  // Foundation uses these initializers for copies, which are plain sets.
  override init(capacity numItems: Int) { super.init(capacity: numItems) }
  required init?(coder: NSCoder) { nil }
  required convenience init(arrayLiteral elements: Any...) {
    self.init(capacity: elements.count)
    for element in elements { add(element) }
  }

  override func add(_ object: Any) { if !contains(object) { insert(object, at: count) } }
  override func remove(_ object: Any) {
    let index = index(of: object)
    if index != NSNotFound { removeObject(at: index) }
  }
  override func insert(_ object: Any, at index: Int) {
    owner?.managedInsert(object, into: key, at: index)
    // If the index is invalid, an error was recorded in the context.
    if (0...count).contains(index) { super.insert(object, at: index) }
  }
  override func removeObject(at index: Int) {
    owner?.managedRemove(at: index, from: key)
    if (0..<count).contains(index) { super.removeObject(at: index) }
  }
  override func replaceObject(at index: Int, with object: Any) {
    owner?.managedReplace(at: index, in: key, with: object)
    if (0..<count).contains(index) { super.replaceObject(at: index, with: object) }
  }

  // Foundation's implementations change only the inherited storage.
  override func addObjects(from array: [Any]) { array.forEach(add) }
  override func insert(_ objects: [Any], at indexes: IndexSet) { changing { $0.insert(objects, at: indexes) } }
  override func setObject(_ object: Any, at index: Int) { index == count ? add(object) : replaceObject(at: index, with: object) }
  override func exchangeObject(at first: Int, withObjectAt second: Int) { changing { $0.exchangeObject(at: first, withObjectAt: second) } }
  override func moveObjects(at indexes: IndexSet, to index: Int) { changing { $0.moveObjects(at: indexes, to: index) } }
  override func replaceObjects(at indexes: IndexSet, with objects: [Any]) { changing { $0.replaceObjects(at: indexes, with: objects) } }
  override func removeObjects(in range: NSRange) { changing { $0.removeObjects(in: range) } }
  override func removeObjects(at indexes: IndexSet) { changing { $0.removeObjects(at: indexes) } }
  override func removeObjects(in array: [Any]) { array.forEach(remove) }
  override func removeAllObjects() { changing { $0.removeAllObjects() } }
  // Foundation's intersect(_:) does not return on Linux (Swift 6.3.1).
  override func intersect(_ other: NSOrderedSet) { array.filter { !other.contains($0) }.forEach(remove) }
  override func minus(_ other: NSOrderedSet) { other.array.forEach(remove) }
  override func union(_ other: NSOrderedSet) { other.array.forEach(add) }
  override func intersectSet(_ other: Set<AnyHashable>) { intersect(NSOrderedSet(array: other.map(\.base))) }
  override func minusSet(_ other: Set<AnyHashable>) { other.forEach { remove($0.base) } }
  override func unionSet(_ other: Set<AnyHashable>) { other.forEach { add($0.base) } }
  override func sort(comparator: (Any, Any) -> ComparisonResult) { changing { $0.sort(comparator: comparator) } }
  override func sort(options: NSSortOptions = [], usingComparator comparator: (Any, Any) -> ComparisonResult) {
    changing { $0.sort(options: options, usingComparator: comparator) }
  }

  /// Applies a change to a plain copy, then sets its members in the relationship and in this set.
  private func changing(_ change: (NSMutableOrderedSet) -> Void) {
    let changed = NSMutableOrderedSet(array: array)
    change(changed)
    owner?.setValue(NSOrderedSet(array: changed.array), forKey: key)
    while count > 0 { super.removeObject(at: count - 1) }
    for member in changed.array { super.insert(member, at: count) }
  }
}

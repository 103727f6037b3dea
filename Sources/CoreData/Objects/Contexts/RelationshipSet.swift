// RelationshipSet: the members of to-many relationships as Foundation's mutable sets, which change the relationship.
import Foundation
import ObjectContext

extension NSManagedObject {
  /// The members of a to-many relationship, as they are now.
  fileprivate final func members(_ key: String) -> [Any] {
    switch value(forKey: key) {
    case let set as NSSet: set.allObjects
    case let set as NSOrderedSet: set.array
    default: []
    }
  }
}

/// The members of a to-many relationship.
final class RelationshipSet: NSMutableSet {
  private let owner: NSManagedObject?
  private let key: String

  init(_ owner: NSManagedObject, _ key: String) {
    (self.owner, self.key) = (owner, key)
    super.init(capacity: 0)
  }

  // Foundation makes copies by these: a copy is a plain set.
  required init(capacity numItems: Int) {
    (owner, key) = (nil, "")
    super.init(capacity: numItems)
  }
  required init?(coder: NSCoder) { nil }
  required convenience init(objects: UnsafePointer<AnyObject>, count: Int) {
    self.init(capacity: count)
    for index in 0..<count { super.add(objects[index]) }
  }

  private var members: NSSet { owner.map { NSSet(array: $0.members(key)) } ?? NSSet() }

  override var count: Int { owner == nil ? super.count : members.count }
  override func member(_ object: Any) -> Any? { owner == nil ? super.member(object) : members.member(object) }
  override func objectEnumerator() -> NSEnumerator { owner == nil ? super.objectEnumerator() : members.objectEnumerator() }
  override func add(_ object: Any) { if let owner { owner._managedAdd(object, to: key) } else { super.add(object) } }
  override func remove(_ object: Any) { if let owner { owner._managedRemove(object, from: key) } else { super.remove(object) } }
}

/// The members of an ordered relationship, in their order as it was when the set was asked for. What is changed of it is changed of the relationship.
final class RelationshipOrderedSet: NSMutableOrderedSet {
  // Foundation reads a set's own storage, so that it has the members too.
  private var owner: NSManagedObject?
  private var key = ""

  init(_ owner: NSManagedObject, _ key: String) {
    super.init(capacity: 0)
    for member in owner.members(key) { super.insert(member, at: super.count) }
    (self.owner, self.key) = (owner, key)
  }

  // Foundation makes copies by these: a copy is a plain set.
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
    owner?._managedInsert(object, into: key, at: index)
    // Of a place that is not there the context was told.
    if (0...count).contains(index) { super.insert(object, at: index) }
  }
  override func removeObject(at index: Int) {
    owner?._managedRemove(at: index, from: key)
    if (0..<count).contains(index) { super.removeObject(at: index) }
  }
  override func replaceObject(at index: Int, with object: Any) {
    owner?._managedReplace(at: index, in: key, with: object)
    if (0..<count).contains(index) { super.replaceObject(at: index, with: object) }
  }
}

// MutableMembers: to-many relationships named by strings, changed member by member.
import ObjectModel

/// The members of a to-many relationship of one object, to be changed one by one. The inverse is kept in step.
///
/// ```swift
/// let books = try author.mutableSetValue(forKey: "books")
/// books.add(book)
/// print(books.count)
/// ```
///
/// Adding an object and taking one out reads no other members; counting, positions and contents read all of them. It is not `Sendable`, as its object is not.
public struct MutableMembers {
  private let object: ManagedObject
  private let index: Int
  /// Whether the relationship is ordered.
  public let isOrdered: Bool

  init(object: ManagedObject, relationship: CompiledRelationship) {
    self.object = object
    index = relationship.index
    isOrdered = relationship.isOrdered
  }

  /// The members, in their order if they have one.
  public var objects: [ManagedObject] { object._toManyArray(index, as: ManagedObject.self) }
  /// How many there are.
  public var count: Int { object._toManyCount(index) }
  /// Whether there are none.
  public var isEmpty: Bool { count == 0 }
  /// Whether an object is a member. Linear in the number of members.
  public func contains(_ member: ManagedObject) -> Bool { objects.contains(member) }

  /// Adds an object, at the end of ordered members; one that is a member already stays where it is.
  public func add(_ member: ManagedObject) { object._addToToMany(member, at: index) }
  /// Takes an object out; nothing happens when it is no member.
  public func remove(_ member: ManagedObject) { object._removeFromToMany(member, at: index) }
  /// Takes all out.
  public func removeAll() { object._setToMany([], at: index) }
  /// Puts an object at a position of ordered members, moving it there if it is one already; the number of members is the end. At a position that is not
  /// there nothing is changed, and ``ManagedObjectContext/pendingError`` tells.
  public func insert(_ member: ManagedObject, at position: Int) { object._insertIntoToMany(member, position: position, at: index) }
  /// Takes the member at a position out. Where there is none nothing is changed, and ``ManagedObjectContext/pendingError`` tells.
  public func remove(at position: Int) { object._removeFromToMany(position: position, at: index) }
  /// Puts an object in the place of the member at a position. Where there is none, or no order, nothing is changed, and
  /// ``ManagedObjectContext/pendingError`` tells.
  public func replace(at position: Int, with member: ManagedObject) {
    let members = objects
    let relationship = object.compiledEntity.toManyRelationships[index]
    guard object.hasPosition(position, upTo: isOrdered ? members.count - 1 : -1, relationship), members[position] !== member else { return }
    object._removeFromToMany(members[position], at: index)
    let before = members[..<position].count { $0 !== member }
    object._insertIntoToMany(member, position: before, at: index)
  }
}

extension ManagedObject {
  /// The members of an unordered to-many relationship, to be changed one by one.
  ///
  /// - Throws: ``KeyValueError`` when there is no such relationship.
  @_disfavoredOverload
  public final func mutableSetValue(forKey key: String) throws -> MutableMembers { try members(forKey: key, isOrdered: false) }

  /// The members of an ordered to-many relationship, to be changed one by one.
  ///
  /// - Throws: ``KeyValueError`` when there is no such relationship.
  @_disfavoredOverload
  public final func mutableOrderedSetValue(forKey key: String) throws -> MutableMembers { try members(forKey: key, isOrdered: true) }

  private func members(forKey key: String, isOrdered: Bool) throws -> MutableMembers {
    guard case .toMany(let relationship) = compiledEntity.property(named: key), relationship.isOrdered == isOrdered else {
      throw KeyValueError(unknown: key, of: compiledEntity, isRelationship: true)
    }
    return MutableMembers(object: self, relationship: relationship)
  }
}

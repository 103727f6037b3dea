import ObjectModel

/// A mutable view of the members of an object's to-many relationship. Changes update the inverse relationship.
///
/// ```swift
/// let books = try author.mutableSetValue(forKey: "books")
/// books.add(book)
/// print(books.count)
/// ```
///
/// Adding or removing an object does not load other members. Counting, positions, and `objects` load all of them. The view is not
/// `Sendable`, as its object is not.
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

  /// The members, in order if the relationship is ordered.
  public var objects: [ManagedObject] { object.toManyArray(index, as: ManagedObject.self) }
  /// The number of members.
  public var count: Int { object.toManyCount(index) }
  /// Whether the relationship has no members.
  public var isEmpty: Bool { count == 0 }
  /// Returns whether an object is a member.
  ///
  /// - Complexity: O(*n*) in the number of members.
  public func contains(_ member: ManagedObject) -> Bool { objects.contains(member) }

  /// Adds an object, at the end if the relationship is ordered. An object that is already a member keeps its position.
  public func add(_ member: ManagedObject) { object.addToToMany(member, at: index) }
  /// Removes an object. Does nothing if it is not a member.
  public func remove(_ member: ManagedObject) { object.removeFromToMany(member, at: index) }
  /// Removes all members.
  public func removeAll() { object.setToMany([], at: index) }
  /// Inserts an object at a position of an ordered relationship, or moves it there if it is already a member. The number of members is a
  /// valid position.
  ///
  /// If the position is invalid, nothing changes, and ``ManagedObjectContext/pendingError`` contains the error.
  public func insert(_ member: ManagedObject, at position: Int) { object.insertIntoToMany(member, position: position, at: index) }
  /// Removes the member at a position.
  ///
  /// If the position is invalid, nothing changes, and ``ManagedObjectContext/pendingError`` contains the error.
  public func remove(at position: Int) { object.removeFromToMany(position: position, at: index) }
  /// Replaces the member at a position of an ordered relationship.
  ///
  /// If the position is invalid or the relationship is unordered, nothing changes, and ``ManagedObjectContext/pendingError`` contains the
  /// error.
  public func replace(at position: Int, with member: ManagedObject) {
    let members = objects
    let relationship = object.compiledEntity.toManyRelationships[index]
    guard object.hasPosition(position, upTo: isOrdered ? members.count - 1 : -1, relationship), members[position] !== member else { return }
    object.removeFromToMany(members[position], at: index)
    let before = members[..<position].count { $0 !== member }
    object.insertIntoToMany(member, position: before, at: index)
  }
}

extension ManagedObject {
  /// Returns a mutable view of the members of an unordered to-many relationship.
  ///
  /// - Throws: ``KeyValueError`` if there is no such relationship.
  @_disfavoredOverload
  public final func mutableSetValue(forKey key: String) throws -> MutableMembers { try members(forKey: key, isOrdered: false) }

  /// Returns a mutable view of the members of an ordered to-many relationship.
  ///
  /// - Throws: ``KeyValueError`` if there is no such relationship.
  @_disfavoredOverload
  public final func mutableOrderedSetValue(forKey key: String) throws -> MutableMembers { try members(forKey: key, isOrdered: true) }

  private func members(forKey key: String, isOrdered: Bool) throws -> MutableMembers {
    guard case .toMany(let relationship) = compiledEntity.property(named: key), relationship.isOrdered == isOrdered else {
      throw KeyValueError(unknown: key, of: compiledEntity, isRelationship: true)
    }
    return MutableMembers(object: self, relationship: relationship)
  }
}

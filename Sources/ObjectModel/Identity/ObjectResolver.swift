/// Access to objects for evaluation in memory: the objects of a context, or the rows of a store.
public protocol ObjectResolver<Object> {
  /// An object or row.
  associatedtype Object: Hashable
  /// Returns the entity of an object.
  func entity(of object: Object) -> CompiledEntity
  /// Returns the ID of an object.
  func objectID(of object: Object) -> ManagedObjectID
  /// Returns the value of an attribute.
  ///
  /// - Throws: An error if the object cannot be read.
  func value(of object: Object, slot: Int) throws -> Slot
  /// Returns the destination of a to-one relationship; nil if there is none.
  ///
  /// - Throws: An error if the object cannot be read.
  func destination(of object: Object, slot: Int) throws -> Object?
  /// Returns the members of a to-many relationship, in order if the relationship is ordered.
  ///
  /// - Throws: An error if the object cannot be read.
  func members(of object: Object, toMany index: Int) throws -> [Object]
}

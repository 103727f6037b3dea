// ObjectResolver: how the in-memory evaluator reads objects, whoever keeps them.

/// Reads objects for evaluation in memory: a context's living objects, a store's rows.
public protocol ObjectResolver<Object> {
  /// An object or row.
  associatedtype Object: Hashable
  /// The entity of an object.
  func entity(of object: Object) -> CompiledEntity
  /// The ID of an object.
  func objectID(of object: Object) -> ManagedObjectID
  /// The value of an attribute's slot.
  ///
  /// - Throws: An error where the object cannot be read.
  func value(of object: Object, slot: Int) throws -> Slot
  /// The object that a to-one relationship refers to; nil when there is none.
  ///
  /// - Throws: An error where the object cannot be read.
  func destination(of object: Object, slot: Int) throws -> Object?
  /// The members of a to-many relationship, in its order if it has one.
  ///
  /// - Throws: An error where the object cannot be read.
  func members(of object: Object, toMany index: Int) throws -> [Object]
}

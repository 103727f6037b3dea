public import ObjectModel

/// A change in a store, reported to a ``TransactionObserver`` while the transaction runs.
///
/// Every write reports its changes in the same way: saves, batch requests, the delete rules and derived attributes that they trigger,
/// imports, and migrations. A change is valid outside the transaction, but it describes uncommitted data until the transaction ends.
public enum RowChange: Sendable {
  /// An object was inserted.
  case insert(ChangedRow)
  /// Attributes or to-one relationships of an object were changed. New values of derived attributes that depend on other objects follow at the
  /// end of the request, as a separate update (``ChangedRow/isDerived``).
  case update(ChangedRow)
  /// An object was deleted.
  case delete(ChangedRow)
  /// Members of a to-many relationship without a to-one inverse were added or removed, by a change of the relationship or by the deletion
  /// of an object at one of its ends. Reported once for a relationship and its inverse, for the one that comes first in the model: entities
  /// and their properties are sorted by name. If a relationship is its own inverse, for the object that comes first by entity and key. Only
  /// links that the store really added or removed are reported, so adding a link again reports nothing. A relationship with a to-one inverse
  /// changes by updates of its members.
  case links(ChangedLinks)
  /// Members of an ordered relationship were moved or added. Removed members are not a change of the order. Batch requests that add members
  /// report no order.
  case order(ChangedOrder)
  /// A migration, or the opening of a store, changed all objects of an entity. Objects keep their IDs. Custom stages report the objects that
  /// they change one by one, after the changes of the stage that follow from the models.
  ///
  /// Renamed entities and properties, and new properties without values, are not reported.
  case schema(SchemaChange)
  /// Any object of the store may have been changed: a migration replaced all objects, or it was made by a store of the application.
  case unspecified
}

/// An inserted, updated, or deleted object in a ``RowChange``.
public struct ChangedRow: Sendable {
  package let reference: ObjectReference
  /// The row before the change and after it, as far as consumers asked for them.
  package let old: RowImage?
  package let new: RowImage?
  /// The changed slots of an update.
  package let slots: SlotMask
  /// Whether only attributes that the store computes were changed: derived attributes, at the end of the request.
  public let isDerived: Bool
  private let space: ObjectIDSpace

  /// Creates the change of a row.
  package init(
    _ reference: ObjectReference, old: RowImage? = nil, new: RowImage? = nil, slots: SlotMask = SlotMask(), isDerived: Bool = false,
    in space: ObjectIDSpace
  ) {
    self.reference = reference
    self.old = old
    self.new = new
    self.slots = slots
    self.isDerived = isDerived
    self.space = space
  }

  /// Returns the change without the rows that a consumer did not ask for.
  func limited(toOld includesOld: Bool, new includesNew: Bool) -> ChangedRow {
    ChangedRow(
      reference, old: includesOld ? old : nil, new: includesNew ? new : nil, slots: slots, isDerived: isDerived, in: space)
  }

  private var entity: CompiledEntity { space.model.entities[reference.entity] }

  /// The ID of the object.
  public var objectID: ManagedObjectID { space.objectID(of: reference) }
  /// The name of the object's entity.
  public var entityName: String { entity.name }

  /// The names of the changed attributes and to-one relationships of an update, in the order of the model. Empty for inserted and deleted
  /// objects.
  public var changedProperties: [String] {
    let entity = entity
    return slots.slots(below: entity.slots.count).map { entity.slots[$0].name }
  }

  /// The values before the change, of an update or a deletion. Nil unless the observer asked for them
  /// (``TransactionObserverOptions/includesOldValues``).
  public var oldValues: RowValues? { old.map { RowValues($0, of: entity, space) } }
  /// The values after the change, of an insertion or an update. Nil unless the observer asked for them
  /// (``TransactionObserverOptions/includesNewValues``). They include derived attributes that depend on the object alone. Other derived
  /// attributes are computed at the end of the request.
  public var newValues: RowValues? { new.map { RowValues($0, of: entity, space) } }
}

/// The attributes and to-one relationships of an object in a ``ChangedRow``.
public struct RowValues: Sendable {
  private let row: RowImage
  private let entity: CompiledEntity
  private let space: ObjectIDSpace

  init(_ row: RowImage, of entity: CompiledEntity, _ space: ObjectIDSpace) { (self.row, self.entity, self.space) = (row, entity, space) }

  /// The names of the properties, in the order of the model.
  public var names: [String] { entity.slots.map(\.name) }

  /// The value of an attribute, or the ID of a to-one relationship's destination. Nil if it is null, cannot be read, or is not an attribute
  /// or to-one relationship of the entity. Integers and `Float` values are `NSNumber`s, which `as?` casts to every numeric type that can
  /// hold them; ``value(_:as:)`` returns the attribute's type. The bytes of a large value are read on each access.
  public subscript(name: String) -> (any Sendable)? {
    (try? value(named: name)).flatMap { found in found.flatMap { try? $0.value.untyped($0.attribute) } }
  }

  /// Returns the value of an attribute, or the ID of a to-one relationship's destination. Nil if it is null.
  ///
  /// - Throws: ``StoreError`` if the value cannot be read, or if the entity has no property of the name; ``AttributeTransformError`` if the
  ///   value is of another type.
  public func value<Value>(_ name: String, as type: Value.Type = Value.self) throws -> Value? {
    try value(named: name).flatMap { try $0.value.typed($0.attribute, as: type) }
  }

  private func value(named name: String) throws -> (value: RecordedValues.Value, attribute: AttributeDescription?)? {
    switch entity.property(named: name) {
    case .attribute(let slot):
      guard let attribute = slot.attribute else { return nil }
      return (.attribute(try row.value(slot.index, of: entity, space.objectID(of: row.reference))), attribute)
    case .toOne(let relationship):
      return (.object(row.isNull(relationship.index) ? nil : space.objectID(of: row.reference(relationship.index))), nil)
    case .toMany, .composite, .fetched: return nil
    case nil: throw StoreError(.unknownProperty(name, of: entity.name, known: names), operation: .observe)
    }
  }
}

/// Added and removed members of a to-many relationship in a ``RowChange``.
public struct ChangedLinks: Sendable {
  package let relationship: CompiledRelationship
  package let source: ObjectReference
  package let addedMembers: [ObjectReference]
  package let removedMembers: [ObjectReference]
  private let space: ObjectIDSpace

  package init(
    _ relationship: CompiledRelationship, of source: ObjectReference, added: [ObjectReference] = [], removed: [ObjectReference] = [],
    in space: ObjectIDSpace
  ) {
    self.relationship = relationship
    self.source = source
    addedMembers = added
    removedMembers = removed
    self.space = space
  }

  /// The object at the source of the relationship.
  public var objectID: ManagedObjectID { space.objectID(of: source) }
  /// The name of the relationship.
  public var relationshipName: String { relationship.name }
  /// The added members.
  public var added: [ManagedObjectID] { addedMembers.map(space.objectID) }
  /// The removed members.
  public var removed: [ManagedObjectID] { removedMembers.map(space.objectID) }
}

/// A new order of the members of an ordered relationship in a ``RowChange``.
public struct ChangedOrder: Sendable {
  package let relationship: CompiledRelationship
  package let source: ObjectReference
  package let order: [ObjectReference]
  /// The members that were moved or added, relative to their neighbors.
  package let change: OrderChange
  private let space: ObjectIDSpace

  package init(
    _ relationship: CompiledRelationship, of source: ObjectReference, order: [ObjectReference], _ change: OrderChange,
    in space: ObjectIDSpace
  ) {
    self.relationship = relationship
    self.source = source
    self.order = order
    self.change = change
    self.space = space
  }

  /// The object at the source of the relationship.
  public var objectID: ManagedObjectID { space.objectID(of: source) }
  /// The name of the relationship.
  public var relationshipName: String { relationship.name }
  /// All members in their new order.
  public var members: [ManagedObjectID] { order.map(space.objectID) }
}

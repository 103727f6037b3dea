public import ObjectModel

/// The changes that a transaction made to one object.
///
/// A change of a relationship is recorded once. For a to-one relationship, and for a to-many relationship with a to-one inverse, it is the
/// changed to-one relationship of the object that has it. For other to-many relationships, ``links`` of an object contains it, for
/// whichever of the relationship and its inverse comes first in the model. Links that are removed with a deleted object are not recorded.
public struct PersistentHistoryChange: Sendable, Hashable, Identifiable {
  /// The kind of a change.
  public enum ChangeType: String, Sendable, Hashable, Codable, CaseIterable {
    /// The object was inserted.
    case insert
    /// Properties or relationship members were changed.
    case update
    /// The object was deleted.
    case delete
  }

  /// The position of a change in the history of its store.
  public struct ID: Sendable, Hashable, Codable {
    /// The number of the transaction.
    public let transactionNumber: Int64
    /// The zero-based index of the change in the transaction.
    public let index: Int

    package init(transactionNumber: Int64, index: Int) { (self.transactionNumber, self.index) = (transactionNumber, index) }
  }

  /// A member added to or removed from a to-many relationship.
  public struct Link: Sendable, Hashable {
    /// The name of the relationship.
    public let relationship: String
    /// The member.
    public let destination: ManagedObjectID
    /// Whether the member was added. If false, it was removed.
    public let isAdded: Bool

    package init(relationship: String, destination: ManagedObjectID, isAdded: Bool) {
      (self.relationship, self.destination, self.isAdded) = (relationship, destination, isAdded)
    }
  }

  /// The position of the change.
  public let id: ID
  /// The ID of the changed object.
  public let changedObjectID: ManagedObjectID
  /// The kind of the change.
  public let changeType: ChangeType
  /// The names of the changed properties, sorted. Empty for inserted and deleted objects.
  ///
  /// Names are those of the current model, even if a property had another name at the time. Properties that the model no longer has are
  /// listed with their last name.
  public internal(set) var updatedProperties: [String]
  /// The changed properties that the store computes.
  public internal(set) var derivedProperties: [String] = []
  /// The added and removed relationship members.
  public internal(set) var links: [Link] = []
  /// The members, in their new order, of the relationships that were reordered. The members are nil if the history does not record values.
  public internal(set) var orders: [String: [ManagedObjectID]?] = [:]
  /// The preserved values of a deleted object. Nil for other objects, and if no values are preserved.
  public internal(set) var tombstone: Values?
  /// The previous values of changed properties, or all values of a deleted object. Nil if the history does not record values.
  public internal(set) var oldValues: Values?
  /// The new values of changed properties, or all values of an inserted object. Nil if the history does not record values.
  public internal(set) var newValues: Values?

  /// The position of the change, the same as ``id``.
  public var changeID: ID { id }

  package init(id: ID, objectID: ManagedObjectID, type: ChangeType, updatedProperties: [String] = []) {
    self.id = id
    changedObjectID = objectID
    changeType = type
    self.updatedProperties = updatedProperties
  }
}

extension PersistentHistoryChange {
  /// Recorded values, by property name.
  public struct Values: Sendable, Hashable {
    /// A value.
    package enum Value: Sendable, Hashable {
      /// The stored value of an attribute.
      case attribute(Slot)
      /// The destination of a to-one relationship, or nil if there is none.
      case object(ManagedObjectID?)
      /// An external value, of which only the size in bytes and the SHA-256 digest are recorded.
      case large(size: Int64, digest: [UInt8])
    }

    /// The values by name. Null values are null ``Slot`` values in updates, and omitted for inserted and deleted objects.
    package internal(set) var values: [String: Value]
    private let entity: CompiledEntity

    package init(_ values: [String: Value], of entity: CompiledEntity) {
      self.values = values
      self.entity = entity
    }

    /// The names of the properties, sorted.
    public var names: [String] { values.keys.sorted() }

    /// The value of a property, as a value of the attribute's type or an object ID. Nil if it is null or not recorded.
    public subscript(name: String) -> (any Sendable)? {
      switch values[name] {
      case .attribute(let slot):
        guard case .attribute(let known)? = entity.property(named: name), let attribute = known.attribute else {
          return slot.untypedValue.map(AttributeConversion.untyped)
        }
        return (try? AttributeConversion.untypedValue(of: slot, attribute)) ?? slot.untypedValue.map(AttributeConversion.untyped)
      case .object(let id): return id
      case .large, nil: return nil
      }
    }

    /// Returns the value of a property as the given type, or nil if it is null or not recorded.
    ///
    /// - Throws: ``AttributeTransformError`` if the value is of another type.
    public func value<Value>(_ name: String, as type: Value.Type = Value.self) throws(AttributeTransformError) -> Value? {
      switch values[name] {
      case .attribute(let slot):
        guard case .attribute(let known)? = entity.property(named: name), let attribute = known.attribute else {
          if let value = slot.untypedValue as? Value { return value }
          if slot.isNull { return nil }
          throw .wrongType("\(Value.self)")
        }
        return try AttributeConversion.value(of: slot, attribute, as: type)
      case .object(let id):
        guard let id else { return nil }
        guard let value = id as? Value else { throw .wrongType("\(Value.self)") }
        return value
      case .large, nil: return nil
      }
    }

    /// Returns the size in bytes and the SHA-256 digest of an external value, or nil for other values.
    public func largeValue(_ name: String) -> (size: Int64, digest: [UInt8])? {
      guard case .large(let size, let digest) = values[name] else { return nil }
      return (size, digest)
    }

    /// Returns whether two instances have the same values for the same names.
    public static func == (one: Values, other: Values) -> Bool { one.values == other.values }

    /// Hashes the values.
    public func hash(into hasher: inout Hasher) { hasher.combine(values) }
  }
}

// PersistentHistoryChange: what a transaction has done to one object.
public import ObjectModel

/// What a transaction has done to one object.
///
/// Members of relationships are told once: of a to-one, and of a to-many whose inverse is to-one, as the changed to-one of the object that has it; of other
/// to-many relationships as ``links`` of the object under which the model's first of both relationships stands. Links of a deleted object go with it and are not told.
public struct PersistentHistoryChange: Sendable, Hashable, Identifiable {
  /// What was done.
  public enum ChangeType: String, Sendable, Hashable, Codable, CaseIterable {
    /// The object is new.
    case insert
    /// Properties or members were changed.
    case update
    /// The object is gone.
    case delete
  }

  /// The place of a change in the history of its store.
  public struct ID: Sendable, Hashable, Codable {
    /// The number of the transaction.
    public let transactionNumber: Int64
    /// Which change of the transaction it is, from 0.
    public let index: Int

    package init(transactionNumber: Int64, index: Int) { (self.transactionNumber, self.index) = (transactionNumber, index) }
  }

  /// A member of a to-many relationship that came or left.
  public struct Link: Sendable, Hashable {
    /// The relationship's name.
    public let relationship: String
    /// The member.
    public let destination: ManagedObjectID
    /// Whether it came; else it left.
    public let isAdded: Bool

    package init(relationship: String, destination: ManagedObjectID, isAdded: Bool) {
      (self.relationship, self.destination, self.isAdded) = (relationship, destination, isAdded)
    }
  }

  /// The place of the change.
  public let id: ID
  /// The object.
  public let changedObjectID: ManagedObjectID
  /// What was done.
  public let changeType: ChangeType
  /// The names of the properties that were changed, sorted; empty for new and deleted objects. They are the present model's, whatever they were called then; the
  /// last name of what the model has no more.
  public internal(set) var updatedProperties: [String]
  /// Those of them that the store computes.
  public internal(set) var derivedProperties: [String] = []
  /// The members that came and left.
  public internal(set) var links: [Link] = []
  /// The members of relationships that were given an order, in that order; nil where the history does not keep values.
  public internal(set) var orders: [String: [ManagedObjectID]?] = [:]
  /// What is known of a deleted object; nil for any other, and where nothing is kept.
  public internal(set) var tombstone: Values?
  /// The values of changed properties before the change, and all those of a deleted object; nil where the history does not keep values.
  public internal(set) var oldValues: Values?
  /// The values of changed properties after the change, and all those of a new object; nil where the history does not keep values.
  public internal(set) var newValues: Values?

  /// The place of the change: ``id``.
  public var changeID: ID { id }

  package init(id: ID, objectID: ManagedObjectID, type: ChangeType, updatedProperties: [String] = []) {
    self.id = id
    changedObjectID = objectID
    changeType = type
    self.updatedProperties = updatedProperties
  }
}

extension PersistentHistoryChange {
  /// Values as a history has kept them, by property.
  public struct Values: Sendable, Hashable {
    /// A value.
    package enum Value: Sendable, Hashable {
      /// An attribute's, as it is stored.
      case attribute(Slot)
      /// The destination of a to-one relationship; nil for none.
      case object(ManagedObjectID?)
      /// A large value outside the object's row, which the history does not keep: how many bytes it had, and their SHA-256.
      case large(size: Int64, digest: [UInt8])
    }

    /// The values by name; a missing value is a null ``Slot``, and of a new or deleted object it is left out.
    package internal(set) var values: [String: Value]
    private let entity: CompiledEntity

    package init(_ values: [String: Value], of entity: CompiledEntity) {
      self.values = values
      self.entity = entity
    }

    /// The names, sorted.
    public var names: [String] { values.keys.sorted() }

    /// The value of a property as a value of the attribute's type or as an object ID; nil where there is none, or it is not kept.
    public subscript(name: String) -> (any Sendable)? {
      switch values[name] {
      case .attribute(let slot):
        guard case .attribute(let known)? = entity.property(named: name), let attribute = known.attribute else {
          return slot.plainValue.map(AttributeConversion.untyped)
        }
        return (try? AttributeConversion.untypedValue(of: slot, attribute)) ?? slot.plainValue.map(AttributeConversion.untyped)
      case .object(let id): return id
      case .large, nil: return nil
      }
    }

    /// The value of an attribute as a type; nil where there is none, or it is not kept.
    ///
    /// - Throws: ``AttributeTransformError`` where the value is of another type.
    public func value<Value>(_ name: String, as type: Value.Type = Value.self) throws(AttributeTransformError) -> Value? {
      switch values[name] {
      case .attribute(let slot):
        guard case .attribute(let known)? = entity.property(named: name), let attribute = known.attribute else {
          if let value = slot.plainValue as? Value { return value }
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

    /// How many bytes a large value outside the object's row had, and their SHA-256; nil for any other value.
    public func largeValue(_ name: String) -> (size: Int64, digest: [UInt8])? {
      guard case .large(let size, let digest) = values[name] else { return nil }
      return (size, digest)
    }

    /// Whether two have the same values of the same names.
    public static func == (one: Values, other: Values) -> Bool { one.values == other.values }

    /// Hashes the values.
    public func hash(into hasher: inout Hasher) { hasher.combine(values) }
  }
}

extension Slot {
  /// The value without a type that an attribute would give it.
  fileprivate var plainValue: (any Sendable)? {
    switch self {
    case .null: nil
    case .int(let value): value
    case .real(let value): value
    case .text(let value): value
    case .bytes(let value): value
    }
  }
}

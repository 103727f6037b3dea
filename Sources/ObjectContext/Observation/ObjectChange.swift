public import ObjectModel
import ObjectStore

/// The changes that an event made to one object: properties with their old and new values.
///
/// ```swift
/// for await change in try book.changes() {
///   for property in change.properties { print(property.key, property.old ?? "nothing", "→", property.new ?? "nothing") }
/// }
/// ```
public struct ObjectChange: Sendable {
  /// A changed property with its values before and after the event.
  public struct Property: Sendable {
    /// The name of the property. An element of a composite has a dotted name such as `home.city`.
    public let key: String
    /// The value before the event; nil if there was none.
    ///
    /// The value of a to-one relationship is an ID, and that of a to-many relationship an array of IDs. The array is in the relationship's
    /// order, or sorted if the relationship is unordered.
    public let old: (any Sendable)?
    /// The value after the event, in the same form as `old`.
    public let new: (any Sendable)?
  }

  /// The ID of the object.
  public let objectID: ManagedObjectID
  /// The properties whose values differ, in the model's order. Empty if only the object's deletion, or its undeletion, is reported.
  public let properties: [Property]
  /// Whether the object is marked for deletion or has been deleted.
  public let isDeleted: Bool

  /// The names of the properties whose values differ.
  public var keys: [String] { properties.map(\.key) }
  /// The change of a property; nil if its value did not change.
  public subscript(key: String) -> Property? { properties.first { $0.key == key } }
}

extension ManagedObject {
  /// Returns the changes of the object from now on, with one element for each event that changes it.
  ///
  /// Changes by the application, merges, refreshes, rollbacks, and values computed by saves are reported. Setting an equal value is not a
  /// change. A deletion is reported as a change with ``ObjectChange/isDeleted`` set, and its undo as a change without it.
  ///
  /// The sequence ends when the object leaves its context through a saved deletion or `reset()`, or when the object or the context is
  /// deallocated. It does not retain them. If the object has no context, the sequence is empty.
  ///
  /// This method reads the current values, including members of to-many relationships. They are read again after each event that may have
  /// changed them.
  ///
  /// - Parameter keys: The names of the properties to observe; nil for all attributes and relationships. The name of a composite includes
  ///   all its elements.
  /// - Throws: ``KeyValueError`` for a name that is not an attribute or a relationship.
  public final func changes(of keys: [String]? = nil) throws(KeyValueError) -> AsyncStream<ObjectChange> {
    let properties = try observedProperties(keys)
    let (stream, continuation) = AsyncStream.makeStream(of: ObjectChange.self)
    let source = ObjectChangeSource(self, properties, continuation)
    // Without a context, the watch is released here, which ends the sequence.
    managedObjectContext?.objectObservation.add(source, of: self)
    return stream
  }
}

/// The source of one object's change sequence, with the values last reported.
final class ObjectChangeSource {
  enum Property {
    case attribute(CompiledSlot)
    case toOne(CompiledRelationship)
    case toMany(CompiledRelationship)

    fileprivate var name: String {
      switch self {
      case .attribute(let slot): slot.name
      case .toOne(let relationship), .toMany(let relationship): relationship.name
      }
    }
  }

  /// A value in comparable form.
  private enum Value: Equatable {
    case slot(Slot)
    case objects([ManagedObjectID])
  }

  private weak var object: ManagedObject?
  private let properties: [Property]
  private var values: [Value] = []
  private var wasDeleted: Bool
  private let continuation: AsyncStream<ObjectChange>.Continuation
  private(set) var isFinished = false

  init(_ object: ManagedObject, _ properties: [Property], _ continuation: AsyncStream<ObjectChange>.Continuation) {
    self.object = object
    self.properties = properties
    self.continuation = continuation
    wasDeleted = object.isDeleted
    values = properties.map { Self.value(of: $0, object) }
  }

  deinit { continuation.finish() }

  func finish() {
    isFinished = true
    continuation.finish()
  }

  /// Ends the sequence after the object has left its context.
  func end(isDeleted: Bool) {
    if isDeleted, !wasDeleted, let object { yield(ObjectChange(objectID: object.objectID, properties: [], isDeleted: true)) }
    finish()
  }

  /// Reports the changes of an event. Returns false if the sequence has ended.
  ///
  /// - Parameters:
  ///   - slots: The slots that may have changed; nil for any.
  ///   - toMany: The to-many relationships that may have changed; nil for any.
  func notify(_ slots: SlotMask?, _ toMany: SlotMask?) -> Bool {
    guard let object, !isFinished else { return false }
    let isDeleted = object.isDeleted
    var changed: [ObjectChange.Property] = []
    // An object marked for deletion keeps its values.
    if !isDeleted {
      for (position, property) in properties.enumerated() where Self.isAmong(property, slots, toMany) {
        let now = Self.value(of: property, object)
        if now == values[position] { continue }
        changed.append(ObjectChange.Property(key: property.name, old: reported(values[position], property), new: reported(now, property)))
        values[position] = now
      }
    }
    if changed.isEmpty, isDeleted == wasDeleted { return true }
    wasDeleted = isDeleted
    yield(ObjectChange(objectID: object.objectID, properties: changed, isDeleted: isDeleted))
    return !isFinished
  }

  /// Updates the IDs of inserted objects after a save has assigned permanent ones. This is not a change of the objects that refer to them.
  func updateIDs() {
    guard let object, !object.isDeleted else { return }
    for (position, property) in properties.enumerated() {
      guard case .objects(let ids) = values[position], ids.contains(where: \.isTemporaryID) else { continue }
      values[position] = Self.value(of: property, object)
    }
  }

  private func yield(_ change: ObjectChange) {
    if case .terminated = continuation.yield(change) { isFinished = true }
  }

  // MARK: Values

  private static func isAmong(_ property: Property, _ slots: SlotMask?, _ toMany: SlotMask?) -> Bool {
    switch property {
    case .attribute(let slot): slots?.contains(slot.index) ?? true
    case .toOne(let relationship): slots?.contains(relationship.index) ?? true
    case .toMany(let relationship): toMany?.contains(relationship.index) ?? true
    }
  }

  private static func value(of property: Property, _ object: ManagedObject) -> Value {
    switch property {
    case .attribute(let slot): return .slot(object.slotValue(slot.index))
    case .toOne(let relationship), .toMany(let relationship):
      // Cannot fail: the relationship belongs to the entity.
      let ids = (try? object.objectIDs(forRelationshipNamed: relationship.name)) ?? []
      return .objects(relationship.isOrdered ? ids : ids.sorted { ($0.entityNumber, $0.key) < ($1.entityNumber, $1.key) })
    }
  }

  /// Converts a value to its reported form; nil if there is none or it cannot be decoded.
  private func reported(_ value: Value, _ property: Property) -> (any Sendable)? {
    switch (value, property) {
    case (.slot(let slot), .attribute(let compiled)):
      compiled.attribute.flatMap { (try? AttributeConversion.untypedValue(of: slot, $0)) ?? nil }
    case (.objects(let ids), .toOne): ids.first
    case (.objects(let ids), _): ids
    case (.slot, _): nil
    }
  }
}

extension ManagedObject {
  /// Returns the observable properties with the given names, or all of them for nil.
  ///
  /// - Throws: ``KeyValueError`` for a name that is not an attribute or a relationship.
  final func observedProperties(_ keys: [String]?) throws(KeyValueError) -> [ObjectChangeSource.Property] {
    let entity = compiledEntity
    let selected = try keys.map { keys throws(KeyValueError) in
      var names: Set<String> = []
      for key in keys {
        switch entity.property(named: key) {
        case .attribute, .toOne, .toMany: names.insert(key)
        case .composite(let composite): for slot in composite.slots { names.insert(entity.slots[slot].name) }
        case .fetched, nil: throw KeyValueError(unknown: key, of: entity)
        }
      }
      return names
    }
    let slots = entity.slots.map { slot in slot.relationship.map { ObjectChangeSource.Property.toOne($0) } ?? .attribute(slot) }
    let all = slots + entity.toManyRelationships.map { .toMany($0) }
    return selected.map { selected in all.filter { selected.contains($0.name) } } ?? all
  }
}

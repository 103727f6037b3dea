public import ObjectModel

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

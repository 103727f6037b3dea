// ObjectChange: what an event has changed of one object, as a value that may go anywhere.
public import ObjectModel

/// What an event has changed of one object: the properties with their old and new values.
///
/// ```swift
/// for await change in try book.changes() {
///   for property in change.properties { print(property.key, property.old ?? "nothing", "→", property.new ?? "nothing") }
/// }
/// ```
public struct ObjectChange: Sendable {
  /// A property, with the value before the event and the one after it.
  public struct Property: Sendable {
    /// The property's name; a part of a composite is named as in `home.city`.
    public let key: String
    /// The value before; nil where there was none. Relationships are told as IDs: one, or an array in order, sorted where the relationship has no order.
    public let old: (any Sendable)?
    /// The value after it.
    public let new: (any Sendable)?
  }

  /// The object.
  public let objectID: ManagedObjectID
  /// The properties whose values differ, in the model's order. Empty where only the deletion is told, or taken back.
  public let properties: [Property]
  /// Whether the object is to be deleted, or was.
  public let isDeleted: Bool

  /// The names of the properties whose values differ.
  public var keys: [String] { properties.map(\.key) }
  /// A property by its name; nil where its value is what it was.
  public subscript(key: String) -> Property? { properties.first { $0.key == key } }
}

extension ManagedObject {
  /// The object's changes from now on, one element for each event that has changed something.
  ///
  /// All that events tell of counts: the application's changes, merges, refreshes, rollbacks, what saves have computed. A value that was set anew is no change. A
  /// deletion comes as a change with ``ObjectChange/isDeleted``, and as one without it where it is taken back. The sequence ends when the object leaves its
  /// context, by a saved deletion or `reset()`, and when the object or the context is gone: it keeps neither of them. Of an object in no context it is empty.
  ///
  /// The values are read when the sequence is made, members of to-many relationships too, and again after each event that may have changed them.
  ///
  /// - Parameter keys: The names of the properties that are of interest; nil for all attributes and relationships. A composite's name stands for all its parts.
  /// - Throws: ``KeyValueError`` for a name that is no attribute's or relationship's.
  public final func changes(of keys: [String]? = nil) throws(KeyValueError) -> AsyncStream<ObjectChange> {
    let properties = try watchedProperties(keys)
    let (stream, continuation) = AsyncStream.makeStream(of: ObjectChange.self)
    let watch = ObjectWatch(self, properties, continuation)
    // Without a context nothing is told, and the sequence has ended.
    managedObjectContext?.objectObservation.add(watch, of: self)
    return stream
  }
}

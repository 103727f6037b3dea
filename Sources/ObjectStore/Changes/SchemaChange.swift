/// A change of all objects of an entity, without those of its subentities. A migration reports it in its history transaction
/// (``PersistentHistoryTransaction/schemaChanges``) and to observers (``RowChange/schema(_:)``).
public struct SchemaChange: Sendable, Hashable {
  /// The kinds of changes.
  public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
    /// The objects were deleted, and all references to them were removed, because the model no longer has the entity.
    case objectsRemoved
    /// The objects lost the values or members of a property that the entity no longer has.
    case propertyRemoved
    /// All objects received the default value of a new attribute.
    case filled
    /// Objects without a value received the default value, because the attribute became required.
    case completed
    /// The values were converted to the attribute's new type.
    case converted
    /// The values of a derived attribute were computed again.
    case computed
    /// The values were taken from another property, which lost them.
    case moved
    /// Any of the values, members or their order may have changed.
    case rewritten
  }

  /// The kind of the change.
  public let kind: Kind
  /// The name of the entity in the current model, or its last name if it was removed.
  public let entityName: String
  /// The name of the property in the current model, or its last name if it was removed. Nil for ``Kind/objectsRemoved``.
  public let propertyName: String?
  /// The name of the property that the values were taken from. Nil except for ``Kind/moved``, and for ``Kind/rewritten`` if a to-one
  /// relationship became to-many or a to-many relationship to-one.
  public let formerPropertyName: String?
  /// The value that was filled in. Nil if the history does not record values, if the observer did not ask for new values, or if the entity
  /// was removed later.
  package let values: RecordedValues?

  /// The value that was filled in, as a value of the attribute's type. Nil for other kinds, if the history does not record values, and
  /// if the observer did not ask for new values.
  public var value: (any Sendable)? { propertyName.flatMap { values?[$0] } }

  package init(
    _ kind: Kind, entityName: String, propertyName: String? = nil, formerPropertyName: String? = nil,
    values: RecordedValues? = nil
  ) {
    self.kind = kind
    self.entityName = entityName
    self.propertyName = propertyName
    self.formerPropertyName = formerPropertyName
    self.values = values
  }

  /// Returns the change, without the value that was filled in if a consumer did not ask for values.
  func limited(toValue includesValue: Bool) -> SchemaChange {
    if includesValue || values == nil { return self }
    return SchemaChange(
      kind, entityName: entityName, propertyName: propertyName, formerPropertyName: formerPropertyName)
  }
}

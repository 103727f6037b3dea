package import ObjectModel

/// An object of the input with its nested objects, in terms of a compiled model.
package struct ImportObject: Sendable {
  /// The effect on an object that exists in the store.
  package enum Role: Sendable {
    /// The values that differ are updated.
    case record
    /// The object is not changed: the input only refers to it.
    case reference
  }

  package let entity: CompiledEntity
  /// The line number in the input.
  package let line: Int
  /// The effect on an existing object.
  package var role = Role.record
  /// Attribute values by slot. Other attributes keep their values.
  package var values: [(slot: Int, value: Slot)] = []
  /// To-one relationships; `nil` clears a relationship.
  package var toOne: [(relationship: CompiledRelationship, destination: ImportObject?)] = []
  /// To-many relationships with all their members.
  package var toMany: [(relationship: CompiledRelationship, members: [ImportObject])] = []
  /// An identifier by which other input objects refer to this one.
  package var identifier: String?
  /// The identifier of another input object that this one refers to.
  package var reference: String?

  /// Creates an object without values.
  package init(entity: CompiledEntity, line: Int) {
    self.entity = entity
    self.line = line
  }

  /// Returns the value of a slot, if given.
  package func value(_ slot: Int) -> Slot? {
    values.first { $0.slot == slot }?.value
  }

  /// Returns the destination of a to-one relationship by its slot, if given.
  package func destination(_ slot: Int) -> ImportObject? {
    toOne.first { $0.relationship.index == slot }?.destination
  }

  /// Returns an error about the object.
  package func error(_ message: String, key: String? = nil) -> InputError {
    InputError(line: line, entity: entity.name, key: key, message)
  }
}

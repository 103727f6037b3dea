// ImportObject: an object to be imported, as a tree of values in a compiled model's numbers.
package import ObjectModel

/// An object of the input with those that are nested in it.
package struct ImportObject: Sendable {
  /// What is done with an object that the store has already.
  package enum Role: Sendable {
    /// It takes the values that differ.
    case record
    /// It stays as it is: the input only refers to it.
    case reference
  }

  /// Its entity.
  package let entity: CompiledEntity
  /// The line of the input it comes from.
  package let line: Int
  /// What happens when it is there already.
  package var role = Role.record
  /// Attribute values by slot; attributes that are not named keep their value.
  package var values: [(slot: Int, value: Slot)] = []
  /// To-one relationships; nil clears one.
  package var toOne: [(relationship: CompiledRelationship, destination: ImportObject?)] = []
  /// To-many relationships with all their members.
  package var toMany: [(relationship: CompiledRelationship, members: [ImportObject])] = []
  /// A name under which other objects of the input refer to it.
  package var identifier: String?
  /// The name of another object of the input that this one is.
  package var reference: String?

  /// An object without values.
  package init(entity: CompiledEntity, line: Int) {
    self.entity = entity
    self.line = line
  }

  /// The value of a slot, if it is given.
  package func value(_ slot: Int) -> Slot? {
    values.first { $0.slot == slot }?.value
  }

  /// The destination of a to-one relationship by its slot, if it is given.
  package func destination(_ slot: Int) -> ImportObject? {
    toOne.first { $0.relationship.index == slot }?.destination
  }

  /// What is wrong with the object.
  package func error(_ message: String, key: String? = nil) -> InputError {
    InputError(line: line, entity: entity.name, key: key, message)
  }
}

package import ObjectModel

/// The class of each entity's objects, by entity number, and the entity of each class.
package struct EntityClasses: ~Copyable {
  private let model: CompiledModel
  private let classes: ManagedObjectClasses
  private let types: [ManagedObject.Type]
  private let needWorkWhenFired: [Bool]
  /// A cache of the entities of classes, indexed by a hash of the class's address. Most callers create objects of only a few classes.
  private var known = [(type: ObjectIdentifier, entity: CompiledEntity)?](repeating: nil, count: 16)

  package init(_ classes: ManagedObjectClasses, of model: CompiledModel) {
    (self.model, self.classes) = (model, classes)
    types = model.entities.map { classes.type(of: $0.name) ?? ManagedObject.self }
    needWorkWhenFired = model.entities.map { !$0.transientSlotsWithDefaults.isEmpty || !$0.largeSlots.isEmpty }
  }

  @inline(__always) package func type(ofEntity number: Int) -> ManagedObject.Type { types[number] }

  /// Returns whether firing a fault of an entity takes more than using the row in place: the entity has transient attributes with default
  /// values, or attributes whose values may be stored outside the row.
  ///
  /// Called for each fault; does not access the entity itself.
  @inline(__always) package func needsWorkWhenFired(entity number: Int) -> Bool { needWorkWhenFired[number] }

  /// Returns the entity of a class, or `nil` if the class is not in the table.
  package mutating func entity(of type: ManagedObject.Type) -> CompiledEntity? {
    let identifier = ObjectIdentifier(type)
    let index = Int((UInt64(UInt(bitPattern: identifier)) &* 0x9E37_79B9_7F4A_7C15) >> 60)
    if let found = known[index], found.type == identifier { return found.entity }
    guard let name = classes.entityName(of: type), let entity = model.entity(named: name) else { return nil }
    known[index] = (identifier, entity)
    return entity
  }
}

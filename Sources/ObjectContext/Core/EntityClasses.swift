// EntityClasses: the classes of a context's entities, by number, and the entities of its classes.
package import ObjectModel

/// The classes of the objects of each entity, by the entities' numbers, and back.
package struct EntityClasses: ~Copyable {
  private let model: CompiledModel
  private let classes: ManagedObjectClasses
  private let types: [ManagedObject.Type]
  /// Whether objects of the entities have transient attributes that start with a value, or attributes whose values may be outside the row.
  private let needWorkWhenFired: [Bool]
  /// Classes that were asked for, and their entities, each at the place that its address says: who makes many objects makes them of few classes.
  private var known = [(type: ObjectIdentifier, entity: CompiledEntity)?](repeating: nil, count: 16)

  package init(_ classes: ManagedObjectClasses, of model: CompiledModel) {
    (self.model, self.classes) = (model, classes)
    types = model.entities.map { classes.type(of: $0.name) ?? ManagedObject.self }
    needWorkWhenFired = model.entities.map { !$0.transientSlotsWithDefaults.isEmpty || !$0.largeSlots.isEmpty }
  }

  /// The class of an entity's objects.
  @inline(__always) package func type(ofEntity number: Int) -> ManagedObject.Type { types[number] }

  /// Whether more is to be done for a fault of an entity that is fired than to read its row where it lies: it may have transient attributes that start with
  /// a value, or values outside the row. Asked for each fault; the entity itself is not touched.
  @inline(__always) package func needsWorkWhenFired(entity number: Int) -> Bool { needWorkWhenFired[number] }

  /// The entity of a class; nil when the class is not in the table.
  package mutating func entity(of type: ManagedObject.Type) -> CompiledEntity? {
    let identifier = ObjectIdentifier(type)
    let place = Int((UInt64(UInt(bitPattern: identifier)) &* 0x9E37_79B9_7F4A_7C15) >> 60)
    if let found = known[place], found.type == identifier { return found.entity }
    guard let name = classes.entityName(of: type), let entity = model.entity(named: name) else { return nil }
    known[place] = (identifier, entity)
    return entity
  }
}

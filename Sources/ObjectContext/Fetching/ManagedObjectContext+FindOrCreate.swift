// ManagedObjectContext+FindOrCreate: objects by their unique values, found or else made.
import Foundation
import ObjectModel
public import ObjectQuery
import ObjectStore

extension ManagedObjectContext {
  /// The object with the values of a uniqueness constraint; a new one with these values if there is none.
  ///
  /// ```swift
  /// let book = try context.findOrCreate(Book.self, where: ["isbn": isbn]) { new in new.added = .now }
  /// ```
  ///
  /// Unsaved objects are found too, deleted ones are not. Two contexts may both make an object; the save of the second one then fails with
  /// ``StoreError/Code/constraintConflict``.
  /// - Parameters:
  ///   - type: The class of the objects; its entity is that of the context's class table.
  ///   - values: The values by the names of the constraint's properties.
  ///   - prepare: Called for a new object, which has the values already. An error that it throws takes the object back.
  /// - Throws: ``StoreError`` with ``StoreError/Code/invalidRequest`` when no uniqueness constraint is declared over the properties or an object of another
  ///   entity has the values, ``KeyValueError`` for a value of another type, what the store throws.
  @discardableResult
  public func findOrCreate<Object: ManagedObject>(
    _ type: Object.Type, where values: [String: any FetchConstantConvertible], _ prepare: (Object) throws -> Void = { _ in }
  ) throws -> Object {
    let keys = values.keys.sorted()
    return try findOrCreate(type, keys: keys, values: [keys.compactMap { values[$0] }], prepare)[0]
  }

  /// The objects with values of a property that a uniqueness constraint is declared over; new ones for the values that no object has.
  ///
  /// - Parameters:
  ///   - type: The class of the objects.
  ///   - key: The property.
  ///   - values: The values; equal ones have the same object.
  ///   - prepare: Called for each new object, which has its value already. An error that it throws takes that object back.
  /// - Returns: The objects in the order of the values. They are looked for with one request.
  /// - Throws: As ``findOrCreate(_:where:_:)``.
  @discardableResult
  public func findOrCreate<Object: ManagedObject>(
    _ type: Object.Type, key: String, values: [any FetchConstantConvertible], _ prepare: (Object) throws -> Void = { _ in }
  ) throws -> [Object] {
    try findOrCreate(type, keys: [key], values: values.map { [$0] }, prepare)
  }

  /// The objects with values of the properties of a uniqueness constraint; new ones for the values that no object has.
  ///
  /// - Parameters:
  ///   - type: The class of the objects.
  ///   - keys: The constraint's properties.
  ///   - values: For each object the values in the order of the keys; equal ones have the same object.
  ///   - prepare: Called for each new object, which has its values already. An error that it throws takes that object back.
  /// - Returns: The objects in the order of the values. They are looked for with few requests.
  /// - Throws: As ``findOrCreate(_:where:_:)``.
  @discardableResult
  public func findOrCreate<Object: ManagedObject>(
    _ type: Object.Type, keys: [String], values: [[any FetchConstantConvertible]], _ prepare: (Object) throws -> Void = { _ in }
  ) throws -> [Object] {
    let entity = try knownEntity(ofClass: type, operation: .findOrCreate)
    let objects = try objects(of: entity, keys: keys, values: values) { object in
      if let object = object as? Object { try prepare(object) }
    }
    return try objects.map { object in
      guard let object = object as? Object else { throw other(object, than: entity) }
      return object
    }
  }

  /// The objects of an entity, for entities without a class; see ``findOrCreate(_:keys:values:_:)``.
  ///
  /// - Parameters:
  ///   - entityName: The entity of the objects.
  ///   - keys: The constraint's properties.
  ///   - values: For each object the values in the order of the keys.
  ///   - prepare: Called for each new object, which has its values already.
  /// - Throws: As ``findOrCreate(_:where:_:)``.
  @discardableResult
  public func findOrCreate(
    entityName: String, keys: [String], values: [[any FetchConstantConvertible]], _ prepare: (ManagedObject) throws -> Void = { _ in }
  ) throws -> [ManagedObject] {
    guard let entity = model.entity(named: entityName) else { throw unknownEntity(entityName, operation: .findOrCreate) }
    return try objects(of: entity, keys: keys, values: values, prepare)
  }

  // MARK: Steps

  private func objects(
    of entity: CompiledEntity, keys: [String], values: [[any FetchConstantConvertible]], _ prepare: (ManagedObject) throws -> Void
  ) throws -> [ManagedObject] {
    let key = try UniqueKey(keys, of: entity, in: self)
    let wanted = try values.map(key.values)
    var known: [[Slot]: ManagedObject] = [:]
    for predicate in key.predicates(for: Set(wanted)) {
      for object in try fetch(FetchRequest<ManagedObject>(entityName: key.declaringEntity.name, predicate: predicate)) {
        known[key.identity(of: object)] = object
      }
    }
    // An object that could not be read would be made a second time.
    try notedErrors.tell()
    return try wanted.map { values in
      if let object = known[values.identity] {
        guard object.compiledEntity.isKind(of: entity) else { throw other(object, than: entity) }
        return object
      }
      let object = try insertObject(entityName: entity.name)
      do {
        key.set(values, of: object)
        try prepare(object)
      } catch {
        delete(object)
        throw error
      }
      known[values.identity] = object
      return object
    }
  }

  private func other(_ object: ManagedObject, than entity: CompiledEntity) -> StoreError {
    return StoreError(.sharedConstraint(entity: entity.name, found: object.compiledEntity.name), operation: .findOrCreate)
  }
}

/// The properties of a uniqueness constraint, in the order that a caller gave.
private struct UniqueKey {
  /// The topmost entity that the constraint holds for.
  let declaringEntity: CompiledEntity
  private let context: ManagedObjectContext
  private let slots: [CompiledSlot]

  init(_ names: [String], of entity: CompiledEntity, in context: ManagedObjectContext) throws {
    self.context = context
    slots = names.compactMap { name in entity.slots.first { $0.name == name } }
    let numbers = Set(slots.map(\.index))
    func declares(_ entity: CompiledEntity) -> Bool {
      entity.uniquenessConstraints.contains { Set($0) == numbers && $0.count == names.count }
    }
    guard slots.count == names.count, numbers.count == names.count, declares(entity) else {
      let declared = entity.uniquenessConstraints.map { "(" + $0.map { entity.slots[$0].name }.joined(separator: ", ") + ")" }
      throw StoreError(.noConstraint(entity: entity.name, properties: names, declared: declared), operation: .findOrCreate)
    }
    var top = entity
    while let parent = top.parent.map({ context.model.entities[$0] }), declares(parent) { top = parent }
    declaringEntity = top
  }

  /// Values of the properties.
  struct Values: Hashable {
    /// What makes them equal to others: texts are bytes here, since texts that look alike may differ.
    fileprivate(set) var identity: [Slot] = []
    fileprivate var stored: [Slot] = []
    fileprivate var related: [ManagedObject?] = []
    fileprivate var constants: [FetchConstant] = []

    static func == (left: Values, right: Values) -> Bool { left.identity == right.identity }
    func hash(into hasher: inout Hasher) { hasher.combine(identity) }
  }

  /// Values as a caller gave them.
  func values(_ given: [any FetchConstantConvertible]) throws -> Values {
    guard given.count == slots.count else {
      throw StoreError(.notAsManyValues(keys: slots.count, values: given.count), operation: .findOrCreate)
    }
    var values = Values()
    for (value, slot) in zip(given, slots) {
      let constant = value._fetchConstant
      if constant == .null {
        throw StoreError(.noValueOfKey(property: slot.name), operation: .findOrCreate)
      }
      var related: ManagedObject?
      let stored: Slot
      if slot.relationship == nil {
        stored = try ManagedObject.slotValue(from: constant.swiftValue, for: slot, entityName: declaringEntity.name)
      } else {
        guard case .object(let id) = constant else {
          throw KeyValueError(.wrongType, key: slot.name, entityName: declaringEntity.name, detail: "give an object or its ID")
        }
        related = context.object(with: id)
        stored = Self.identity(of: related)
      }
      values.stored.append(stored)
      values.identity.append(Self.identity(of: stored))
      values.related.append(related)
      values.constants.append(constant)
    }
    return values
  }

  /// The identity of an object's values.
  func identity(of object: ManagedObject) -> [Slot] {
    slots.map { slot in
      slot.relationship == nil
        ? Self.identity(of: object.slotValue(slot.index)) : Self.identity(of: object.destination(slot.index))
    }
  }

  private static func identity(of object: ManagedObject?) -> Slot { .int(object?.currentID.reference.rawValue ?? 0) }

  private static func identity(of value: Slot) -> Slot {
    if case .text(let text) = value { .bytes(Data(text.utf8)) } else { value }
  }

  /// Gives a new object the values.
  func set(_ values: Values, of object: ManagedObject) {
    for (position, slot) in slots.enumerated() {
      if let related = values.related[position] {
        object._setToOne(related, at: slot.index)
      } else if !slot.isDerived {
        object.setSlotValue(values.stored[position], at: slot.index)
      }
    }
  }

  /// Predicates that find the objects with some values: one for a single property, for several one for some hundred values.
  func predicates(for wanted: Set<Values>) -> [FetchPredicate] {
    if slots.count == 1 {
      let list = wanted.compactMap(\.constants.first)
      guard !list.isEmpty else { return [] }
      return [.comparison(FetchComparison(left: .keyPath(slots[0].name), op: .in, right: .constant(.list(list))))]
    }
    let alternatives = wanted.map { values in
      FetchPredicate.and(
        zip(values.constants, slots).map { constant, slot in
          .comparison(FetchComparison(left: .keyPath(slot.name), op: .equal, right: .constant(constant)))
        })
    }
    // A statement takes 999 values on old libraries.
    let size = max(900 / slots.count, 1)
    return stride(from: 0, to: alternatives.count, by: size).map { start in
      .or(Array(alternatives[start..<min(start + size, alternatives.count)]))
    }
  }
}

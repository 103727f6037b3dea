import Foundation
import ObjectModel
@_spi(Generated) public import ObjectQuery
import ObjectStore

extension ManagedObjectContext {
  /// Returns the object with the given values of a uniqueness constraint; creates it if there is none.
  ///
  /// ```swift
  /// let book = try context.findOrCreate(Book.self, where: ["isbn": isbn]) { new in new.added = .now }
  /// ```
  ///
  /// The search includes unsaved objects and excludes deleted ones. If two contexts create an object with the same values, the second save
  /// fails with ``StoreError/Code/constraintConflict``.
  ///
  /// - Parameters:
  ///   - type: The class of the object.
  ///   - entityName: The entity of the object; nil for the entity of the class.
  ///   - values: The values by the names of the constraint's properties.
  ///   - prepare: A closure called for a new object, whose values are already set. If it throws, the new object is deleted.
  /// - Returns: The existing or new object.
  /// - Throws: ``StoreError`` with ``StoreError/Code/invalidRequest`` if no uniqueness constraint covers exactly these properties, or if an
  ///   object of another entity has the values; ``KeyValueError`` for a value of the wrong type; the errors of the store.
  @discardableResult
  public func findOrCreate<Object: ManagedObject>(
    _ type: Object.Type, entityName: String? = nil, where values: [String: any FetchConstantConvertible],
    _ prepare: (Object) throws -> Void = { _ in }
  ) throws -> Object {
    let keys = values.keys.sorted()
    return try findOrCreate(type, entityName: entityName, keys: keys, values: [keys.compactMap { values[$0] }], prepare)[0]
  }

  /// Returns the objects with the given values of a uniqueness constraint; creates objects for values that no object has.
  ///
  /// ```swift
  /// let tags = try context.findOrCreate(Tag.self, keys: ["name"], values: names.map { [$0] })
  /// ```
  ///
  /// One request finds the existing objects for all values of a single property, or for a batch of several hundred values of several
  /// properties.
  ///
  /// - Parameters:
  ///   - type: The class of the objects.
  ///   - entityName: The entity of the objects; nil for the entity of the class.
  ///   - keys: The constraint's properties.
  ///   - values: The values of each object, in the order of the keys. Equal values have the same object.
  ///   - prepare: A closure called for each new object, whose values are already set. If it throws, that object is deleted.
  /// - Returns: The objects, in the order of the values.
  /// - Throws: The errors of ``findOrCreate(_:entityName:where:_:)``.
  @discardableResult
  public func findOrCreate<Object: ManagedObject>(
    _ type: Object.Type, entityName: String? = nil, keys: [String], values: [[any FetchConstantConvertible]],
    _ prepare: (Object) throws -> Void = { _ in }
  ) throws -> [Object] {
    let entity = try entity(named: entityName, of: type)
    let objects = try objects(of: entity, keys: keys, values: values) { object in
      if let object = object as? Object { try prepare(object) }
    }
    return try objects.map { object in
      guard let object = object as? Object else { throw other(object, than: entity) }
      return object
    }
  }

  // MARK: Implementation

  private func entity<Object: ManagedObject>(named name: String?, of type: Object.Type) throws -> CompiledEntity {
    guard let name else { return try knownEntity(ofClass: type, operation: .findOrCreate) }
    guard let entity = model.entity(named: name) else { throw unknownEntity(name, operation: .findOrCreate) }
    try checkClass(type, for: FetchSpecification(entityName: name))
    return entity
  }

  private func objects(
    of entity: CompiledEntity, keys: [String], values: [[any FetchConstantConvertible]], _ prepare: (ManagedObject) throws -> Void
  ) throws -> [ManagedObject] {
    let key = try UniqueKey(keys, of: entity, in: self)
    let requested = try values.map(key.values)
    var known: [[Slot]: ManagedObject] = [:]
    for predicate in key.predicates(for: Set(requested)) {
      for object in try fetch(FetchRequest<ManagedObject>(entityName: key.declaringEntity.name, predicate: predicate)) {
        known[key.identity(of: object)] = object
      }
    }
    // Without this check, an object that could not be read would be created a second time.
    try deferredErrors.throwRecorded()
    return try requested.map { values in
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

/// The properties of a uniqueness constraint, in the caller's order.
private struct UniqueKey {
  /// The topmost entity that the constraint applies to.
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

  struct Values: Hashable {
    /// The values to compare. Texts are compared as bytes, because Swift treats canonically equivalent texts as equal.
    fileprivate(set) var identity: [Slot] = []
    fileprivate var stored: [Slot] = []
    fileprivate var related: [ManagedObject?] = []
    fileprivate var constants: [FetchConstant] = []

    static func == (left: Values, right: Values) -> Bool { left.identity == right.identity }
    func hash(into hasher: inout Hasher) { hasher.combine(identity) }
  }

  func values(_ given: [any FetchConstantConvertible]) throws -> Values {
    guard given.count == slots.count else {
      throw StoreError(.notAsManyValues(keys: slots.count, values: given.count), operation: .findOrCreate)
    }
    var values = Values()
    for (value, slot) in zip(given, slots) {
      let constant = value.fetchConstant
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

  /// Returns the comparable values of an object.
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

  func set(_ values: Values, of object: ManagedObject) {
    for (position, slot) in slots.enumerated() {
      if let related = values.related[position] {
        object.setToOne(related, at: slot.index)
      } else if !slot.isDerived {
        object.setSlotValue(values.stored[position], at: slot.index)
      }
    }
  }

  /// Returns predicates that find the objects with the given values: one predicate for a single property, otherwise one for each batch of
  /// several hundred values.
  func predicates(for requested: Set<Values>) -> [FetchPredicate] {
    if slots.count == 1 {
      let list = requested.compactMap(\.constants.first)
      guard !list.isEmpty else { return [] }
      return [.comparison(FetchComparison(left: .keyPath(slots[0].name), op: .in, right: .constant(.list(list))))]
    }
    let alternatives = requested.map { values in
      FetchPredicate.and(
        zip(values.constants, slots).map { constant, slot in
          .comparison(FetchComparison(left: .keyPath(slot.name), op: .equal, right: .constant(constant)))
        })
    }
    // Old SQLite versions allow 999 variables in a statement.
    let size = max(900 / slots.count, 1)
    return stride(from: 0, to: alternatives.count, by: size).map { start in
      .or(Array(alternatives[start..<min(start + size, alternatives.count)]))
    }
  }
}

extension StoreError.Reason {
  static func sharedConstraint(entity: String, found: String) -> Self {
    Self(
      .invalidRequest,
      "An object of the entity “\(found)” already has the values of a uniqueness constraint that it shares with “\(entity)”.",
      entity: entity)
  }

  static func noConstraint(entity: String, properties names: [String], declared: [String]) -> Self {
    Self(
      .invalidRequest,
      "The entity “\(entity)” has no uniqueness constraint over (\(names.joined(separator: ", "))), so several objects may have these values. "
        + (declared.isEmpty ? "Declare one." : "Declare one, or use \(declared.joined(separator: " or "))."), entity: entity)
  }

  static func notAsManyValues(keys: Int, values: Int) -> Self {
    Self(.invalidRequest, "\(keys) keys were passed, but \(values) values for an object.")
  }

  static func noValueOfKey(property: String) -> Self {
    Self(.invalidRequest, "Objects without a value of “\(property)” are not unique; set a value.", property: property)
  }
}

import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore

extension ManagedObject {
  final func value(forKey key: String) throws -> Any? {
    try checkContext()
    let entity = compiledEntity
    switch entity.property(named: key) {
    case .attribute(let slot):
      recordRead(slot.index)
      let value = try readSlotValue(slot.index)
      guard let attribute = slot.attribute else { return nil }
      if attribute.type == .transformable, let known = vendedValue(slot.index, stored: value) { return known }
      let result = try Self.untypedValue(value, attribute, entityName: entity.name, objectID)
      if attribute.type == .transformable { trackVendedValue(result, slot.index, stored: value) }
      return result
    case .toOne(let relationship):
      recordRead(relationship.index)
      return destination(relationship.index)
    case .toMany(let relationship):
      return relationship.isOrdered
        ? toManyArray(relationship.index, as: ManagedObject.self) as Any : toManySet(relationship.index, as: ManagedObject.self) as Any
    case .composite(let composite): return try values(of: composite)
    case .fetched: return try fetchedObjects(key)
    case nil: throw KeyValueError(unknown: key, of: entity)
    }
  }

  /// Throws if the object is a fault whose context no longer exists: its values cannot be loaded.
  private func checkContext() throws {
    if flags.contains(.isFault), managedObjectContext == nil, row == nil, !flags.contains(.isRemoved) {
      throw StoreError(.contextDeallocated(entity: compiledEntity.name), operation: .fault)
    }
  }

  /// Returns the value of a property as a given type.
  ///
  /// The stored value of a `transformable` attribute is decoded as the type. An integer can be read as any integer type that can represent
  /// it. For other properties, the type must be the property's own.
  ///
  /// - Throws: ``KeyValueError``, also if the integer type cannot represent the value; ``StoreError`` if the stored value is not a value of
  ///   the attribute's type.
  public final func value<Value>(forKey key: String, as type: Value.Type) throws -> Value? {
    let entity = compiledEntity
    guard case .attribute(let slot) = entity.property(named: key) else {
      guard let value = try value(forKey: key) else { return nil }
      guard let typed = value as? Value else { throw KeyValueError(reading: key, of: entity, a: value, as: Value.self) }
      return typed
    }
    return try transformedValue(slot.index, as: type)
  }

  /// Returns the value of a `transformable` attribute by its slot, for generated properties.
  ///
  /// - Throws: ``KeyValueError``.
  final func transformedValue<Value>(_ slot: Int, as type: Value.Type) throws -> Value? {
    let property = compiledEntity.slots[slot]
    guard let attribute = property.attribute else { return nil }
    recordRead(slot)
    let stored = try readSlotValue(slot)
    if case .null = stored { return nil }
    guard attribute.type == .transformable, case .bytes(let data) = stored else {
      guard let value = try Self.swiftValue(stored, attribute, entityName: compiledEntity.name, objectID) else { return nil }
      if let typed = (AttributeConversion.isAny(type) ? AttributeConversion.untyped(value) : value) as? Value { return typed }
      if let integer = value as? any BinaryInteger, let type = type as? any BinaryInteger.Type {
        if let typed = type.init(exactly: integer) as? Value { return typed }
        throw KeyValueError(.outOfRange, key: property.name, entityName: compiledEntity.name, detail: "it is read as \(type)")
      }
      throw KeyValueError(reading: property.name, of: compiledEntity, a: value, as: type)
    }
    // Check for nil first: if `Value` is `Any`, nil would pass the cast.
    if let known = vendedValue(slot, stored: stored), let typed = known as? Value { return typed }
    do {
      let value = try AttributeTransformers.value(from: data, as: type, transformerName: attribute.valueTransformerName)
      trackVendedValue(value, slot, stored: stored)
      return value
    } catch {
      throw KeyValueError(.transformFailed, key: property.name, entityName: compiledEntity.name, detail: error.description)
    }
  }

  /// Sets a `transformable` attribute by its slot, for generated properties.
  ///
  /// - Throws: ``KeyValueError`` if the value cannot be encoded; ``StoreError`` if the object's row or context no longer exists.
  final func setTransformedValue(_ value: (any Sendable)?, at slot: Int) throws {
    let stored = try transformedSlot(of: value, at: slot)
    try checkWritable(slot)
    setSlotValue(stored, at: slot)
    trackVendedValue(value, slot, stored: stored)
  }

  final func transformedSlot(of value: (any Sendable)?, at slot: Int) throws(KeyValueError) -> Slot {
    try slotValue(from: value, for: compiledEntity.slots[slot])
  }

  final func setValue(_ value: Any?, forKey key: String) throws {
    let entity = compiledEntity
    switch entity.property(named: key) {
    case .attribute(let slot):
      try checkSettable(slot)
      let stored = try slotValue(from: value, for: slot)
      try checkWritable(slot.index)
      setAttributeValue(stored, at: slot.index)
      if slot.attributeType == .transformable { trackVendedValue(value, slot.index, stored: stored) }
    case .toOne(let relationship):
      let value = AttributeConversion.unwrapped(value)
      let object = value as? ManagedObject
      guard value == nil || object != nil else {
        throw KeyValueError(setting: key, of: entity, to: value, expected: "a ManagedObject or nil")
      }
      try checkMembers(object.map { [$0] } ?? [], relationship)
      try checkWritable(relationship.index)
      if let object, let rejection = managedObjectContext?.rejection(of: object, for: relationship, of: self) { throw rejection }
      setToOne(object, at: relationship.index)
    case .toMany(let relationship):
      let members: [ManagedObject]
      switch AttributeConversion.unwrapped(value) {
      case nil: members = []
      case let objects as [ManagedObject]: members = objects
      case let objects as Set<ManagedObject>: members = Array(objects)
      case let other: throw KeyValueError(setting: key, of: entity, to: other, expected: "a Set or an Array of ManagedObjects")
      }
      if flags.contains(.isBatchRow) { return setToMany(members, at: relationship.index) }
      try checkMembers(members, relationship)
      try replaceMembers(members, at: relationship.index)
    case .composite(let composite): try setValues(value, of: composite)
    case .fetched: throw KeyValueError(.readOnly, key: key, entityName: entity.name)
    case nil: throw KeyValueError(unknown: key, of: entity)
    }
  }

  /// Throws unless objects are of a relationship's destination entity. Also throws if this object has no context and therefore cannot have
  /// relationships.
  private func checkMembers(_ members: [ManagedObject], _ relationship: CompiledRelationship) throws {
    if flags.contains(.isBatchRow) { return }
    guard let model = managedObjectContext?.model else {
      try checkWritable(nil)
      if members.isEmpty { return }
      throw StoreError(.notYetInContext(entity: compiledEntity.name, property: relationship.name), operation: .setRelationship)
    }
    let destination = model.entities[relationship.destinationEntity]
    // Objects of another context may belong to another model.
    for member in members where member.managedObjectContext === managedObjectContext && !member.compiledEntity.isKind(of: destination) {
      throw KeyValueError(
        .wrongType, key: relationship.name, entityName: compiledEntity.name,
        detail: "it takes objects of the entity “\(destination.name)”, not “\(member.compiledEntity.name)”")
    }
  }

  final func valueAlong(_ keyPath: String) throws -> Any? {
    guard let (object, key) = try owner(ofKeyPath: keyPath, throughCollections: true) else { return nil }
    if key.contains("."), case .toMany = object.compiledEntity.property(named: String(key.prefix { $0 != "." })) {
      return try object.collectionValue(key)
    }
    return try object.value(forKey: key)
  }

  final func setValue(_ value: Any?, forKeyPath keyPath: String) throws {
    guard let (object, key) = try owner(ofKeyPath: keyPath) else { return }
    try object.setValue(value, forKey: key)
  }

  /// Follows the to-one relationships of a key path.
  ///
  /// - Returns: The last object with the rest of the path, which is one property or an element of a composite; nil if a relationship on the
  ///   path is empty.
  private func owner(ofKeyPath keyPath: String, throughCollections: Bool = false) throws -> (object: ManagedObject, key: String)? {
    var object = self
    var rest = keyPath[...]
    while let dot = rest.firstIndex(of: ".") {
      let key = String(rest[..<dot])
      switch object.compiledEntity.property(named: key) {
      case .composite: return (object, String(rest))
      case .toMany where throughCollections: return (object, String(rest))
      case .toOne(let relationship):
        object.recordRead(relationship.index)
        guard let next = object.destination(relationship.index) else { return nil }
        object = next
        rest = rest[rest.index(after: dot)...]
      case let property:
        if property == nil { throw KeyValueError(unknown: key, of: object.compiledEntity) }
        throw KeyValueError(.notAnObject, key: key, entityName: object.compiledEntity.name)
      }
    }
    return (object, String(rest))
  }

  /// The value of a property; nil if there is no such property.
  ///
  /// If the value cannot be read, the result is nil, and ``ManagedObjectContext/pendingError`` contains the error.
  ///
  /// Assigning a value is the same as ``ManagedObjectMembers/setValue(_:forKey:)`` but does not throw:
  /// ``ManagedObjectContext/pendingError`` contains the error of an invalid assignment, and the next save throws it.
  public final subscript(key: String) -> Any? {
    get {
      do { return try value(forKey: key) } catch let error as KeyValueError where error.code != .transformFailed {
        return nil
      } catch {
        reportError(error)
        return nil
      }
    }
    set {
      do { try setValue(newValue, forKey: key) } catch { reportError(error) }
    }
  }

  final func primitiveValue(forKey key: String) throws -> Any? {
    let entity = compiledEntity
    guard case .attribute(let slot) = entity.property(named: key), let attribute = slot.attribute else {
      throw KeyValueError(.unknownKey, key: key, entityName: entity.name, detail: "primitive values are those of attributes")
    }
    return try Self.untypedValue(loadedSlotValue(slot.index) ?? .null, attribute, entityName: entity.name, objectID)
  }

  final func setPrimitiveValue(_ value: Any?, forKey key: String) throws {
    let entity = compiledEntity
    guard case .attribute(let slot) = entity.property(named: key) else {
      throw KeyValueError(.unknownKey, key: key, entityName: entity.name, detail: "primitive values are those of attributes")
    }
    try checkSettable(slot)
    let stored = try slotValue(from: value, for: slot)
    try checkWritable(nil)
    overlayForWriting(of: entity).setWithoutChange(stored, at: slot.index)
    readOverlay()
  }

  // MARK: Conversion

  /// Converts a slot's value to the Swift value of its attribute's type.
  ///
  /// - Throws: ``KeyValueError`` if the transformer fails; ``StoreError`` if the stored value is not a value of the type.
  static func swiftValue(
    _ value: Slot, _ attribute: AttributeDescription, entityName: String, _ objectID: ManagedObjectID? = nil
  ) throws -> (any Sendable)? {
    let result: (any Sendable)?
    do { result = try AttributeConversion.value(of: value, attribute) } catch {
      throw KeyValueError(.transformFailed, key: attribute.name, entityName: entityName, detail: error.description)
    }
    if result == nil, !value.isNull {
      throw StoreError(.unreadableValue(entity: entityName, property: attribute.name, objectID), operation: .read)
    }
    return result
  }

  /// Converts a slot's value to the value that applications receive as `Any`.
  ///
  /// - Throws: ``KeyValueError`` if the transformer fails; ``StoreError`` if the stored value is not a value of the type.
  static func untypedValue(
    _ value: Slot, _ attribute: AttributeDescription, entityName: String, _ objectID: ManagedObjectID? = nil
  ) throws -> (any Sendable)? {
    try swiftValue(value, attribute, entityName: entityName, objectID).map { AttributeConversion.untyped($0, of: attribute.type) }
  }

  final func slotValue(from value: Any?, for slot: CompiledSlot) throws(KeyValueError) -> Slot {
    try Self.slotValue(from: value, for: slot, entityName: compiledEntity.name)
  }

  static func slotValue(from value: Any?, for slot: CompiledSlot, entityName: String) throws(KeyValueError) -> Slot {
    do { return try AttributeConversion.slot(from: value, for: slot) } catch {
      let (code, detail): (KeyValueError.Code, String?) =
        switch error {
        case .wrongType: (.wrongType, KeyValueError.difference(of: value, from: AttributeConversion.expectation(of: slot)))
        case .outOfRange: (.outOfRange, slot.attributeType.map { "it is of the type \($0.rawValue)" })
        case .transformFailed(let detail): (.transformFailed, detail)
        }
      throw KeyValueError(code, key: slot.name, entityName: entityName, detail: detail)
    }
  }
}

extension StoreError.Reason {
  static func contextDeallocated(entity: String) -> Self {
    Self(
      .invalidRequest,
      "The object's context was deallocated, so its values cannot be read. Retain the context as long as its objects: a container retains its viewContext; retain other contexts yourself.",
      entity: entity)
  }
}

// MARK: - Key path operators

extension ManagedObject {
  /// Returns the value of a key path that starts with a to-many relationship, such as `books.title` or `books.@sum.pages`: the values of
  /// the members as one flat collection, or the result of a collection operator.
  func collectionValue(_ path: String) throws -> Any? {
    let keys = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard let name = keys.first else { return nil }
    let members: [Any] =
      switch try value(forKey: name) {
      case let objects as [ManagedObject]: objects
      case let objects as Set<ManagedObject>: Array(objects)
      default: []
      }
    return try value(of: members, keys.dropFirst(), path)
  }

  private func value(of members: [Any], _ keys: ArraySlice<String>, _ path: String) throws -> Any? {
    guard let index = keys.firstIndex(where: { $0.hasPrefix("@") }) else { return try values(of: members, keys, path).compactMap { $0 } }
    // The keys before an operator select the collection that it applies to.
    let members = index == keys.startIndex ? members : try values(of: members, keys[..<index], path).compactMap { $0 }
    let (key, rest) = (keys[index], keys[(index + 1)...])
    if key == "@count" {
      if rest.isEmpty { return AttributeConversion.untyped(members.count) }
      throw rejection(key, path, "nothing stands behind @count")
    }
    if CollectionOperator.isKnown(key) {
      if rest.isEmpty { throw rejection(key, path, "the property that \(key) is computed of stands behind it") }
      do {
        return try CollectionOperator.value(of: key, try values(of: members, rest, path), keyPath: path).map(AttributeConversion.untyped)
      } catch let error as FetchPredicateError {
        throw rejection(key, path, error.description)
      }
    }
    let values = rest.isEmpty ? members.map { $0 as Any? } : try values(of: members, rest, path)
    let found = values.compactMap { $0 }
    switch key {
    case "@unionOfObjects", "@unionOfArrays", "@unionOfSets": return found
    case "@distinctUnionOfObjects", "@distinctUnionOfArrays", "@distinctUnionOfSets":
      var seen: Set<AnyHashable> = []
      return found.filter { value in (value as? AnyHashable).map { seen.insert($0).inserted } ?? true }
    default:
      throw rejection(
        key, path,
        "there are @count, @sum, @avg, @min, @max, and @unionOfObjects and @distinctUnionOfObjects with their like for arrays and sets")
    }
  }

  /// Returns the value of each member, nil for a missing one. Flattens collections.
  private func values(of members: [Any], _ keys: ArraySlice<String>, _ path: String) throws -> [Any?] {
    let rest = keys.joined(separator: ".")
    var values: [Any?] = []
    for case let member as ManagedObject in members {
      switch try member.value(forKeyPath: rest) {
      case let list as [Any]: values += list.map { $0 }
      case let objects as Set<ManagedObject>: values += Array(objects).map { $0 }
      case let value: values.append(value)
      }
    }
    return values
  }

  private func rejection(_ key: String, _ path: String, _ detail: String) -> KeyValueError {
    KeyValueError(.notAnObject, key: path, entityName: compiledEntity.name, detail: detail)
  }
}

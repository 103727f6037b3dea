import Foundation
import ObjectModel
import ObjectStore

extension ManagedObject {
  final func validateByModel(_ value: Any?, forKey key: String) throws {
    let entity = compiledEntity
    switch entity.property(named: key) {
    case .attribute(let slot):
      let stored = try slotValue(from: value, for: slot)
      // Derived values come from the store and are not validated.
      if !slot.isDerived, let error = attributeError(stored, slot) { throw error }
    case .toOne(let relationship):
      if value == nil, !relationship.isOptional { throw missingValue(key) }
    case .toMany(let relationship):
      if let count = memberCount(value), let error = countError(count, relationship) { throw error }
    case .composite, .fetched: return
    case nil: throw KeyValueError(unknown: key, of: entity)
    }
  }

  /// Validates all properties against the model's rules, and the keys with custom validation.
  final func validateProperties() throws {
    if Self.keysWithCustomValidation.isEmpty, passesFastValidation { return }
    let custom = try customErrors()
    completeComposites()
    var errors: [ValidationError] = []
    collectPropertyErrors(into: &errors)
    for error in custom where error.underlying != nil || !errors.contains(where: { $0.key == error.key && $0.code == error.code }) {
      errors.append(error)
    }
    try ValidationErrorCollector(errors).check()
  }

  /// Whether a fast check proves that all values are valid, as for most objects. False does not mean invalid.
  private var passesFastValidation: Bool { withEntity { passesFastValidation(as: $0) } }

  private func passesFastValidation(as entity: CompiledEntity) -> Bool {
    guard entity.fastValidationRules.isComplete else { return false }
    let isNew = flags.contains(.isInserted)
    guard let overlay else { return !isNew }
    guard overlay.isWhole else { return false }
    let rules = entity.fastValidationRules
    // Only the changed values of a stored object can be invalid.
    let (slots, nulls) = (isNew ? .max : overlay.dirtyBits, overlay.nullBits)
    if rules.required & slots & nulls != 0 { return false }
    var destinations = rules.destinations & slots
    if destinations & nulls != 0 { return false }
    while destinations != 0 {
      if !refersToExistingObject(destinations.trailingZeroBitCount) { return false }
      destinations &= destinations - 1
    }
    var numbers = rules.finite & slots & ~nulls
    while numbers != 0 {
      if !Double(bitPattern: UInt64(bitPattern: overlay.word(numbers.trailingZeroBitCount))).isFinite { return false }
      numbers &= numbers - 1
    }
    var checked = rules.checked & slots & ~nulls
    while checked != 0 {
      let slot = checked.trailingZeroBitCount
      guard let checker = entity.slots[slot].checker, checker.failure(of: overlay[slot]) == nil else { return false }
      checked &= checked - 1
    }
    return true
  }

  /// Runs the custom validation of keys until no rule replaces a value.
  ///
  /// - Returns: The errors of the last round.
  private func customErrors() throws -> [ValidationError] {
    let keys = Self.keysWithCustomValidation
    if keys.isEmpty { return [] }
    for _ in 0..<Self.validationRounds {
      var found = ValidationErrorCollector()
      var isReplaced = false
      for key in keys {
        let old = try value(forKey: key)
        var new = old
        do { try validateValue(&new, forKey: key) } catch {
          try found.add(error, of: self)
          continue
        }
        if try differs(new, from: old, forKey: key) {
          try setValue(new, forKey: key)
          isReplaced = true
        }
      }
      if !isReplaced { return found.errors }
    }
    return [
      ValidationError(
        object: self, reason: "the rules of \(keys.joined(separator: ", ")) keep replacing values; replace only values that must change")
    ]
  }

  private static var validationRounds: Int { 100 }

  /// Returns whether the stored forms of two values of a property differ.
  private func differs(_ new: Any?, from old: Any?, forKey key: String) throws -> Bool {
    switch compiledEntity.property(named: key) {
    case .attribute(let slot): return try slotValue(from: new, for: slot) != slotValue(from: old, for: slot)
    case .composite(let composite):
      return try composite.partNames.contains { part in
        let (new, old) = ((new as? [String: Any?])?[part] ?? nil, (old as? [String: Any?])?[part] ?? nil)
        return try differs(new, from: old, forKey: "\(composite.name).\(part)")
      }
    case .toOne: return (AttributeConversion.unwrapped(new) as? ManagedObject) !== (old as? ManagedObject)
    case .toMany:
      if let new = new as? [ManagedObject] { return new != (old as? [ManagedObject] ?? Array(old as? Set<ManagedObject> ?? [])) }
      return (new as? Set<ManagedObject> ?? []) != (old as? Set<ManagedObject> ?? [])
    case .fetched, nil: return false
    }
  }

  private func collectPropertyErrors(into errors: inout [ValidationError]) {
    let entity = compiledEntity
    let isNew = flags.contains(.isInserted)
    for slot in entity.slots {
      // Only the changed values of a stored object can be invalid.
      guard isNew || overlay?.isDirty(slot.index) ?? false, !slot.isDerived else { continue }
      // Large values have no rules, so their bytes are not read.
      if overlay?.external(slot.index) != nil { continue }
      let value = slotValue(slot.index)
      if let relationship = slot.relationship {
        if !relationship.isOptional, !refersToExistingObject(slot.index) { errors.append(missingValue(slot.name)) }
      } else if let error = attributeError(value, slot) {
        errors.append(error)
      }
    }
    if !entity.composites.isEmpty { collectCompositeErrors(into: &errors) }
    for relationship in entity.toManyRelationships {
      let description = relationship.relationshipDescription
      guard description.minCount > 0 || description.maxCount > 0 else { continue }
      guard isNew || toManyStates[relationship.index]?.isChanged ?? false else { continue }
      if let error = countError(existingCount(relationship), relationship) { errors.append(error) }
    }
  }

  /// Returns the error for the number of members of a to-many relationship; nil if it is allowed.
  private func countError(_ count: Int, _ relationship: CompiledRelationship) -> ValidationError? {
    let description = relationship.relationshipDescription
    // As in Core Data, an empty set is a value: a required relationship without a minimum count may be empty.
    let minimum = description.minCount
    if count < minimum, count > 0 || !relationship.isOptional {
      return ValidationError(
        .tooFewObjects, object: self, key: relationship.name,
        reason: "has \(count == 1 ? "1 object" : "\(count) objects"), at least \(minimum) \(minimum == 1 ? "is" : "are") required")
    }
    guard description.maxCount > 0, count > description.maxCount else { return nil }
    return ValidationError(
      .tooManyObjects, object: self, key: relationship.name,
      reason: "has \(count) objects, at most \(description.maxCount) \(description.maxCount == 1 ? "is" : "are") allowed")
  }

  /// Returns the number of members in a value of a to-many relationship; nil for a value of another type.
  private func memberCount(_ value: Any?) -> Int? {
    switch AttributeConversion.unwrapped(value) {
    case nil: 0
    case let members as Set<ManagedObject>: members.count
    case let members as any Collection: members.count
    default: nil
    }
  }

  /// Collects the errors of composite attributes: a required composite without any value, or a composite without a required part.
  private func collectCompositeErrors(into errors: inout [ValidationError]) {
    let isNew = flags.contains(.isInserted)
    // Nested composites can both require the same part.
    var missing = Set<Int>()
    for composite in compiledEntity.composites {
      guard isNew || composite.slots.contains(where: { overlay?.isDirty($0) ?? false }) else { continue }
      if composite.slots.allSatisfy({ !hasValue($0) }) {
        if !composite.attribute.isOptional, composite.requiredSlots.isEmpty { errors.append(missingValue(composite.name)) }
        continue
      }
      // Required parts of a required composite are not optional, so the slot check reports them.
      for slot in composite.requiredSlots where compiledEntity.slots[slot].isOptional && !hasValue(slot) {
        if missing.insert(slot).inserted { errors.append(missingValue(compiledEntity.slots[slot].name)) }
      }
    }
  }

  private func refersToExistingObject(_ slot: Int) -> Bool {
    let reference = referenceValue(slot)
    if reference.isNull { return false }
    guard let destination = managedObjectContext?.registeredObject(reference, near: self) else { return reference.key > 0 }
    return !destination.flags.contains(.isDeleted)
  }

  private func existingCount(_ relationship: CompiledRelationship) -> Int {
    var count = 0
    forEachMember(relationship.index) { _ in
    } body: { _ in
      count += 1
    }
    return count
  }

  final func missingValue(_ key: String) -> ValidationError {
    ValidationError(.missingValue, object: self, key: key, reason: "is required and has no value")
  }

  private func attributeError(_ value: Slot, _ slot: CompiledSlot) -> ValidationError? {
    guard let checker = slot.checker, slot.attributeType != .undefined else { return nil }
    // The attribute description is a large value; copy it only to build a message.
    guard let failure = checker.failure(of: value), let attribute = slot.attribute else { return nil }
    let bounds = attribute.validation
    let (code, reason): (ValidationError.Code, String) =
      switch failure {
      case .missing: (.missingValue, "is required and has no value")
      case .wrongType: (.custom, "has a value of another type than \(attribute.type.rawValue); set one of that type")
      case .notANumber: (.custom, "is not a number (NaN), which no store keeps; set a number, or nil if the attribute is optional")
      case .invalidDate: (.invalidDate, "has a date that is not finite; set another date, or nil if the attribute is optional")
      case .integerOutOfRange:
        (
          value.isNegative ? .numberTooSmall : .numberTooLarge, "has a number that does not fit into \(attribute.type.rawValue)"
        )
      case .numberTooSmall: (.numberTooSmall, "has a number below the minimum")
      case .numberTooLarge: (.numberTooLarge, "has a number above the maximum")
      case .dateTooEarly: (.dateTooSoon, "has a date before the earliest allowed")
      case .dateTooLate: (.dateTooLate, "has a date after the latest allowed")
      case .stringTooShort:
        (.stringTooShort, (bounds.minimumLength ?? 0) == 1 ? "is empty" : "has fewer than \(bounds.minimumLength ?? 0) characters")
      case .stringTooLong: (.stringTooLong, "has more than \(bounds.maximumLength ?? 0) characters")
      case .patternMismatch: (.patternMismatch, "does not match the pattern \(bounds.pattern ?? "")")
      }
    if let advice = Self.advice(of: failure) { return ValidationError(of: self, slot.name, reason, advice) }
    return ValidationError(code, object: self, key: slot.name, reason: reason)
  }

  /// Returns the advice for a failure that has no Core Data error code.
  private static func advice(of failure: AttributeFailure) -> ErrorAdvice? {
    switch failure {
    case .wrongType: ErrorAdvice(user: "The value has the wrong type.", developer: "Set a value of the attribute's type.")
    case .notANumber:
      ErrorAdvice(
        user: "The value is not a number.",
        developer: "Set a number. Look for a division by zero, or a sum of infinite numbers, where the value was computed.")
    default: nil
    }
  }

  /// Throws if a relationship whose delete rule forbids the deletion refers to an object that is not deleted.
  final func validateDenyRules() throws {
    guard let context = managedObjectContext else { return }
    var errors: [ValidationError] = []
    for relationship in compiledEntity.relationships where relationship.deleteEffect == .forbidsDeletion {
      var remaining = 0
      if relationship.isToMany {
        forEachMember(relationship.index) { _ in
        } body: { _ in
          remaining += 1
        }
      } else {
        let reference = referenceValue(relationship.index)
        if !reference.isNull, !(context.registeredObject(reference, near: self)?.flags.contains(.isDeleted) ?? false) { remaining = 1 }
      }
      if remaining > 0 {
        errors.append(
          ValidationError(
            .deletionDenied, object: self, key: relationship.name,
            reason:
              "the object cannot be deleted while it refers to \(remaining == 1 ? "another one; delete or move that" : "\(remaining) others; delete or move them") first"
          ))
      }
    }
    if !errors.isEmpty { throw ValidationError(errors) }
  }
}

extension ManagedObjectContext {
  /// Validates all objects of a save, and throws all errors at once.
  func validate(_ work: SaveSet) throws {
    var found = ValidationErrorCollector()
    for object in work.deleted { do { try object.validateForDelete() } catch { try found.add(error, of: object) } }
    for object in work.inserted { do { try object.validateForInsert() } catch { try found.add(error, of: object) } }
    for object in work.updated { do { try object.validateForUpdate() } catch { try found.add(error, of: object) } }
    try found.check()
  }
}

extension Slot {
  fileprivate var isNegative: Bool {
    if case .int(let value) = self { return value < 0 }
    return false
  }
}

// MARK: - Typed validation

extension ManagedObject {
  /// Runs a validation hook on the value of a required attribute. Called by generated overrides of ``validateValue(_:forKey:)``.
  ///
  /// The hook is not called for a missing value, which the model's rules report. A value that the hook assigns replaces the original.
  ///
  /// ```swift
  /// override func validateValue(_ value: inout Any?, forKey key: String) throws {
  ///   if key == "title" { try validate(&value, forKey: key, by: validateTitle) }
  ///   try super.validateValue(&value, forKey: key)
  /// }
  /// func validateTitle(_ value: inout String) throws { value = value.trimmingCharacters(in: .whitespaces) }
  /// ```
  ///
  /// - Parameters:
  ///   - value: The value, as ``ManagedObjectMembers/value(forKey:)`` returns it.
  ///   - key: The attribute.
  ///   - hook: The rule. Its type is the attribute's Swift type, an enumeration of its raw values, or the type of a transformable
  ///     attribute.
  /// - Throws: The errors of the hook; ``KeyValueError`` if the value has another type.
  public final func validate<Value>(_ value: inout Any?, forKey key: String, by hook: (inout Value) throws -> Void) throws {
    guard var typed: Value = try typedValue(value, forKey: key) else { return }
    try hook(&typed)
    value = Self.untyped(typed)
  }

  /// Runs a validation hook on the value of an optional attribute or to-one relationship. A missing value is nil. See
  /// ``validate(_:forKey:by:)``.
  ///
  /// - Parameters:
  ///   - value: The value, which the hook may change.
  ///   - key: The property's name.
  ///   - hook: The rule, with the type of the property.
  /// - Throws: The errors of the hook; ``KeyValueError`` if the value has another type.
  public final func validateOptional<Value>(_ value: inout Any?, forKey key: String, by hook: (inout Value?) throws -> Void) throws {
    var typed: Value? = try typedValue(value, forKey: key)
    try hook(&typed)
    value = typed.map(Self.untyped)
  }

  /// Converts an attribute value to the type of the generated property.
  private func typedValue<Value>(_ value: Any?, forKey key: String) throws -> Value? {
    guard let value = AttributeConversion.unwrapped(value) else { return nil }
    if let typed = value as? Value { return typed }
    if case .attribute(let slot) = compiledEntity.property(named: key), let attribute = slot.attribute {
      let stored = try slotValue(from: value, for: slot)
      do { return try AttributeConversion.value(of: stored, attribute, as: Value.self) } catch {
        let code: KeyValueError.Code = attribute.type == .transformable ? .transformFailed : .wrongType
        throw KeyValueError(code, key: key, entityName: compiledEntity.name, detail: error.description)
      }
    }
    throw KeyValueError(setting: key, of: compiledEntity, to: value, expected: "\(Value.self)")
  }

  /// Replaces an enumeration value with its raw value, which the attribute stores.
  private static func untyped<Value>(_ value: Value) -> Any {
    if value is any AttributeValue { return value }
    if let value = value as? any RawRepresentable { return value.rawValue }
    return value
  }
}

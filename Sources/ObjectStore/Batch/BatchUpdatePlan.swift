package import ObjectModel
package import ObjectQuery

/// A batch update that was validated against a model, with names resolved to numbers and constants to slots. Used by stores with a query
/// language and by evaluation in memory.
package struct BatchUpdatePlan: Sendable {
  /// A slot and its new value.
  package struct Assignment: Sendable {
    package let slot: CompiledSlot
    package let value: Value
  }

  /// A new value.
  package enum Value: Sendable {
    /// The same value for all rows. For a to-one relationship, the packed reference.
    case constant(Slot)
    /// An expression that is evaluated for each row. ``BatchUpdatePlan/assigned(_:to:of:)`` converts its result.
    case computed(ResolvedExpression)
  }

  /// The fetch that selects the rows, with the constants of all expressions.
  package let fetch: ResolvedFetch
  /// The new values, ordered by slot.
  package private(set) var assignments: [Assignment] = []
  /// The composites of which the update sets some attributes.
  package private(set) var completions: [CompositeCompletion] = []
  package var entity: CompiledEntity { fetch.entity }

  /// Validates a request.
  ///
  /// - Throws: ``BatchError``, ``FetchPredicateError``, or ``StoreError`` if no properties are set.
  package init(_ request: BatchUpdateRequest, model: CompiledModel, objectIDSpace space: ObjectIDSpace) throws {
    guard let entity = model.entity(named: request.entityName) else { throw FetchPredicateError.unknownEntity(name: request.entityName) }
    guard !request.propertiesToUpdate.isEmpty else {
      throw StoreError(.nothingToUpdate(entity: entity.name), operation: .batchUpdate)
    }
    var constants: [Int: Slot] = [:]
    var expressions: [(key: String, slot: CompiledSlot, expression: FetchExpression)] = []
    for (key, value) in request.propertiesToUpdate.sorted(by: { $0.key < $1.key }) {
      if let expression = value as? FetchExpression {
        expressions.append((key, try Self.slot(key, of: entity), expression))
      } else {
        try Self.collect(AttributeConversion.unwrapped(value), key, entity, model, space, into: &constants)
      }
    }
    let resolver = FetchResolver(model: model)
    let resolved = try resolver.resolve(
      request.predicate, values: expressions.map(\.expression), entity: entity, includesSubentities: request.includesSubentities)
    fetch = resolved.fetch
    var computed: [Int: ResolvedExpression] = [:]
    for (item, value) in zip(expressions, resolved.values) {
      switch try Self.check(value, item.slot, entity, model, space) {
      case .constant(let slot): constants[item.slot.index] = slot
      case .computed(let expression): computed[item.slot.index] = expression
      }
    }
    for slot in entity.slots {
      if let value = constants[slot.index] { assignments.append(Assignment(slot: slot, value: .constant(value))) }
      if let value = computed[slot.index] { assignments.append(Assignment(slot: slot, value: .computed(value))) }
    }
    completions = entity.composites.compactMap { CompositeCompletion($0, of: fetch.entity, assignments: assignments) }
  }

  /// Converts a computed value to the slot of an attribute.
  ///
  /// - Throws: ``BatchError`` if the attribute cannot take the value.
  package static func assigned(_ value: Slot, to slot: CompiledSlot, of entity: CompiledEntity) throws(BatchError) -> Slot {
    do { return try BatchValue.assigned(value, to: slot) } catch { throw error.error(entity.name) }
  }

  // MARK: Checks

  /// Validates a Swift value and adds it to the constants.
  private static func collect(
    _ value: Any?, _ key: String, _ entity: CompiledEntity, _ model: CompiledModel, _ space: ObjectIDSpace,
    into constants: inout [Int: Slot]
  ) throws {
    if case .composite(let composite) = entity.property(named: key) {
      for index in composite.slots { constants[index] = .null }
      guard let value else { return }
      guard let parts = value as? [String: Any?] else {
        throw BatchError(.wrongType, entityName: entity.name, key: key, reason: "is a composite: set it to a dictionary of its elements.")
      }
      for (name, part) in parts {
        try collect(AttributeConversion.unwrapped(part), "\(key).\(name)", entity, model, space, into: &constants)
      }
      composite.addDefaults(to: &constants, given: parts.keys, of: entity)
      return
    }
    let slot = try slot(key, of: entity)
    do throws(BatchValue.Failure) {
      if let relationship = slot.relationship {
        constants[slot.index] = try BatchValue.reference(from: value, for: relationship, model: model, space: space)
      } else {
        constants[slot.index] = try BatchValue.slot(from: value, for: slot)
      }
    } catch { throw error.error(entity.name) }
  }

  private static func slot(_ key: String, of entity: CompiledEntity) throws(BatchError) -> CompiledSlot {
    func failure(_ code: BatchError.Code, _ reason: String) -> BatchError {
      BatchError(code, entityName: entity.name, key: key, reason: reason)
    }
    switch entity.property(named: key) {
    case .attribute(let slot):
      guard slot.kind != .none else { throw failure(.notSettable, "is transient: no store keeps it.") }
      guard !slot.isDerived else { throw failure(.notSettable, "is derived: the store computes it. Set what it derives from.") }
      return slot
    case .toOne(let relationship): return entity.slots[relationship.index]
    case .composite: throw failure(.notSettable, "is a composite: set its parts, named by a dot, one by one.")
    case .toMany:
      throw failure(.notSettable, "is a to-many relationship. Set the to-one relationship back in the members, or save objects.")
    case .fetched: throw failure(.notSettable, "is a fetched property, which is not stored.")
    case nil:
      let advice = SimilarName.advice(for: key, among: entity.propertyNames).map { "; \($0)" } ?? ""
      throw failure(.unknownKey, "is not a property of the entity\(advice)\(advice.hasSuffix("?") ? "" : ".")")
    }
  }

  private static func check(
    _ value: ResolvedValue, _ slot: CompiledSlot, _ entity: CompiledEntity, _ model: CompiledModel, _ space: ObjectIDSpace
  ) throws(BatchError) -> Value {
    do throws(BatchValue.Failure) {
      if let relationship = slot.relationship {
        switch value {
        case .object(let id): return .constant(try BatchValue.reference(from: id, for: relationship, model: model, space: space))
        case .constant(.null, _): return .constant(try BatchValue.reference(from: nil, for: relationship, model: model, space: space))
        default:
          throw BatchValue.Failure(code: .wrongType, key: slot.name, reason: "is a to-one relationship: set it to an object's ID or nil.")
        }
      }
      let type: ResolvedType
      switch value {
      case .constant(.null, _): return .constant(try BatchValue.checked(.null, for: slot))
      case .constant(_, let given): type = given
      case .expression(let expression): type = expression.type
      case .object: type = .object
      }
      guard let attribute = slot.attributeType, BatchValue.canAssign(type, to: attribute) else {
        throw BatchValue.Failure(
          code: .wrongType, key: slot.name, reason: "is of type \(slot.attributeType?.rawValue ?? "none"); the expression has another type."
        )
      }
      switch value {
      case .expression(let expression): return .computed(expression)
      case .constant(let constant, _): return .constant(try BatchValue.assigned(constant, to: slot))
      case .object: return .constant(.null)
      }
    } catch { throw error.error(entity.name) }
  }
}

/// An optional composite of which a batch update sets some attributes.
///
/// As for objects, the first value of a composite also sets the default values of its required attributes. A required attribute that
/// remains null is an error.
package struct CompositeCompletion: Sendable {
  /// The stored attributes of the composite.
  package let slots: [CompiledSlot]
  /// The attributes that must have a value if any attribute of the composite has one.
  package let required: [CompiledSlot]
  /// The required attributes that have a default value and are not set by the update.
  package let defaults: [CompiledSlot]

  /// Returns nil if the update sets no attribute of the composite, or cannot leave a required attribute null.
  init?(_ composite: CompiledComposite, of entity: CompiledEntity, assignments: [BatchUpdatePlan.Assignment]) {
    let assigned = assignments.filter { composite.slots.contains($0.slot.index) }
    slots = composite.slots.map { entity.slots[$0] }.filter { $0.kind != .none }
    required = composite.requiredSlots.map { entity.slots[$0] }.filter { $0.kind != .none && $0.isOptional }
    guard !assigned.isEmpty, !required.isEmpty else { return nil }
    var (given, removed) = (SlotMask(), SlotMask())
    for assignment in assigned {
      given.insert(assignment.slot.index)
      if case .constant(.null) = assignment.value { removed.insert(assignment.slot.index) }
    }
    // All attributes are set to null, or all required ones are set to a value.
    if slots.allSatisfy({ removed.contains($0.index) }) { return nil }
    let setsRequired = assigned.filter { if case .constant(let value) = $0.value { !value.isNull } else { false } }.map(\.slot.index)
    if required.allSatisfy({ setsRequired.contains($0.index) }) { return nil }
    defaults = composite.slotsWithDefaults.map { entity.slots[$0] }.filter {
      $0.kind != .none && $0.isOptional && !given.contains($0.index)
    }
  }

  /// Returns the default values to set in a row.
  ///
  /// - Parameter isNull: Returns whether an attribute is null after the update.
  func values(_ isNull: (CompiledSlot) throws -> Bool) rethrows -> [(slot: CompiledSlot, value: Slot)] {
    if try defaults.isEmpty || slots.allSatisfy(isNull) { return [] }
    return try defaults.filter(isNull).map { ($0, $0.defaultValue) }
  }

  /// Returns a required attribute that is null, or nil if the composite is complete or entirely null.
  ///
  /// - Parameter isNull: Returns whether an attribute is null after the update, including default values.
  package func missing(_ isNull: (CompiledSlot) throws -> Bool) rethrows -> CompiledSlot? {
    try slots.allSatisfy(isNull) ? nil : try required.first(where: isNull)
  }
}

extension BatchError {
  /// Creates the error for a required attribute of a composite that a batch request leaves null.
  package init(missingPart slot: CompiledSlot, of entity: CompiledEntity, row: Int? = nil) {
    self.init(
      .missingValue, entityName: entity.name, key: slot.name, row: row,
      reason: "is a required element of a composite with a value, and would be empty. Set it too, or set all elements to nil.")
  }
}

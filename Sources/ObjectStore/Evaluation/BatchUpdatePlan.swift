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

import ObjectModel
import ObjectStore

/// Converts the values of merge rules and decisions to slots, for objects of one store.
struct ResolverValues {
  let model: CompiledModel
  let space: UInt32

  /// Returns the values of a decision, by slot.
  func slots(of decision: MergeDecision, _ entity: CompiledEntity) throws -> [Int: Slot] {
    var values: [Int: Slot] = [:]
    for (key, value) in decision.values {
      guard let slot = entity.slot(named: key), slot.kind != .none, !slot.isDerived else {
        throw KeyValueError(
          .unknownKey, key: key, entityName: entity.name,
          detail: "a merge policy gives values of stored attributes and to-one relationships")
      }
      values[slot.index] = try self.slot(of: value, slot, entity)
    }
    for (key, value) in decision.storedValues {
      // Values set on an object of a subentity may not be properties of the surviving object.
      if let slot = entity.slot(named: key), slot.kind != .none, !slot.isDerived { values[slot.index] = value }
    }
    return values
  }

  /// Converts the value of a rule to its stored form.
  func slot(of value: (any Sendable)?, _ slot: CompiledSlot, _ entity: CompiledEntity) throws -> Slot {
    guard let relationship = slot.relationship else {
      let isCoded = slot.attributeType == .transformable
      return try ManagedObject.slotValue(
        from: isCoded ? value : value.map(AttributeConversion.withoutEnumeration), for: slot, entityName: entity.name)
    }
    guard let value = AttributeConversion.unwrapped(value) else { return .null }
    guard let objectID = value as? ManagedObjectID, objectID.space == space, !objectID.isTemporaryID,
      model.entities[relationship.destinationEntity].subtree.contains(Int(objectID.entityNumber))
    else {
      throw KeyValueError(.wrongType, key: slot.name, entityName: entity.name, detail: "a merge policy gives the ID of a saved object")
    }
    return .int(objectID.reference.rawValue)
  }
}

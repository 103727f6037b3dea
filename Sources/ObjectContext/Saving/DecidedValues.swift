// DecidedValues: the values that rules and decisions of a merge policy name, as they are stored.
import ObjectModel
import ObjectStore

/// Turns what rules and decisions of a merge policy name into slots, for objects of one store.
struct DecidedValues {
  let model: CompiledModel
  let space: UInt32

  /// The values that a decision names, by slot.
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
      // What was set of an object of a lower entity need not be a property of the one that stays.
      if let slot = entity.slot(named: key), slot.kind != .none, !slot.isDerived { values[slot.index] = value }
    }
    return values
  }

  /// A rule's value as it is stored.
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

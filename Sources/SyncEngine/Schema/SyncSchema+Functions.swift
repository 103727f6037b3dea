import ObjectModel
import SyncCore

/// Functions of the application that merge attributes.
extension SyncSchema.Property {
  /// Returns the function that merges the attribute; nil if the model does not declare one. Whether it is registered is known when it is used.
  func mergeFunction(in entity: CompiledEntity) -> MergeFunction? {
    guard case .custom(let name) = mergeRule else { return nil }
    let slot = entity.slots[slot]
    return MergeFunction(name) { base, one, other in
      func value(_ value: FieldValue) throws -> Slot {
        // Another version of the model can have another type.
        guard let value = value.slot(slot.kind) else { throw MergeFunction.Failure.failed("\(AttributeType.self)") }
        return value
      }
      guard let merged = try SyncMergeFunctions.merged(name, base: try value(base), try value(one), try value(other), for: slot) else {
        return nil
      }
      if merged == .null, !slot.isOptional { throw MergeFunction.Failure.failed("nil") }
      return FieldValue(merged)
    }
  }
}

extension SyncModel {
  /// Whether functions merge attributes.
  var hasFunctions: Bool { entities.values.contains { !$0.functions.isEmpty } }
}

extension SyncSchema {
  /// Returns whether a function that merges an attribute is registered.
  func isFunctionRegistered(for property: PropertyID, of entity: EntityID) -> Bool {
    syncModel.function(for: property, of: entity).map { SyncMergeFunctions.isRegistered($0.name) } ?? false
  }
}

import Foundation
import ObjectModel
import ObjectStore

extension ManagedObject {
  /// Returns the reference-type value that was previously returned for an attribute with the given stored value.
  final func vendedValue(_ slot: Int, stored: Slot) -> AnyObject? {
    guard let context = managedObjectContext, !context.mutableValues.isEmpty, case .bytes(let bytes) = stored else { return nil }
    return context.mutableValues.value(self, slot, stored: bytes)
  }

  /// Tracks a value that was returned or set, if it is of a reference type and can therefore be mutated in place.
  final func trackVendedValue(_ value: Any?, _ slot: Int, stored: Slot) {
    guard let context = managedObjectContext else { return }
    guard let value = AttributeConversion.unwrapped(value), Swift.type(of: value) is AnyClass, case .bytes(let bytes) = stored else {
      return context.mutableValues.remove(self, slot)
    }
    context.mutableValues.record(value as AnyObject, self, slot, stored: bytes) { try encoded($0, at: slot) }
  }

  final func encoded(_ value: AnyObject, at slot: Int) throws -> Data {
    let property = compiledEntity.slots[slot]
    do { return try AttributeTransformers.data(from: value, transformerName: property.attribute?.valueTransformerName) } catch {
      throw KeyValueError(.transformFailed, key: property.name, entityName: compiledEntity.name, detail: error.description)
    }
  }

  final func bytes(of value: AnyObject, at slot: Int) -> Data? { try? encoded(value, at: slot) }
}

extension ManagedObjectContext {
  /// Updates the objects whose tracked values were mutated in place.
  func recordInPlaceMutations() {
    if mutableValues.isEmpty { return }
    do {
      for change in try mutableValues.takeChanges() where change.object.managedObjectContext === self && !change.object.isDeleted {
        change.object.setSlotValue(.bytes(change.bytes), at: change.slot)
      }
    } catch {
      record(error)
    }
  }
}

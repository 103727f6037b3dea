// ManagedObject+HandedOutValues: values of reference types on their way out of an object, and the changes made in them.
import Foundation
import ObjectModel
import ObjectStore

extension ManagedObject {
  /// The value given out for what an attribute has.
  final func valueGivenOut(_ slot: Int, stored: Slot) -> AnyObject? {
    guard let context = managedObjectContext, !context.handedOut.isEmpty, case .bytes(let bytes) = stored else { return nil }
    return context.handedOut.value(self, slot, stored: bytes)
  }

  /// Watches a value that is given out or was set, if it can be changed in place.
  final func noteGivenOut(_ value: Any?, _ slot: Int, stored: Slot) {
    guard let context = managedObjectContext else { return }
    guard let value = AttributeConversion.unwrapped(value), Swift.type(of: value) is AnyClass, case .bytes(let bytes) = stored else {
      return context.handedOut.remove(self, slot)
    }
    context.handedOut.note(value as AnyObject, self, slot, stored: bytes) { try encoded($0, at: slot) }
  }

  /// The bytes of a value of a transformable attribute.
  final func encoded(_ value: AnyObject, at slot: Int) throws -> Data {
    let property = compiledEntity.slots[slot]
    do { return try AttributeTransformers.data(from: value, transformerName: property.attribute?.valueTransformerName) } catch {
      throw KeyValueError(.transformFailed, key: property.name, entityName: compiledEntity.name, detail: error.description)
    }
  }

  final func bytes(of value: AnyObject, at slot: Int) -> Data? { try? encoded(value, at: slot) }
}

extension ManagedObjectContext {
  /// Objects whose values were changed in place are changed.
  func noticeChangesInPlace() {
    if handedOut.isEmpty { return }
    do {
      for change in try handedOut.takeChanges() where change.object.managedObjectContext === self && !change.object.isDeleted {
        change.object.setSlotValue(.bytes(change.bytes), at: change.slot)
      }
    } catch {
      note(error)
    }
  }
}

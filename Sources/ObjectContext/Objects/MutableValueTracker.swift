import Foundation
import ObjectModel
import ObjectStore

/// The values of reference types that transformable attributes have returned or were set to. Code that holds such a value can mutate it in
/// place without notifying the object, so the context compares the encoded values when it processes changes.
///
/// There is no cost if all values are structures or enumerations, which cannot be mutated in place.
struct MutableValueTracker {
  private struct Key: Hashable {
    let object: ObjectIdentifier
    let slot: Int
  }

  private struct Entry {
    /// Retained, so that a mutation of its value is saved even if the object has no other references.
    let object: ManagedObject
    var value: AnyObject
    /// The attribute's current bytes. If the attribute has other bytes, the value here is obsolete.
    var stored: Data
    /// The encoded value when it was last compared.
    var encoded: Data
  }

  private var entries: [Key: Entry] = [:]
  private var limit = Self.minimumLimit
  private static var minimumLimit: Int { 256 }

  var isEmpty: Bool { entries.isEmpty }

  mutating func removeAll() { entries = [:] }

  mutating func remove(_ object: ManagedObject) {
    if entries.isEmpty { return }
    for slot in object.compiledEntity.slots where slot.attributeType == .transformable { remove(object, slot.index) }
  }

  mutating func remove(_ object: ManagedObject, _ slot: Int) {
    if !entries.isEmpty { entries[Key(object: ObjectIdentifier(object), slot: slot)] = nil }
  }

  /// Returns the value that was returned earlier for the stored bytes.
  func value(_ object: ManagedObject, _ slot: Int, stored: Data) -> AnyObject? {
    guard let entry = entries[Key(object: ObjectIdentifier(object), slot: slot)], entry.stored == stored else { return nil }
    return entry.value
  }

  /// Adds a value. Values whose transformer does not encode deterministically are ignored, since mutations cannot be detected.
  mutating func record(_ value: AnyObject, _ object: ManagedObject, _ slot: Int, stored: Data, encode: (AnyObject) throws -> Data) {
    guard let encoded = try? encode(value), (try? encode(value)) == encoded else { return }
    if entries.count >= limit { sweep() }
    entries[Key(object: ObjectIdentifier(object), slot: slot)] = Entry(object: object, value: value, stored: stored, encoded: encoded)
  }

  /// Removes unmodified values without other references, which cannot be mutated any more.
  mutating func sweep() {
    if entries.isEmpty { return }
    for key in Array(entries.keys) where isUnchanged(key) {
      // Release the value, and add it again if it is still referenced elsewhere.
      guard let released = release(key), let value = released.value else { continue }
      entries[key] = Entry(object: released.object, value: value, stored: released.stored, encoded: released.encoded)
    }
    limit = max(Self.minimumLimit, entries.count * 2)
  }

  private func isUnchanged(_ key: Key) -> Bool {
    guard let entry = entries[key] else { return false }
    return entry.object.bytes(of: entry.value, at: key.slot) == entry.encoded
  }

  private mutating func release(_ key: Key) -> Released? {
    entries.removeValue(forKey: key).map { Released(object: $0.object, value: $0.value, stored: $0.stored, encoded: $0.encoded) }
  }

  private struct Released {
    let object: ManagedObject
    weak var value: AnyObject?
    let stored: Data
    let encoded: Data
  }

  /// Returns the values that were mutated in place since the last call, with their encoded bytes.
  mutating func takeChanges() throws -> [(object: ManagedObject, slot: Int, bytes: Data)] {
    var changes: [(object: ManagedObject, slot: Int, bytes: Data)] = []
    for (key, entry) in entries {
      guard (try? entry.object.loadedSlotValue(key.slot)) == .bytes(entry.stored) else {
        // The attribute was set to another value.
        entries[key] = nil
        continue
      }
      let encoded = try entry.object.encoded(entry.value, at: key.slot)
      if encoded == entry.encoded { continue }
      entries[key]?.encoded = encoded
      entries[key]?.stored = encoded
      changes.append((entry.object, key.slot, encoded))
    }
    return changes
  }
}

// MARK: - Tracking vended values

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

// HandedOutValues: values of reference types that transformable attributes have given out, and the changes made in them.
import Foundation
import ObjectModel
import ObjectStore

/// Values of reference types that objects of a context have given out or were given. Who holds one may change it in place, of which its object hears
/// nothing; so what it encodes to is compared from time to time.
///
/// Costs nothing where there are none: values of structures and enumerations cannot be changed in place.
struct HandedOutValues {
  private struct Key: Hashable {
    let object: ObjectIdentifier
    let slot: Int
  }

  private struct Entry {
    /// Held, so that a change of its value is saved also when nobody else holds the object.
    let object: ManagedObject
    var value: AnyObject
    /// What the attribute has: another value, and the one here counts no more.
    var stored: Data
    /// What the value encoded to when it was last looked at.
    var encoded: Data
  }

  private var entries: [Key: Entry] = [:]
  private var limit = Self.least
  private static var least: Int { 256 }

  var isEmpty: Bool { entries.isEmpty }

  mutating func removeAll() { entries = [:] }

  mutating func remove(_ object: ManagedObject) {
    if entries.isEmpty { return }
    for slot in object.compiledEntity.slots where slot.attributeType == .transformable { remove(object, slot.index) }
  }

  mutating func remove(_ object: ManagedObject, _ slot: Int) {
    if !entries.isEmpty { entries[Key(object: ObjectIdentifier(object), slot: slot)] = nil }
  }

  /// The value that was given out for stored bytes.
  func value(_ object: ManagedObject, _ slot: Int, stored: Data) -> AnyObject? {
    guard let entry = entries[Key(object: ObjectIdentifier(object), slot: slot)], entry.stored == stored else { return nil }
    return entry.value
  }

  /// Remembers a value. One whose transformer gives other bytes each time cannot be watched.
  mutating func note(_ value: AnyObject, _ object: ManagedObject, _ slot: Int, stored: Data, encode: (AnyObject) throws -> Data) {
    guard let encoded = try? encode(value), (try? encode(value)) == encoded else { return }
    if entries.count >= limit { sweep() }
    entries[Key(object: ObjectIdentifier(object), slot: slot)] = Entry(object: object, value: value, stored: stored, encoded: encoded)
  }

  /// Forgets unchanged values that nobody else holds: no one can change them any more.
  mutating func sweep() {
    if entries.isEmpty { return }
    for key in Array(entries.keys) where isUnchanged(key) {
      // Let go of it, and take it back if somebody else has it.
      guard let released = release(key), let value = released.value else { continue }
      entries[key] = Entry(object: released.object, value: value, stored: released.stored, encoded: released.encoded)
    }
    limit = max(Self.least, entries.count * 2)
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

  /// The values that were changed in place since the last time, with what they encode to.
  mutating func takeChanges() throws -> [(object: ManagedObject, slot: Int, bytes: Data)] {
    var changes: [(object: ManagedObject, slot: Int, bytes: Data)] = []
    for (key, entry) in entries {
      guard (try? entry.object.readSlotValueAtHand(key.slot)) == .bytes(entry.stored) else {
        // Another value has taken its place.
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

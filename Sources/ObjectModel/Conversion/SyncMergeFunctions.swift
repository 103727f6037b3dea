import Foundation
import Synchronization

/// The process-wide registry of the functions that merge attributes with the rule ``SyncMergeRule/custom(_:)``. Safe to use from any thread.
///
/// ```swift
/// // In the model: Attribute("tags", transforming: Set<String>.self).syncMergeRule(.custom("tags"))
/// SyncMergeFunctions.register(Set<String>.self, forName: "tags") { base, one, other in
///   let (base, one, other) = (base ?? [], one ?? [], other ?? [])
///   return one.intersection(other).union(one.subtracting(base)).union(other.subtracting(base))
/// }
/// ```
///
/// If devices change the attribute without knowing each other's changes, synchronization calls the function with the last value that all of
/// them knew, and with two values that were made of it. Register functions before a store is opened. They are called on the thread that
/// synchronizes the store, while it is locked for writing, so they should be fast and must not use the store.
///
/// All devices compute the merged value themselves. A function must therefore return the same value on all devices: it may use its arguments
/// only, and the order of the two values must not matter. Equal values must have equal bytes, too: a set that is a property of a structure
/// does not, because its order is random. Each call is made with both orders. If the results differ, or the function throws an error, the last
/// value remains, and the other ones are in the journal. A program without the function shows the last value, and keeps all values for
/// devices with the function.
public enum SyncMergeFunctions {
  typealias Function = @Sendable (_ base: Slot, _ one: Slot, _ other: Slot, _ slot: CompiledSlot) throws -> Slot
  private static let registry = Mutex<[String: Function]>([:])

  /// Registers a function under a name, replacing an earlier one.
  ///
  /// - Parameters:
  ///   - type: The type of the values: that of the attribute, or another one that can hold them, as for reading the attribute.
  ///   - name: The name in the rule.
  ///   - merge: Returns the merged value. Nil is the attribute's value nil.
  public static func register<Value: Sendable>(
    _ type: Value.Type, forName name: String,
    _ merge: @escaping @Sendable (_ base: Value?, _ one: Value?, _ other: Value?) throws -> Value?
  ) {
    registry.withLock {
      $0[name] = { base, one, other, slot in
        guard let attribute = slot.attribute else { throw AttributeConversion.Failure.wrongType }
        func value(_ slot: Slot) throws -> Value? { try AttributeConversion.value(of: slot, attribute, as: type) }
        let merged = try merge(try value(base), try value(one), try value(other))
        return try AttributeConversion.slot(from: merged.map(AttributeConversion.withoutEnumeration), for: slot)
      }
    }
  }

  /// Removes the function of a name.
  ///
  /// - Returns: Whether one was registered.
  @discardableResult
  public static func unregister(forName name: String) -> Bool { registry.withLock { $0.removeValue(forKey: name) != nil } }

  /// Returns whether a function is registered under a name.
  public static func isRegistered(_ name: String) -> Bool { registry.withLock { $0[name] != nil } }

  /// Merges two values of an attribute.
  ///
  /// - Returns: Nil if no function is registered under the name.
  /// - Throws: Errors of the function, and of converting values.
  package static func merged(_ name: String, base: Slot, _ one: Slot, _ other: Slot, for slot: CompiledSlot) throws -> Slot? {
    try registry.withLock { $0[name] }?(base, one, other, slot)
  }
}

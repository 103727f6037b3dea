public import ObjectModel
import Synchronization

/// The process-wide registry of functions that convert the values of attributes whose type differs between versions of the model. Safe to use
/// from any thread.
///
/// ```swift
/// // The attribute was a String in earlier versions, and is a Date now.
/// SyncConversions.register(from: String.self, to: Date.self, forAttribute: "birthday", ofEntity: "Person") { text in
///   try? Date(text, strategy: .iso8601)
/// }
/// ```
///
/// A synchronized record keeps a value as it was written, whatever type it has in other versions. Where the stored forms of the two types
/// differ, an object shows the value converted by the function for these types. Without one, numbers and texts are converted if nothing is
/// lost by it. What cannot be converted is nil, or the default value of a required attribute.
///
/// Register functions before a store is opened. They are called on the thread that synchronizes the store, while it is locked for writing,
/// so they should be fast and must not use the store. A function must always return the same value for the same argument.
public enum SyncConversions {
  private typealias Function = @Sendable (_ value: Slot, _ slot: CompiledSlot) -> Slot?
  private struct Key: Hashable {
    let entity: String
    let name: String
  }

  private static let registry = Mutex<[Key: [(source: ObjectIdentifier, function: Function)]]>([:])

  /// Registers a function for an attribute, replacing an earlier one for the same source type.
  ///
  /// - Parameters:
  ///   - source: The type that the attribute has in another version.
  ///   - type: The type that the attribute has in the model of this program.
  ///   - attribute: The name of the attribute, or the path of a composite's part, such as `home.city`.
  ///   - entity: The name of the entity that has the attribute. The function is valid for its subentities too.
  ///   - convert: Returns the converted value; nil if it cannot be converted.
  public static func register<Source: AttributeValue, Value: AttributeValue>(
    from source: Source.Type, to type: Value.Type, forAttribute attribute: String, ofEntity entity: String,
    _ convert: @escaping @Sendable (Source) -> Value?
  ) {
    let function: Function = { value, slot in
      guard let value = value.value(as: source), let converted = convert(value) else { return nil }
      return try? AttributeConversion.slot(from: converted, for: slot)
    }
    registry.withLock { registry in
      let id = ObjectIdentifier(source)
      registry[Key(entity: entity, name: attribute), default: []].removeAll { $0.source == id }
      registry[Key(entity: entity, name: attribute), default: []].append((id, function))
    }
  }

  /// Removes the functions of an attribute.
  ///
  /// - Returns: Whether one was registered.
  @discardableResult
  public static func unregister(forAttribute attribute: String, ofEntity entity: String) -> Bool {
    registry.withLock { $0.removeValue(forKey: Key(entity: entity, name: attribute)) != nil }
  }

  /// Returns a value of another type as one of an attribute; nil if no function converts it.
  static func converted(_ value: Slot, for slot: CompiledSlot, of entity: CompiledEntity, in model: CompiledModel) -> Slot? {
    var next: CompiledEntity? = entity
    while let entity = next {
      let functions = registry.withLock { $0[Key(entity: entity.name, name: slot.name)] } ?? []
      for (_, function) in functions { if let converted = function(value, slot) { return converted } }
      next = entity.parent.map { model.entities[$0] }
    }
    return nil
  }
}

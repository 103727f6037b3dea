// StoreSettings: what a class of stores can be told by a description, with types, and descriptions made of a dictionary of options.
import Foundation

/// The name and type of a setting that a class of stores has beside those of every store.
///
/// A description keeps a value for each. Declare the keys as static members, and tell the class's in ``IncrementalStore/settings``, so that a description
/// can be made of a dictionary too:
///
/// ```swift
/// import CipherDataEngine
///
/// extension StoreSettingKey<Bool> {
///   static var isIndented: Self { Self("isIndented") }
/// }
/// ```
/// ```swift
/// var description = PersistentStoreDescription(type: StoreType(rawValue: "JSON"), url: url)
/// description[.isIndented] = true
/// ```
///
/// Two keys of one name with different types are two settings, so that a value never has another type than its key.
public struct StoreSettingKey<Value: Sendable>: Sendable, Hashable {
  /// The setting's name, which a dictionary of options has for it.
  public let name: String

  /// The key of a setting.
  public init(_ name: String) { self.name = name }

  var identity: StoreSettingIdentity { StoreSettingIdentity(name: name, type: ObjectIdentifier(Value.self)) }
}

/// A key without its type parameter.
struct StoreSettingIdentity: Sendable, Hashable {
  let name: String
  let type: ObjectIdentifier
}

/// A setting that a class of stores knows, for descriptions that are made of a dictionary.
public struct StoreSetting: Sendable {
  /// The setting's name in a dictionary.
  public let name: String
  /// The name of its values' type, for errors.
  let typeName: String
  /// Sets a value; false when it has another type.
  let apply: @Sendable (any Sendable, inout PersistentStoreDescription) -> Bool

  /// The setting of a key.
  public init<Value: Sendable>(_ key: StoreSettingKey<Value>) {
    name = key.name
    typeName = "\(Value.self)"
    apply = { value, description in
      guard let value = value as? Value else { return false }
      description[key] = value
      return true
    }
  }

  /// The setting that a property of descriptions sets, which may do more than keep the value.
  public init<Value: Sendable>(_ name: String, _ property: any WritableKeyPath<PersistentStoreDescription, Value> & Sendable) {
    self.name = name
    typeName = "\(Value.self)"
    apply = { value, description in
      guard let value = value as? Value else { return false }
      description[keyPath: property] = value
      return true
    }
  }
}

extension PersistentStoreDescription {
  /// The settings of every store, as a dictionary names them: by the names of the description's properties.
  package static var commonSettings: [StoreSetting] {
    [
      StoreSetting("configuration", \.configuration), StoreSetting("isReadOnly", \.isReadOnly),
      StoreSetting("createsStore", \.createsStore),
      StoreSetting("shouldMigrateStoreAutomatically", \.shouldMigrateStoreAutomatically),
      StoreSetting("shouldInferMappingModelAutomatically", \.shouldInferMappingModelAutomatically),
      StoreSetting("defersLightweightMigration", \.defersLightweightMigration),
      StoreSetting("migrationBackupURL", \.migrationBackupURL), StoreSetting("migrationAuthor", \.migrationAuthor),
      StoreSetting("requiresTransformers", \.requiresTransformers),
      StoreSetting("historyTracking", \.historyTracking), StoreSetting("historyLevel", \.historyLevel),
      StoreSetting("historyRetention", \.historyRetention),
      StoreSetting("postsRemoteChangeNotifications", \.postsRemoteChangeNotifications),
    ]
  }
}

import Foundation

/// The name and value type of a setting that a store class has in addition to the common settings.
///
/// A description contains a value for each key. Declare keys as static members, and list the class's settings in
/// ``IncrementalStore/settings`` so that a description can also be created from a dictionary:
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
/// Keys with the same name but different value types identify different settings, so a value always has the type of its key.
public struct StoreSettingKey<Value: Sendable>: Sendable, Hashable {
  /// The name of the setting, used as its key in option dictionaries.
  public let name: String

  /// Creates a key.
  public init(_ name: String) { self.name = name }

  var identity: StoreSettingIdentity { StoreSettingIdentity(name: name, type: ObjectIdentifier(Value.self)) }
}

/// A setting key without its generic parameter.
struct StoreSettingIdentity: Sendable, Hashable {
  let name: String
  let type: ObjectIdentifier
}

/// A setting of a store class, for descriptions that are created from a dictionary.
public struct StoreSetting: Sendable {
  /// The key in a dictionary.
  public let name: String
  /// The name of the value type, for errors.
  let typeName: String
  /// Sets a value. Returns false if the value is of another type.
  let apply: @Sendable (any Sendable, inout PersistentStoreDescription) -> Bool

  /// Creates the setting of a key.
  public init<Value: Sendable>(_ key: StoreSettingKey<Value>) {
    name = key.name
    typeName = "\(Value.self)"
    apply = { value, description in
      guard let value = value as? Value else { return false }
      description[key] = value
      return true
    }
  }

  /// Creates a setting that assigns a property of a description. The property's setter may do more than store the value.
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
  /// The settings of all stores. Their dictionary keys are the names of the description's properties.
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

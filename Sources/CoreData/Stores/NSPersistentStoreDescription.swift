public import Foundation
package import ObjectStore
import SQLCipherStore
public import StoreKeys
import Synchronization

/// The type of encrypted stores in files, the only persistent type.
public let NSSQLiteStoreType = "SQLite"
/// The type of in-memory stores, which are discarded with their coordinator.
public let NSInMemoryStoreType = "InMemory"
/// The type of stores in one file that are read and written as a whole. Unless the application registers a class for it, adding such a
/// store fails with an error that names the alternative.
public let NSBinaryStoreType = "Binary"
/// The option to migrate a store to the model automatically.
public let NSMigratePersistentStoresAutomaticallyOption =
  "NSMigratePersistentStoresAutomaticallyOption"
/// The option to infer the mapping to the model.
public let NSInferMappingModelAutomaticallyOption = "NSInferMappingModelAutomaticallyOption"
/// The option to open a store read-only.
public let NSReadOnlyPersistentStoreOption = "NSReadOnlyPersistentStoreOption"
/// The option to track a store's history.
public let NSPersistentHistoryTrackingKey = "NSPersistentHistoryTrackingKey"
/// The option for SQLite pragmas.
///
/// `journal_mode` is accepted without effect: the journal is always a write-ahead log, which is truncated and removed when the last
/// connection closes. `synchronous` determines what may be lost in a power failure. Other pragmas are errors.
public let NSSQLitePragmasOption = "NSSQLitePragmasOption"
/// The option to post notifications of commits by other processes and coordinators.
public let NSPersistentStoreRemoteChangeNotificationPostOptionKey =
  "NSPersistentStoreRemoteChangeNotificationOptionKey"

/// The configuration with which a store is opened.
open class NSPersistentStoreDescription: NSObject, NSCopying {
  /// The store type; ``NSSQLiteStoreType`` for encrypted stores.
  open var type: String = NSSQLiteStoreType
  /// The model configuration of the store; nil for all entities.
  open var configuration: String?
  /// The store's URL.
  open var url: URL?
  /// Whether the store is opened read-only.
  open var isReadOnly = false
  /// The maximum time to wait for locks, in seconds.
  open var timeout: TimeInterval = 240
  /// Whether the store is opened asynchronously.
  open var shouldAddStoreAsynchronously = false
  /// Whether the store is migrated to the model automatically.
  open var shouldMigrateStoreAutomatically = true
  /// Whether the mapping to the model is inferred.
  open var shouldInferMappingModelAutomatically = true
  /// The store's key; nil for ``NSPersistentContainer/defaultEncryptionKey``.
  open var encryptionKey: StoreKey?
  /// The other options.
  public private(set) var options: [String: NSObject] = [:]

  /// Creates a description without a URL.
  public required override init() {}

  /// Returns an independent copy of the description.
  open func copy(with zone: NSZone? = nil) -> Any {
    let copy = Self()
    (copy.type, copy.configuration, copy.url, copy.isReadOnly, copy.timeout) = (
      type, configuration, url, isReadOnly, timeout
    )
    copy.shouldAddStoreAsynchronously = shouldAddStoreAsynchronously
    copy.shouldMigrateStoreAutomatically = shouldMigrateStoreAutomatically
    copy.shouldInferMappingModelAutomatically = shouldInferMappingModelAutomatically
    (copy.encryptionKey, copy.options) = (encryptionKey, options)
    return copy
  }

  /// Creates a description of the encrypted store at a URL.
  public init(url: URL) { self.url = url }

  /// Sets or removes an option.
  open func setOption(_ option: NSObject?, forKey key: String) {
    options[key] = option
    guard let number = option as? NSNumber else { return }
    switch key {
    case NSMigratePersistentStoresAutomaticallyOption:
      shouldMigrateStoreAutomatically = number.boolValue
    case NSInferMappingModelAutomaticallyOption:
      shouldInferMappingModelAutomatically = number.boolValue
    case NSReadOnlyPersistentStoreOption: isReadOnly = number.boolValue
    default: break
    }
  }

  /// Returns the description as a value.
  ///
  /// - Parameter needsKey: Whether the store is read or written, as opposed to only removing its files.
  /// - Throws: ``StoreDescriptionError`` if the type or an option is unknown, or a required key is missing.
  package func value(needsKey: Bool = true) throws -> PersistentStoreDescription {
    var value: PersistentStoreDescription
    switch type {
    case NSSQLiteStoreType:
      guard let url else { throw StoreDescriptionError.missingURL }
      if url.path == "/dev/null" {
        value = PersistentStoreDescription(type: .inMemory)
        break
      }
      let key = encryptionKey ?? DefaultEncryptionKey.key
      if needsKey, key == nil { throw StoreDescriptionError.missingKey(url.path) }
      value = PersistentStoreDescription(url: url, key: key)
      value.busyTimeout = timeout
    case NSInMemoryStoreType: value = PersistentStoreDescription(type: .inMemory)
    default:
      guard RegisteredStoreTypes.has(type) else {
        throw type == NSBinaryStoreType ? StoreDescriptionError.binary : StoreDescriptionError.unknownType(type)
      }
      value = PersistentStoreDescription(type: StoreType(rawValue: type))
      value.url = url
    }
    value.configuration = configuration
    // The author that Core Data uses for migrations.
    value.migrationAuthor = "com.apple.coredata.schemamigrator"
    value.isReadOnly = isReadOnly
    value.shouldMigrateStoreAutomatically = shouldMigrateStoreAutomatically
    value.shouldInferMappingModelAutomatically = shouldInferMappingModelAutomatically
    // A custom store interprets its other options itself.
    for (key, option) in options where !RegisteredStoreTypes.has(type) || Self.knownOptions.contains(key) {
      try set(option, key, in: &value)
    }
    return value
  }

  private static let knownOptions: Set<String> = [
    NSPersistentHistoryTrackingKey, NSPersistentStoreRemoteChangeNotificationPostOptionKey,
  ]

  /// Sets a pragma, as an entry of ``NSSQLitePragmasOption``.
  ///
  /// - Parameters:
  ///   - value: The value; nil to remove the pragma.
  ///   - name: The pragma's name.
  open func setValue(_ value: NSObject?, forPragmaNamed name: String) {
    var pragmas = sqlitePragmas
    pragmas[name] = value
    setOption(pragmas.isEmpty ? nil : NSDictionary(dictionary: pragmas), forKey: NSSQLitePragmasOption)
  }
  /// The pragmas.
  open var sqlitePragmas: [String: NSObject] {
    (options[NSSQLitePragmasOption] as? NSDictionary).map { pragmas in
      pragmas.reduce(into: [:]) { $0["\($1.key)"] = $1.value as? NSObject ?? NSString(string: "\($1.value)") }
    } ?? [:]
  }

  private func set(pragmas: NSObject, in value: inout PersistentStoreDescription) throws {
    for (name, setting) in pragmas as? NSDictionary ?? [:] {
      switch "\(name)".lowercased() {
      case "journal_mode": break
      case "synchronous":
        switch "\(setting)".lowercased() {
        case "2", "full", "3", "extra": value.durability = .full
        case "0", "off", "1", "normal": value.durability = .fast
        default: throw StoreDescriptionError.pragma("\(name)")
        }
      default: throw StoreDescriptionError.pragma("\(name)")
      }
    }
  }

  private func set(_ option: NSObject, _ key: String, in value: inout PersistentStoreDescription) throws {
    if let option = option as? any StoreOption { return option.set(in: &value) }
    switch key {
    case NSPersistentHistoryTrackingKey:
      value.historyTracking = (option as? NSNumber)?.boolValue ?? true
    case NSPersistentStoreRemoteChangeNotificationPostOptionKey:
      value.postsRemoteChangeNotifications = (option as? NSNumber)?.boolValue ?? true
    case NSMigratePersistentStoresAutomaticallyOption, NSInferMappingModelAutomaticallyOption,
      NSReadOnlyPersistentStoreOption:
      break
    case NSSQLitePragmasOption: try set(pragmas: option, in: &value)
    default:
      if !setStoreOption(option, key, in: &value) { throw StoreDescriptionError.unknownOption(key) }
    }
  }
}

/// A store option whose value is an object that applies itself to the description.
protocol StoreOption: NSObject {
  func set(in description: inout PersistentStoreDescription)
}

/// The errors of an invalid store description.
enum StoreDescriptionError: LocalizedError, CodedError {
  case missingURL
  case binary
  case missingKey(String)
  case unknownType(String)
  case unknownOption(String)
  case pragma(String)

  var number: Int {
    switch self {
    case .binary, .unknownType: NSPersistentStoreInvalidTypeError
    case .missingURL, .missingKey: NSPersistentStoreOpenError
    case .unknownOption, .pragma: NSPersistentStoreOperationError
    }
  }

  var errorDescription: String? {
    switch self {
    case .missingURL: "the description of the store has no URL; set one"
    case .missingKey(let path):
      "there is no key for the store \(path), and a store is never written without one; set the description's encryptionKey, or NSPersistentContainer.defaultEncryptionKey"
    case .binary:
      "a binary store would be read and written as a whole, and unencrypted; NSSQLiteStoreType is the encrypted store, NSInMemoryStoreType one in memory"
    case .unknownType(let type):
      "there are no stores of the type \(type); NSSQLiteStoreType is the encrypted one"
    case .pragma(let name):
      "the pragma \(name) cannot be set: the store sets its own; leave it out of NSSQLitePragmasOption"
    case .unknownOption(let key):
      "there is no option \(key) of stores"
        + (CoreDataOption(rawValue: key).map { ": \($0.counterpart)" } ?? "; leave it out")
    }
  }
}

/// The types of custom stores.
enum RegisteredStoreTypes {
  private static let names = Mutex<Set<String>>([])

  static func set(_ name: String, isRegistered: Bool) { names.withLock { if isRegistered { $0.insert(name) } else { $0.remove(name) } } }
  static func has(_ name: String) -> Bool { names.withLock { $0.contains(name) } }
}

/// The key of stores whose descriptions have no key of their own.
enum DefaultEncryptionKey {
  private static let stored = Mutex<StoreKey?>(nil)

  static var key: StoreKey? {
    get { stored.withLock { $0 } }
    set { stored.withLock { $0 = newValue } }
  }
}

/// The option for the maximum time to wait for other writers, in seconds.
public let NSPersistentStoreTimeoutOption = "NSPersistentStoreTimeoutOption"
/// The option for the maximum number of concurrent readers of a store.
public let NSPersistentStoreConnectionPoolMaxSizeKey = "NSPersistentStoreConnectionPoolMaxSizeKey"
/// The option for the system's file protection. Files are encrypted regardless of its value.
public let NSPersistentStoreFileProtectionKey = "NSPersistentStoreFileProtectionKey"
/// The option to defer tasks of a migration until ``NSPersistentStoreCoordinator/finishDeferredLightweightMigration()``.
public let NSPersistentStoreDeferredLightweightMigrationOptionKey =
  "NSPersistentStoreDeferredLightweightMigrationOptionKey"

/// Sets an option of a description.
///
/// - Returns: Whether the option is one of those declared here.
func setStoreOption(
  _ option: NSObject, _ key: String, in description: inout PersistentStoreDescription
) -> Bool {
  let number = option as? NSNumber
  switch key {
  case NSPersistentStoreTimeoutOption:
    if let number { description.busyTimeout = number.doubleValue }
  case NSPersistentStoreConnectionPoolMaxSizeKey:
    if let number { description.maximumReaderCount = max(1, number.intValue) }
  case NSPersistentStoreDeferredLightweightMigrationOptionKey:
    description.defersLightweightMigration = number?.boolValue ?? true
  case NSPersistentStoreFileProtectionKey: break
  default: return false
  }
  return true
}

// The names of store types that are recognized but never opened, since they are not encrypted.

/// The type of XML stores, which are not supported: opening one fails with an error that says so.
///
/// It is deprecated instead of unavailable because sources use it to distinguish store types.
@available(*, deprecated, message: "there are no XML stores, since everything that is written is encrypted; use NSSQLiteStoreType")
public var NSXMLStoreType: String { "XML" }

// NSPersistentStoreDescription: what a store is and how it is opened.
public import Foundation
package import ObjectStore
import SQLCipherStore
public import StoreKeys
import Synchronization

/// The encrypted store in a file: there is no other one.
public let NSSQLiteStoreType = "SQLite"
/// A store in memory, which is gone with its coordinator.
public let NSInMemoryStoreType = "InMemory"
/// A store in one file that is read and written as a whole. There is none: adding one fails, and the error says what to use, unless the application registers a
/// class of its own for it.
public let NSBinaryStoreType = "Binary"
/// The option that takes a store to the model by itself.
public let NSMigratePersistentStoresAutomaticallyOption =
  "NSMigratePersistentStoresAutomaticallyOption"
/// The option that infers how a store gets to the model.
public let NSInferMappingModelAutomaticallyOption = "NSInferMappingModelAutomaticallyOption"
/// The option by which a store is only read.
public let NSReadOnlyPersistentStoreOption = "NSReadOnlyPersistentStoreOption"
/// The option by which a store keeps its history.
public let NSPersistentHistoryTrackingKey = "NSPersistentHistoryTrackingKey"
/// The option of a database's pragmas. `journal_mode` is accepted and has no effect: the journal is always a write-ahead log, which is emptied and removed when the last
/// connection closes. `synchronous` chooses what a power cut may lose. Others are errors.
public let NSSQLitePragmasOption = "NSSQLitePragmasOption"
/// The option by which others' commits are told.
public let NSPersistentStoreRemoteChangeNotificationPostOptionKey =
  "NSPersistentStoreRemoteChangeNotificationOptionKey"

/// What a store is and how it is opened.
open class NSPersistentStoreDescription: NSObject, NSCopying {
  /// The kind of store: ``NSSQLiteStoreType`` is the encrypted one.
  open var type: String = NSSQLiteStoreType
  /// The configuration of the model whose entities it holds; nil for all.
  open var configuration: String?
  /// Where it lies.
  open var url: URL?
  /// Whether it is only read.
  open var isReadOnly = false
  /// How long is waited for others, in seconds.
  open var timeout: TimeInterval = 240
  /// Whether it is opened while the caller goes on.
  open var shouldAddStoreAsynchronously = false
  /// Whether it is taken to the model by itself.
  open var shouldMigrateStoreAutomatically = true
  /// Whether the way to the model is inferred.
  open var shouldInferMappingModelAutomatically = true
  /// Its key; nil for ``NSPersistentContainer/defaultEncryptionKey``.
  open var encryptionKey: StoreKey?
  /// What else was set.
  public private(set) var options: [String: NSObject] = [:]

  /// The description of a store that has no place yet.
  public required override init() {}

  /// A description that says the same, and is changed by itself.
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

  /// The description of the encrypted store at a place.
  public init(url: URL) { self.url = url }

  /// Sets an option, or takes it back.
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

  /// The description as a value.
  ///
  /// - Parameter needsKey: Whether the store is read or written, and not only its files removed.
  /// - Throws: ``StoreDescriptionError`` for a type or an option that there is not, and where there is no key.
  package func value(needsKey: Bool = true) throws -> PersistentStoreDescription {
    var value: PersistentStoreDescription
    switch type {
    case NSSQLiteStoreType:
      guard let url else { throw StoreDescriptionError.missingPlace }
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
    // The author that Core Data gives migrations.
    value.migrationAuthor = "com.apple.coredata.schemamigrator"
    value.isReadOnly = isReadOnly
    value.shouldMigrateStoreAutomatically = shouldMigrateStoreAutomatically
    value.shouldInferMappingModelAutomatically = shouldInferMappingModelAutomatically
    // What else is said to a store of the application's own, it knows itself.
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
  /// The pragmas that were set.
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

/// What an option of stores says, where it is an object that knows so itself.
protocol StoreOption: NSObject {
  func set(in description: inout PersistentStoreDescription)
}

/// What is wrong with a store's description.
enum StoreDescriptionError: LocalizedError, NumberedError {
  case missingPlace
  case binary
  case missingKey(String)
  case unknownType(String)
  case unknownOption(String)
  case pragma(String)

  var number: Int {
    switch self {
    case .binary, .unknownType: NSPersistentStoreInvalidTypeError
    case .missingPlace, .missingKey: NSPersistentStoreOpenError
    case .unknownOption, .pragma: NSPersistentStoreOperationError
    }
  }

  var errorDescription: String? {
    switch self {
    case .missingPlace: "the description of the store has no URL; set one"
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

/// The types of stores of the application's own.
enum RegisteredStoreTypes {
  private static let names = Mutex<Set<String>>([])

  static func set(_ name: String, isThere: Bool) { names.withLock { if isThere { $0.insert(name) } else { $0.remove(name) } } }
  static func has(_ name: String) -> Bool { names.withLock { $0.contains(name) } }
}

/// The key of stores whose descriptions have none of their own.
enum DefaultEncryptionKey {
  private static let stored = Mutex<StoreKey?>(nil)

  static var key: StoreKey? {
    get { stored.withLock { $0 } }
    set { stored.withLock { $0 = newValue } }
  }
}

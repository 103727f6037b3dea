public import Foundation
import Logging
public import ObjectStore
import SQLCipherConnection
public import StoreKeys

extension StoreType {
  /// A database encrypted with SQLCipher.
  ///
  /// The value contains its store class, which needs no registration. To create the type from its name, for example in a configuration
  /// file, register ``SQLCipherIncrementalStore`` for it.
  public static let sqlcipher = StoreType(rawValue: "SQLCipher", storeClass: SQLCipherIncrementalStore.self)
}

extension PersistentStoreDescription {
  /// Creates a description of an encrypted store.
  ///
  /// - Parameters:
  ///   - url: The location of the store's file.
  ///   - key: The key that opens the store, or `nil` if ``key`` is set later.
  public init(url: URL, key: StoreKey? = nil) {
    self.init(type: .sqlcipher, url: url)
    self.key = key
  }

  /// The key that opens the store.
  public var key: StoreKey? {
    get { self[.key] }
    set {
      // A key implies a store of this type. Created from its name, the type lacks the store class.
      if type == .sqlcipher { type = .sqlcipher }
      self[.key] = newValue
    }
  }

  /// The durability of saves when power fails. The default is ``StoreDurability/full``.
  public var durability: StoreDurability {
    get { self[.durability] ?? .full }
    set { self[.durability] = newValue }
  }

  /// Whether SQLite checks foreign keys at each save. The default is `false`: the object graph maintains references, and the check nearly
  /// doubles the cost of deletions. `verify` always checks them.
  public var enforcesForeignKeys: Bool {
    get { self[.enforcesForeignKeys] ?? false }
    set { self[.enforcesForeignKeys] = newValue }
  }

  /// The page cache of each connection, in bytes. The default is 16 MiB. A smaller cache can make large operations several times slower,
  /// since pages are decrypted again.
  public var cacheSize: Int {
    get { self[.cacheSize] ?? ConnectionOptions().cacheSizeKiB * 1024 }
    set { self[.cacheSize] = newValue }
  }

  /// The maximum time that a save waits for a save of another process, in seconds. The default is 5.
  public var busyTimeout: TimeInterval {
    get { self[.busyTimeout] ?? TimeInterval(ConnectionOptions().busyTimeoutMilliseconds) / 1000 }
    set { self[.busyTimeout] = newValue }
  }

  /// The maximum number of threads that read at the same time. The default is 4.
  public var maximumReaderCount: Int {
    get { self[.maximumReaderCount] ?? 4 }
    set { self[.maximumReaderCount] = newValue }
  }

  /// The page format of a new store. The default can be opened by every version of SQLCipher. Existing stores keep their format.
  public var format: SQLCipherFormat {
    get { self[.format] ?? .portable }
    set { self[.format] = newValue }
  }

  /// The maximum cost of key derivations when the store is opened. The parameters in the key file are used before they can be
  /// authenticated, so the cost must be limited.
  ///
  /// The unit is a derivation at standard cost: scrypt with N = 2^17, which takes 128 MiB of memory and about half a second. A more
  /// expensive derivation counts as several units, for example 8 with N = 2^20.
  ///
  /// The default, `nil`, allows 16 units, but no derivation that takes more than 256 MiB. With a number, a single slot can use all units
  /// and the memory that it needs. If the key opens none of the slots within the limit, opening throws `keyWorkExceeded`, which states the
  /// required limit. Adding a slot that the limit would not open fails in the same way. The slot that most recently opened the store in
  /// this process is tried first, then the others from the least to the most expensive.
  public var keyWorkLimit: Int? {
    get { self[.keyWorkLimit] }
    set { self[.keyWorkLimit] = newValue }
  }

  /// The label of the first key slot of a new store.
  public var keyLabel: String {
    get { self[.keyLabel] ?? "" }
    set { self[.keyLabel] = newValue }
  }

  /// The minimum size in bytes of values that are stored in files, if their attribute allows external storage. The default is 128 KiB.
  /// Changing it does not move existing values.
  public var externalStorageThreshold: Int {
    get { self[.externalStorageThreshold] ?? ExternalStorage.standardThreshold }
    set { self[.externalStorageThreshold] = newValue }
  }

  /// The components of modules above that own side tables in the store.
  package var sideTableOwners: [any SideTableOwner] {
    get { self[.sideTableOwners] ?? [] }
    set { self[.sideTableOwners] = newValue }
  }

  /// The size in bytes from which the store's log is reported and shortened, if query generations prevent its reset. The default is 64 MiB.
  /// The first save that exceeds it writes one warning to the program's log. When the last generation is released, the log file is
  /// truncated.
  public var logLimit: Int {
    get { self[.logLimit] ?? LogLimits().warningSize }
    set { self[.logLimit] = newValue }
  }

  /// The maximum size of the store's log, in bytes, before query generations end. The default is 512 MiB; `nil` means no limit.
  ///
  /// Each save that leaves a longer log ends the oldest remaining generation. Reads of an ended generation throw ``StoreError`` with
  /// ``StoreError/Code/queryGenerationExpired``.
  ///
  /// Data written by other processes and coordinators is noticed when a generation is created or read, at most a few times a second, and
  /// with each remote-change notification if ``PersistentStoreDescription/postsRemoteChangeNotifications`` is set. An idle process that
  /// holds a generation and receives no notifications lets the log grow.
  public var generationLogLimit: Int? {
    get {
      let limit = self[.generationLogLimit] ?? LogLimits().maximumSize
      return limit == .max ? nil : limit
    }
    // `nil` must be stored too, as it differs from the default.
    set { self[.generationLogLimit] = newValue ?? .max }
  }

  /// The number of rows that a migration copies between two progress reports, for tests.
  package var migrationBatchSize: Int {
    get { self[.migrationBatchSize] ?? MigrationRunner.standardBatchSize }
    set { self[.migrationBatchSize] = newValue }
  }

  /// Whether opening writes the model to the store even if only parts differ that do not affect the store, such as user info and rules.
  package var renewsModel: Bool {
    get { self[.renewsModel] ?? false }
    set { self[.renewsModel] = newValue }
  }

  /// The observer of the SQL that runs on the store. Without one, the overhead is negligible. The observer receives texts, durations and
  /// numbers of rows, but no values.
  ///
  /// See ``SQLObserver`` for an example. The environment variable `CIPHERDATA_LOG=sql` prints the same without code.
  public var sqlObserver: SQLObserver? {
    get { self[.sqlObserver] }
    set { self[.sqlObserver] = newValue }
  }

  /// The key work limit in the form that keyrings take.
  var keyWork: KeyWorkLimit { KeyWorkLimit(keyWorkLimit) }

  var connectionOptions: ConnectionOptions {
    var result = ConnectionOptions()
    result.durability = durability == .full ? .full : .fast
    result.cacheSizeKiB = max(64, cacheSize / 1024)
    result.busyTimeoutMilliseconds = Int(max(0, min(busyTimeout, 86_400)) * 1000)
    result.isReadOnly = isReadOnly
    result.enforcesForeignKeys = enforcesForeignKeys
    return result
  }

  /// Returns the log limits of the store at a path. Warnings are written to the program's log.
  func logLimits(path: String) -> LogLimits {
    var limits = LogLimits()
    limits.warningSize = max(0, logLimit)
    limits.maximumSize = generationLogLimit.map { max(0, $0) }
    let logger = Logger(label: "CipherData.Store")
    limits.onWarning = { size, count in
      logger.warning(
        "The log of \(path) has \(size >> 20) MiB, and \(count) query generations prevent its reset; see PersistentStore.queryGenerations."
      )
    }
    limits.onEnding = { size in
      logger.warning("The log of \(path) has \(size >> 20) MiB, more than generationLogLimit: the oldest query generation is ended.")
    }
    return limits
  }
}

// The keys under which a description stores the properties above.

extension StoreSettingKey<StoreKey> {
  fileprivate static var key: Self { Self("key") }
}

extension StoreSettingKey<StoreDurability> {
  fileprivate static var durability: Self { Self("durability") }
}

extension StoreSettingKey<Bool> {
  fileprivate static var enforcesForeignKeys: Self { Self("enforcesForeignKeys") }
  fileprivate static var renewsModel: Self { Self("renewsModel") }
}

extension StoreSettingKey<Int> {
  fileprivate static var cacheSize: Self { Self("cacheSize") }
  fileprivate static var maximumReaderCount: Self { Self("maximumReaderCount") }
  fileprivate static var keyWorkLimit: Self { Self("keyWorkLimit") }
  fileprivate static var logLimit: Self { Self("logLimit") }
  fileprivate static var generationLogLimit: Self { Self("generationLogLimit") }
  fileprivate static var externalStorageThreshold: Self { Self("externalStorageThreshold") }
  fileprivate static var migrationBatchSize: Self { Self("migrationPortionSize") }
}

extension StoreSettingKey<TimeInterval> {
  fileprivate static var busyTimeout: Self { Self("busyTimeout") }
}

extension StoreSettingKey<SQLCipherFormat> {
  fileprivate static var format: Self { Self("format") }
}

extension StoreSettingKey<String> {
  fileprivate static var keyLabel: Self { Self("keyLabel") }
}

extension StoreSettingKey<SQLObserver> {
  fileprivate static var sqlObserver: Self { Self("sqlObserver") }
}

extension StoreSettingKey<[any SideTableOwner]> {
  fileprivate static var sideTableOwners: Self { Self("sideTableOwners") }
}

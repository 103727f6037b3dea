public import Foundation
import Logging
public import ObjectStore
import SQLCipherConnection
public import StoreKeys

extension StoreType {
  /// A database encrypted with SQLCipher. Naming the type makes its class known to coordinators.
  public static let sqlcipher: StoreType = {
    let type = StoreType(rawValue: "SQLCipher")
    PersistentStoreCoordinator.registerStoreClass(SQLCipherIncrementalStore.self, forStoreType: type)
    return type
  }()
}

extension PersistentStoreDescription {
  /// Describes an encrypted store in a file.
  ///
  /// - Parameters:
  ///   - url: The file.
  ///   - key: What opens it; nil where ``key`` is set later.
  public init(url: URL, key: StoreKey? = nil) {
    self.init(type: .sqlcipher, url: url)
    self.key = key
  }

  /// What opens the store.
  public var key: StoreKey? {
    get { self[.key] }
    set {
      // Whoever gives a key means a store of this kind, and coordinators are to know its class.
      _ = StoreType.sqlcipher
      self[.key] = newValue
    }
  }

  /// What a power cut may cost; by default nothing.
  public var durability: StoreDurability {
    get { self[.durability] ?? .full }
    set { self[.durability] = newValue }
  }

  /// Whether SQLite checks foreign keys at each save. By default it does not: the graph keeps them right, and the check makes deletions cost nearly twice as
  /// much. `verify` always checks them.
  public var enforcesForeignKeys: Bool {
    get { self[.enforcesForeignKeys] ?? false }
    set { self[.enforcesForeignKeys] = newValue }
  }

  /// The bytes of pages that each connection keeps; 16 MiB by default. Less makes large work several times slower, since pages are decrypted again.
  public var cacheSize: Int {
    get { self[.cacheSize] ?? ConnectionOptions().cacheSizeKiB * 1024 }
    set { self[.cacheSize] = newValue }
  }

  /// How long a save waits for one of another process; 5 seconds by default.
  public var busyTimeout: TimeInterval {
    get { self[.busyTimeout] ?? TimeInterval(ConnectionOptions().busyTimeoutMilliseconds) / 1000 }
    set { self[.busyTimeout] = newValue }
  }

  /// The greatest number of threads that read at once; 4 by default.
  public var maximumReaderCount: Int {
    get { self[.maximumReaderCount] ?? 4 }
    set { self[.maximumReaderCount] = newValue }
  }

  /// The page format of a new store; by default one that every SQLCipher can open. An existing store keeps its own.
  public var format: SQLCipherFormat {
    get { self[.format] ?? .portable }
    set { self[.format] = newValue }
  }

  /// How much work opening may spend on the key file, whose parameters are used before anything can prove them. The unit is a derivation of the standard cost,
  /// scrypt with N = 2^17, which takes 128 MiB and about half a second. A dearer one counts as several: with N = 2^20 as eight.
  ///
  /// Nil stands for 16 units, and for no derivation that takes more than 256 MiB. With a number, one slot may take all of it, with the memory that this needs.
  /// Where the key opens none of the slots that may be tried, opening fails with `keyWorkExceeded`, which says what value is needed; making a slot that the
  /// limit would not open fails likewise. The slot that opened the store last in this process is tried first, then the cheapest.
  public var keyWorkLimit: Int? {
    get { self[.keyWorkLimit] }
    set { self[.keyWorkLimit] = newValue }
  }

  /// The name of the first key slot of a new store.
  public var keyLabel: String {
    get { self[.keyLabel] ?? "" }
    set { self[.keyLabel] = newValue }
  }

  /// The least number of bytes of a value that is kept in a file beside the store, where its attribute allows external storage; 128 KiB by default. Changing it
  /// moves no value: each is kept as it was when it was saved.
  public var externalStorageThreshold: Int {
    get { self[.externalStorageThreshold] ?? ExternalStorage.standardThreshold }
    set { self[.externalStorageThreshold] = newValue }
  }

  /// The bytes that the store's log may have while query generations keep it from beginning anew; 64 MiB by default. At the first save after that the log of the
  /// program gets one warning; when nobody holds a generation any more, the log's file is cut.
  public var logLimit: Int {
    get { self[.logLimit] ?? LogLimits().told }
    set { self[.logLimit] = newValue }
  }

  /// The bytes that the store's log may have before query generations are ended; 512 MiB by default, nil for no limit. Each save that leaves a longer log ends the
  /// oldest generation that is left: reads of it throw ``StoreError`` with ``StoreError/Code/queryGenerationExpired``.
  ///
  /// What other processes and coordinators have written is seen when a generation is read or begun, a few times a second at most, and with each notice of theirs where
  /// ``PersistentStoreDescription/postsRemoteChangeNotifications`` is set: an idle process that holds a generation and hears of nobody lets the log grow.
  public var generationLogLimit: Int? {
    get {
      let limit = self[.generationLogLimit] ?? LogLimits().greatest
      return limit == .max ? nil : limit
    }
    // Nil is a setting too.
    set { self[.generationLogLimit] = newValue ?? .max }
  }

  /// The rows that a migration copies between two reports of progress, for tests.
  package var migrationPortionSize: Int {
    get { self[.migrationPortionSize] ?? MigrationRunner.standardPortionSize }
    set { self[.migrationPortionSize] = newValue }
  }

  /// Whether opening writes the model into the store even where it changes nothing that the store goes by, such as notes and rules.
  package var renewsModel: Bool {
    get { self[.renewsModel] ?? false }
    set { self[.renewsModel] = newValue }
  }

  /// Who hears of the SQL that runs over the store; by default nobody, and nothing is spent on it. What it hears are texts, times and numbers of rows, never values.
  ///
  /// ``SQLObserver`` shows how. `CIPHERDATA_LOG=sql` in the environment prints the same without a line of code.
  public var sqlObserver: SQLObserver? {
    get { self[.sqlObserver] }
    set { self[.sqlObserver] = newValue }
  }

  /// The same, as keyrings take it.
  var keyWork: KeyWorkLimit { KeyWorkLimit(keyWorkLimit) }

  /// What the connections are opened with.
  var connectionOptions: ConnectionOptions {
    var result = ConnectionOptions()
    result.durability = durability == .full ? .full : .fast
    result.cacheSizeKiB = max(64, cacheSize / 1024)
    result.busyTimeoutMilliseconds = Int(max(0, min(busyTimeout, 86_400)) * 1000)
    result.isReadOnly = isReadOnly
    result.enforcesForeignKeys = enforcesForeignKeys
    return result
  }

  /// How long the log of the store at a path may become for query generations; the program's log hears of it.
  func logLimits(path: String) -> LogLimits {
    var limits = LogLimits()
    limits.told = max(0, logLimit)
    limits.greatest = generationLogLimit.map { max(0, $0) }
    let logger = Logger(label: "CipherData.Store")
    limits.tell = { size, count in
      logger.warning(
        "The log of \(path) has \(size >> 20) MiB, and \(count) query generations keep it from beginning anew; PersistentStore.queryGenerations tells whose."
      )
    }
    limits.tellOfEnding = { size in
      logger.warning("The log of \(path) has \(size >> 20) MiB, more than generationLogLimit: the oldest query generation is ended.")
    }
    return limits
  }
}

// Where the description keeps what the properties above say.

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
  fileprivate static var migrationPortionSize: Self { Self("migrationPortionSize") }
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

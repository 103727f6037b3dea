extension StoreAccessError {
  /// The reason why encryption is unavailable.
  package enum Unavailability: Sendable, Hashable {
    /// Plain SQLite is linked in place of SQLCipher.
    case plainSQLite(version: String)
    case oldSQLite(version: String)
    case temporaryFilesInPlainText
    case oneThread
    case notSQLCipher
    case rejectedSetting(String, found: String)
    case noFileSystemLayer
    case newFileInPlainText
    /// libcrypto failed to run an algorithm.
    case libcrypto(String)

    var reasonText: String {
      switch self {
      case .plainSQLite(let version):
        "SQLite \(version) without encryption is loaded instead of SQLCipher; link only SQLCipher, and do not preload another SQLite"
      case .oldSQLite(let version): "SQLite \(version) is too old; SQLCipher 3.4.1 (SQLite 3.15.2) is the oldest that works"
      case .temporaryFilesInPlainText: "this SQLCipher was built to write temporary files in plain text"
      case .oneThread: "this SQLCipher was built for one thread only"
      case .notSQLCipher: "the loaded library is not SQLCipher"
      case .rejectedSetting(let name, let found): "the library rejected the setting \(name); its value is \(found)"
      case .noFileSystemLayer: "SQLite did not register the file system layer"
      case .newFileInPlainText: "the new file is not encrypted with its key"
      case .libcrypto(let algorithm): "libcrypto failed at \(algorithm)"
      }
    }
  }

  /// The reason why a text or parameters cannot be a key.
  package enum MalformedKey: Sendable, Hashable {
    case recoveryKeyCharacter
    case recoveryKeyLength(Int, expected: Int)
    /// The check digits of a recovery key's group, counted from 1, are wrong.
    case recoveryKeyGroup(Int)
    case passphraseLikeRawKey

    var reasonText: String {
      switch self {
      case .recoveryKeyCharacter: "not a recovery key: it contains a character that no recovery key has"
      case .recoveryKeyLength(let count, let expected):
        "not a recovery key: it has \(count) letters and digits, a recovery key has \(expected)"
      case .recoveryKeyGroup(let number): "not a recovery key: group \(number) is mistyped"
      case .passphraseLikeRawKey: "SQLCipher would interpret this passphrase as a raw key"
      }
    }
  }

  /// A parameter that is out of range.
  package enum KeyParameter: Sendable, Hashable {
    case scryptWork(Int, allowed: ClosedRange<Int>)
    case slots(limit: Int)

    var reasonText: String {
      switch self {
      case .scryptWork(let log2N, let allowed):
        "scrypt's log2N is \(log2N) and must be \(allowed.lowerBound) to \(allowed.upperBound)"
      case .slots(let limit): "a key file holds at most \(limit) slots"
      }
    }
  }

  /// The damage of a key file.
  package enum KeyFileDamage: Sendable, Hashable {
    case noFileOrTooLarge
    case size(Int)
    case beginning, checksum, ending, pageSize, counts, end
    case changedWithoutKey, closedTable, noKey, usedUpNumbers
    /// A slot, counted from 1, is invalid.
    case slot(Int)
    case slotOfOtherStore(id: String)
    case slotNotInTable(id: String)

    var reasonText: String {
      switch self {
      case .noFileOrTooLarge: "it is not a regular file or is too large"
      case .size(let count): "its size is \(count) bytes"
      case .beginning: "it does not start with a key file header"
      case .checksum: "its checksum does not match"
      case .ending: "it ends early"
      case .pageSize: "its page size is invalid"
      case .counts: "its counts are invalid"
      case .end: "its end is at the wrong offset"
      case .changedWithoutKey: "it was changed without the key"
      case .closedTable: "its table cannot be decrypted"
      case .noKey: "it holds no key"
      case .usedUpNumbers: "it has used up all data key numbers"
      case .slot(let number): "slot \(number) is invalid"
      case .slotOfOtherStore(let id): "slot \(id) does not hold the store's key"
      case .slotNotInTable(let id): "slot \(id) is not in its table"
      }
    }
  }

  /// The format that is not supported.
  package enum UnsupportedFormat: Sendable, Hashable {
    case keyFile(version: Int, known: Int)
    case largeValue(version: Int, known: Int)
    case pages(SQLCipherFormat)
    /// The pages are in SQLCipher 4's format, but the linked library is SQLCipher 3 with the given version of SQLite.
    case newerPages(SQLCipherFormat, sqlite: String)
    case notPlain

    var reasonText: String {
      switch self {
      case .keyFile(let version, let known): "key file version \(version); this library supports \(known)"
      case .largeValue(let version, let known): "large value file version \(version); this library supports \(known)"
      case .pages(let format): "\(format)"
      case .newerPages(let format, let version): "\(format); the linked library is SQLCipher 3 (SQLite \(version))"
      case .notPlain: "it is not a plain SQLite database"
      }
    }
  }

  /// An incorrect use of the library: a programming error. The raw value is the message.
  package enum Misuse: String, Sendable, Hashable {
    case noStatement = "the text holds no statement"
    case severalStatements = "the text holds more than one statement"
    case unusableName = "a name is empty or contains a NUL character"
    case unusableText = "a text literal contains a NUL character"
    case plainIsReadOnly = "a plain database is read-only"
    case nestedWriter = "the writer was requested inside its own block"
    case noSlots = "a store with a database key or a SQLCipher passphrase has no key slots to add, remove or change"
  }

  /// The reason why commits of others cannot be observed. The raw value is the message.
  package enum NotWatchable: String, Sendable, Hashable {
    case unsupportedSystem = "this system has no inotify"
    case descriptorLimit = "the process or its user has no inotify instances left (RLIMIT_NOFILE, fs.inotify.max_user_instances)"
    case watchLimit = "the user has no inotify watches left (fs.inotify.max_user_watches)"
    case readWithoutLocks =
      "its folder is not writable, and it has no log: it is read without locks, and reading throws an error if it changes"
    case nothingToWatch = "neither its log nor the file that commits touch exists"
  }

  /// Details beyond the kind, for errors that do not come from SQLite. The raw value is the message, which replaces that of the kind.
  package enum Circumstance: String, Sendable, Hashable {
    case noFolder = "the folder does not exist; create it first"
    case fileInPlaceOfFolder = "the path of the store's folder is a file; remove it, or choose another location"
    case unusablePath = "the path is empty or contains a NUL character"
    case nameTooLong =
      "the name is too long: the names of accompanying files need 13 more bytes, and SQLite limits paths to 504 bytes; shorten it"
    case ownerLosesFile = "the file's owner could no longer open it"
    case keyFileEdited = "another process is editing the key file, or left this file behind"
    case replacedAgain = "other processes keep replacing the store or rotating its key"
    case committedMeanwhile = "other connections committed during the search for unused pages"
    case damagedCopy = "the copy fails its check; verify the store"
    case logInReadOnlyFolder =
      "the database has a write-ahead log, and its folder is not writable; copy both to a writable folder"
  }
}

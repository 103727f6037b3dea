import Foundation

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

// MARK: - Explaining errors

extension StoreAccessError {
  /// Creates the error for the system's `errno`.
  package static func system(_ number: Int32, path: String?, operation: Operation) -> StoreAccessError {
    StoreAccessError(
      kind(ofSystemError: number, operation: operation), path: path, operation: operation, systemError: number,
      message: String(cString: strerror(number)))
  }

  package static func kind(ofSystemError number: Int32, operation: Operation) -> Kind {
    switch number {
    case ENOENT: .noSuchFile
    case EEXIST: .fileExists
    case EACCES, EPERM: .permissionDenied
    case EROFS: .readOnly
    case ENOSPC, EDQUOT: .diskFull
    case ENOMEM: .outOfMemory
    case EISDIR where operation == .open, ELOOP where operation == .open, ENOTDIR where operation == .open: .notAStore(.notARegularFile)
    default: .io(number)
    }
  }

  /// The message: what happened and what to do. All messages are defined here and in the lists of causes.
  package var explanation: String { circumstance?.rawValue ?? systemText ?? reasonText }

  /// The message with the system error, for kinds that several system errors share, or `nil` if the kind's own message is sufficient.
  private var systemText: String? {
    switch kind {
    case .permissionDenied, .readOnly, .diskFull, .notAStore(.notARegularFile), .io: break
    default: return nil
    }
    switch systemError {
    case 0: return nil
    case EACCES: return "\(reasonText) (\(systemMessage)); check the owner and the mode of the file and of its folder"
    case ENOTDIR: return "a part of the path is not a folder (\(systemMessage))"
    case ELOOP: return "the path is a symbolic link or contains too many of them (\(systemMessage))"
    case ENAMETOOLONG: return "the name or the path is too long for the file system (\(systemMessage)); shorten it"
    case EDQUOT: return "the disk quota is used up (\(systemMessage)); remove files, or raise the quota"
    case EMFILE: return "the process has too many files open (\(systemMessage)); close some, or raise its limit (ulimit -n)"
    case ENFILE: return "the system has too many files open (\(systemMessage)); close some, or raise its limit (fs.file-max)"
    default:
      if case .io = kind { return nil }
      return "\(reasonText) (\(systemMessage))"
    }
  }

  private var systemMessage: String { String(cString: strerror(systemError)) }

  private var reasonText: String {
    switch kind {
    case .encryptionUnavailable(let reason): "encryption is not available: \(reason.reasonText)"
    case .keyRequired: "the store is encrypted and no key was given"
    case .invalidKey(.empty): "the key is empty"
    case .invalidKey(.length(let expected, let found)): "the key has \(found) bytes and must have \(expected)"
    case .invalidKey(.malformed(let why)): "the key cannot be used: \(why.reasonText)"
    case .invalidKey(.parameters(let parameter)): "the key cannot be used: \(parameter.reasonText)"
    case .wrongKey: "the key opens none of the store's key slots"
    case .keyFileMissing:
      "the store's key file is missing; restore it from a backup, the store cannot be opened without it; a file that never had one is not a store, or uses another kind of key"
    case .keyFileCorrupt(let what): "the key file is damaged (\(what.reasonText)); restore it from a backup"
    case .keyFileExists: "a key file without a store already exists here; move it before creating a store with this name"
    case .keyFileOutdated:
      "the key file does not match the store: the store was last encrypted with another data key; restore the matching key file, or restore the store and its key file from the same backup; if neither was replaced, the beginning of the store is damaged"
    case .keyProviderFailed: "the key provider failed" + (underlying.map { ": \(type(of: $0))" } ?? "")
    case .keyWorkExceeded(let slot, let needed, false):
      "the key opens none of the slots that were tried, and key slot \(slot) exceeds the limit of key derivation work: if you trust the file, allow a key work of \(needed)"
    case .keyWorkExceeded(let slot, let needed, true):
      "key slot \(slot) would exceed the limit of key derivation work: allow a key work of \(needed) here and wherever the store is opened, or choose a cheaper key derivation"
    case .lastSlot: "the last key slot cannot be removed: the store could never be opened again"
    case .unknownSlot: "there is no such key slot"
    case .noSuchFile: "there is no such file"
    case .fileExists: "the file already exists and is not overwritten"
    case .notEncrypted: "the file is a plain SQLite database, not an encrypted store"
    case .notAStore(.empty): "the file is empty, not a store"
    case .notAStore(.stub): "the file is too short to be a store"
    case .notAStore(.notARegularFile): "not a regular file"
    case .unreadableStore:
      "the key does not fit the file: either the key is wrong or the file is damaged; without a key file the two cannot be distinguished"
    case .otherFormat(let format): "the key opens the file in another format than the given one: open it as \(format)"
    case .storeCorrupt(.pageMAC): "the store is damaged or was changed: a page fails its authentication"
    case .storeCorrupt(.structure): "the store is damaged: its pages are not a valid database"
    case .storeCorrupt(.wal): "the store's write-ahead log is damaged or belongs to another store"
    case .storeCorrupt(.externalFile):
      "the file of a large value is damaged, was changed, or belongs to another value or store; restore it from a backup, or set the value again"
    case .storeCorrupt(.value): "a stored value does not have its property's type; verify the store"
    case .externalDataMissing:
      "the file of a large value is missing: either the value was replaced or deleted since it was read, or the file was lost; verify the store"
    case .unsupportedFormat(let what): "the store's format is not supported: \(what.reasonText)"
    case .busy:
      "the store is in use: by another container, context or connection of this process, or by another process; wait until it has finished, or close it, and try again"
    case .exchanged: "another process has replaced, rotated or removed the store in the meantime; open it again"
    case .readOnly: "the store, its folder or its file system is read-only"
    case .readOnlyLog:
      "the store has a write-ahead log or a journal, and its folder is read-only; copy the store with all its files to a writable folder, or open it once where it is writable"
    case .permissionDenied: "no permission"
    case .notWatchable(let reason): "remote changes of the store cannot be observed: \(reason.rawValue)"
    case .diskFull: "no space is left on the disk"
    case .insufficientDiskSpace(let needed, let available):
      "the operation needs \(needed) bytes of free disk space, and \(available) are available; nothing was changed; free space and try again"
    case .io(let number): number == 0 ? "input or output failed" : "input or output failed: \(String(cString: strerror(number)))"
    case .outOfMemory: "out of memory"
    case .cancelled: "cancelled"
    case .constraint: "a constraint of the database failed"
    case .sql(let message): message
    case .misuse(let misuse): misuse.rawValue
    case .tooComplex: "a statement exceeds a limit of this version of SQLCipher"
    case .noSuchTable(let name): "no such table: \(name)"
    case .closed: "the store is closed"
    }
  }
}

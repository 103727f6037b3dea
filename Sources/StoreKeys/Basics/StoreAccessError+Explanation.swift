import Foundation

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

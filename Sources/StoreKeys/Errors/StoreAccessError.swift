import Foundation

/// An error of opening, keying, reading or writing a store's file. It never contains stored values or keys.
///
/// It has the size of one reference, so that functions that can throw it have no overhead when they succeed.
@usableFromInline package struct StoreAccessError: Error, Sendable, CustomStringConvertible {
  /// The reason why a key is invalid before it is tried.
  package enum InvalidKey: Sendable, Hashable {
    /// The key has no bytes. SQLCipher would create a plaintext database with it.
    case empty
    /// The key has the wrong number of bytes.
    case length(expected: Int, found: Int)
    /// A text is not a key, for example a recovery key with a mistyped group.
    case malformed(MalformedKey)
    /// A parameter of the key derivation is out of range.
    case parameters(KeyParameter)
  }

  /// The kind of damage of a store.
  package enum Corruption: Sendable, Hashable {
    /// A page's authentication code does not match: the page was damaged or changed.
    case pageMAC
    /// The pages are authentic, or were not checked, but are not a valid database.
    case structure
    /// The write-ahead log is damaged or does not belong to the store.
    case wal
    /// The file of a large value differs from what was written with the store's key.
    case externalFile
    /// A column contains a value that does not have its attribute's type.
    case value
  }

  /// The reason why a file is not a store.
  package enum NotAStore: Sendable, Hashable {
    /// The file is empty.
    case empty
    /// The file is shorter than one page, or its size is not a multiple of the page size.
    case stub
    /// The path is a folder, pipe, socket or device.
    case notARegularFile
  }

  /// The kinds of errors.
  package enum Kind: Sendable, Hashable {
    case encryptionUnavailable(Unavailability)
    case keyRequired
    case invalidKey(InvalidKey)
    case wrongKey
    case keyFileMissing
    case keyFileCorrupt(KeyFileDamage)
    case keyFileExists
    /// None of the key file's data keys is the store's: the key file is older or newer than the store.
    case keyFileOutdated
    case keyProviderFailed
    /// A slot of the key file costs more work than the limit allows. `isNew` means that the slot was about to be added.
    case keyWorkExceeded(slot: String, needed: Int, isNew: Bool)
    case lastSlot
    case unknownSlot
    case noSuchFile
    case fileExists
    case notEncrypted
    case notAStore(NotAStore)
    /// A database key does not fit the file. Without slots, a wrong key and a damaged file cannot be distinguished.
    case unreadableStore
    /// The key is right, but the file has another page format than the specified one.
    case otherFormat(SQLCipherFormat)
    case storeCorrupt(Corruption)
    case externalDataMissing
    case unsupportedFormat(UnsupportedFormat)
    case busy
    /// Another process has just replaced, rotated or removed the store.
    case exchanged
    case readOnly
    /// The store has a log, but its folder is not writable. Reading a log requires a file next to it.
    case readOnlyLog
    case permissionDenied
    /// Commits of others cannot be observed.
    case notWatchable(NotWatchable)
    case diskFull
    /// An operation needs more disk space than available, and was not begun.
    case insufficientDiskSpace(needed: Int, available: Int)
    case io(Int32)
    case outOfMemory
    case cancelled
    /// A constraint of the database was violated. The extended code specifies it.
    case constraint
    /// An error in SQL, with SQLite's message: a programming error.
    case sql(String)
    /// An incorrect use of the library: a programming error.
    case misuse(Misuse)
    /// A statement exceeds the limits of SQLite or its parser.
    case tooComplex
    /// A statement refers to a table that does not exist.
    case noSuchTable(String)
    case closed
  }

  private final class Details: Sendable {
    let kind: Kind
    let path: String?
    let operation: Operation
    let code: Int32
    let extendedCode: Int32
    let systemError: Int32
    let message: String?
    let circumstance: Circumstance?
    let sql: String?
    let subject: Subject?
    let underlying: (any Error)?

    init(
      kind: Kind, path: String?, operation: Operation, code: Int32, extendedCode: Int32, systemError: Int32, message: String?,
      circumstance: Circumstance?, sql: String?, subject: Subject?, underlying: (any Error)?
    ) {
      self.kind = kind
      self.path = path
      self.operation = operation
      self.code = code
      self.extendedCode = extendedCode
      self.systemError = systemError
      self.message = message
      self.circumstance = circumstance
      self.sql = sql
      self.subject = subject
      self.underlying = underlying
    }
  }

  private let details: Details

  package var kind: Kind { details.kind }
  /// The path of the affected file.
  package var path: String? { details.path }
  package var operation: Operation { details.operation }
  /// SQLite's primary result code, or 0 if the error does not come from SQLite.
  package var code: Int32 { details.code }
  /// SQLite's extended result code, or 0 if the error does not come from SQLite.
  package var extendedCode: Int32 { details.extendedCode }
  /// The system's `errno`, or 0 if no system call failed or the number is unknown.
  package var systemError: Int32 { details.systemError }
  /// SQLite's message. It contains names of tables and columns, but no values.
  package var message: String? { details.message }
  package var circumstance: Circumstance? { details.circumstance }
  /// The statement's text with placeholders, without bound values.
  package var sql: String? { details.sql }
  /// The part of a connection or statement that the operation concerned.
  package var subject: Subject? { details.subject }
  /// The underlying error, for example that of the key provider.
  package var underlying: (any Error)? { details.underlying }

  package init(
    _ kind: Kind, path: String?, operation: Operation, code: Int32 = 0, extendedCode: Int32 = 0, systemError: Int32 = 0,
    message: String? = nil, circumstance: Circumstance? = nil, sql: String? = nil, subject: Subject? = nil, underlying: (any Error)? = nil
  ) {
    details = Details(
      kind: kind, path: path, operation: operation, code: code, extendedCode: extendedCode, systemError: systemError, message: message,
      circumstance: circumstance, sql: sql, subject: subject, underlying: underlying)
  }

  /// Returns the error with another kind, for a caller with more information.
  package func with(kind: Kind, path: String? = nil, operation: Operation? = nil) -> StoreAccessError {
    StoreAccessError(
      kind, path: path ?? self.path, operation: operation ?? self.operation, code: code, extendedCode: extendedCode,
      systemError: systemError, message: message, circumstance: kind == self.kind ? circumstance : nil, sql: sql, subject: subject,
      underlying: underlying)
  }

  /// Returns the error with SQLite's result code, for a failed system call that SQLite reported.
  package func with(code: Int32) -> StoreAccessError {
    StoreAccessError(
      kind, path: path, operation: operation, code: code, extendedCode: code, systemError: systemError, message: message,
      circumstance: circumstance, sql: sql, subject: subject, underlying: underlying)
  }

  @usableFromInline package var description: String {
    var text = "\(operation.rawValue)\(subject.map { " (\($0))" } ?? ""): \(explanation)"
    if let path { text += " [\(path)]" }
    if code != 0 { text += " (SQLite \(extendedCode == 0 ? code : extendedCode)\(message.map { ": \($0)" } ?? ""))" }
    if let sql { text += " in: \(sql.prefix(500))" }
    return text
  }
}

// MARK: - Operations and their subjects

extension StoreAccessError {
  /// The operation that failed. The raw value is part of messages.
  package enum Operation: String, Sendable, Hashable, CaseIterable {
    // The store's files.
    case open
    case create
    case read
    case write
    case sync
    case lock
    case exclusiveAccess = "exclusive access"
    case copy
    case compact
    case replace
    case finishReplacement = "finish a replacement"
    case remove
    case destroy
    case backUp = "back up"
    case `import`
    case export
    case verify
    case preserveOwner = "keep the owner"
    case makeFolder = "make a folder"
    case readLog = "read the log"
    case readUnusedPages = "read the unused pages"
    case watch

    // Keys and the key file.
    case key
    case unlock
    case callKeyProvider = "ask the key provider"
    case deriveKey = "derive a key"
    case readKeyFile = "read the key file"
    case writeKeyFile = "write the key file"
    case lockKeyFile = "lock the key file"
    case changeKeys = "change keys"
    case addSlot = "add a slot"
    case makeSlot = "make a slot"
    case removeSlot = "remove a slot"
    case replaceKey = "replace a key"
    case rotateDataKey = "rotate the data key"
    case printRecoveryKey = "print a recovery key"
    case readRecoveryKey = "read a recovery key"

    // Encryption.
    case checkLibrary = "check the library"
    case encrypt = "encrypt or decrypt"

    // Statements.
    case prepare
    case bind = "bind a value"
    case step
    case execute
    case quote = "quote a name or text"
    case registerFunction = "register a function"
    case registerCollation = "register a collation"

    // Large values.
    case readValue = "read a value"
    case readLargeValue = "read a large value"
    case writeLargeValue = "write a large value"
  }

  /// The part of a connection or statement that an operation concerned.
  package enum Subject: Sendable, Hashable, CustomStringConvertible {
    /// The function or collation with a name.
    case name(String)
    /// The parameter of a statement, counted from 1.
    case parameter(Int)

    package var description: String {
      switch self {
      case .name(let name): name
      case .parameter(let number): "parameter \(number)"
      }
    }
  }
}

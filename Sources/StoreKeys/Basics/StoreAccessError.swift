import Foundation

/// An error of opening, keying, reading or writing a store's file.
///
/// It is one reference wide, so that a function which throws it costs nothing where it does not.
@usableFromInline package struct StoreAccessError: Error, Sendable, CustomStringConvertible {
  /// What is wrong with a key before it is tried.
  package enum InvalidKey: Sendable, Hashable {
    /// The key has no bytes; SQLCipher would make a plain database.
    case empty
    /// The key has another number of bytes than it must have.
    case length(expected: Int, found: Int)
    /// Text that should be a key is not one, for example a recovery key with a wrong group.
    case malformed(MalformedKey)
    /// A parameter of the key derivation is outside what is allowed.
    case parameters(KeyParameter)
  }

  /// How a damaged store shows.
  package enum Corruption: Sendable, Hashable {
    /// A page's authentication code does not match: damaged or changed.
    case pageMAC
    /// The pages are authentic, or were not asked, and do not make a database.
    case structure
    /// The write-ahead log does not belong to the store or is damaged.
    case wal
    /// The file of a large value beside the store is not what was written there with the store's key.
    case externalFile
    /// A column holds something that is no value of its attribute's type.
    case value
  }

  /// Why a file is not a store.
  package enum NotAStore: Sendable, Hashable {
    /// The file has no bytes.
    case empty
    /// The file is shorter than one page, or its size is no multiple of it.
    case stub
    /// A folder, a pipe, a socket, a device.
    case notARegularFile
  }

  /// The closed list of what can go wrong.
  package enum Kind: Sendable, Hashable {
    case encryptionUnavailable(Unavailability)
    case keyRequired
    case invalidKey(InvalidKey)
    case wrongKey
    case keyFileMissing
    case keyFileCorrupt(KeyFileDamage)
    case keyFileExists
    /// None of the key file's data keys is that of the store: it is older than the store, or newer.
    case keyFileOutdated
    case keyProviderFailed
    /// A slot of the key file costs more work than may be spent; or would, where it `isNew`.
    case keyWorkExceeded(slot: String, needed: Int, isNew: Bool)
    case lastSlot
    case unknownSlot
    case noSuchFile
    case fileExists
    case notEncrypted
    case notAStore(NotAStore)
    /// The key is the database's own and does not fit the file: a wrong key or a damaged file, which cannot be told apart without slots.
    case unreadableStore
    /// The key is right, but the file was written in another page format than the one that was named.
    case otherFormat(SQLCipherFormat)
    case storeCorrupt(Corruption)
    /// The file of a large value is not there.
    case externalDataMissing
    case unsupportedFormat(UnsupportedFormat)
    case busy
    /// Another process has replaced, rotated or removed the store meanwhile.
    case exchanged
    case readOnly
    /// The store has a log, and nothing may be written beside it, which reading a log takes.
    case readOnlyLog
    case permissionDenied
    /// Nothing can tell what others write to the store.
    case notWatchable(NotWatchable)
    case diskFull
    /// A work would need more bytes of the disk than are left; it was not begun.
    case noRoom(needed: Int, available: Int)
    case io(Int32)
    case outOfMemory
    case cancelled
    /// A constraint of the database; the extended code says which.
    case constraint
    /// A mistake in SQL, in SQLite's words: a programming error.
    case sql(String)
    /// A mistake in the use of the library: a programming error.
    case misuse(Misuse)
    /// A statement is more than SQLite's parser or its limits take.
    case tooComplex
    /// A statement names a table that is not there.
    case noSuchTable(String)
    /// The connection or pool is closed.
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

  /// What happened.
  package var kind: Kind { details.kind }
  /// The file concerned.
  package var path: String? { details.path }
  /// What was being done.
  package var operation: Operation { details.operation }
  /// SQLite's primary result code; 0 where SQLite was not asked.
  package var code: Int32 { details.code }
  /// SQLite's extended result code; 0 where SQLite was not asked.
  package var extendedCode: Int32 { details.extendedCode }
  /// The system's `errno`; 0 where no call of the system failed, or which one is unknown.
  package var systemError: Int32 { details.systemError }
  /// SQLite's message: names of tables and columns, never values.
  package var message: String? { details.message }
  /// What is known beyond the kind.
  package var circumstance: Circumstance? { details.circumstance }
  /// The statement's text with its placeholders, never the bound values.
  package var sql: String? { details.sql }
  /// What of a connection or statement the operation was about.
  package var subject: Subject? { details.subject }
  /// The error beneath, for example the key provider's.
  package var underlying: (any Error)? { details.underlying }

  package init(
    _ kind: Kind, path: String?, operation: Operation, code: Int32 = 0, extendedCode: Int32 = 0, systemError: Int32 = 0,
    message: String? = nil, circumstance: Circumstance? = nil, sql: String? = nil, subject: Subject? = nil, underlying: (any Error)? = nil
  ) {
    details = Details(
      kind: kind, path: path, operation: operation, code: code, extendedCode: extendedCode, systemError: systemError, message: message,
      circumstance: circumstance, sql: sql, subject: subject, underlying: underlying)
  }

  /// The same error said of another kind, for a caller that knows more.
  package func with(kind: Kind, path: String? = nil, operation: Operation? = nil) -> StoreAccessError {
    StoreAccessError(
      kind, path: path ?? self.path, operation: operation ?? self.operation, code: code, extendedCode: extendedCode,
      systemError: systemError, message: message, circumstance: kind == self.kind ? circumstance : nil, sql: sql, subject: subject,
      underlying: underlying)
  }

  /// The same error with SQLite's code, which a call of the system stands behind.
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

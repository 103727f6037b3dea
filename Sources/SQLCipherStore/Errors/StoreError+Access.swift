import ObjectModel
package import ObjectStore
import SQLCipherConnection
package import StoreKeys

extension StoreError {
  /// Converts an error of the store's file, its connections, or its keys.
  package init(_ error: StoreAccessError) {
    let code = Self.code(of: error)
    let text =
      code == .nestingTooDeep
      ? "the predicate is nested too deeply, or has too many conditions, for this version of SQLCipher; split the fetch, or filter the objects in memory"
      : error.explanation
    var message = text.prefix(1).uppercased() + text.dropFirst() + "."
    if case .busy = error.kind, let holders = error.path.flatMap(StoreHolder.message) { message += " " + holders }
    // The message already describes the cause, and the message of a key provider may contain a secret.
    self.init(
      Reason(code, message, Self.remedy(of: error), includesUnderlyingError: false), operation: StoreOperation(error.operation),
      path: error.path, underlying: error.underlying ?? error)
    if case .insufficientDiskSpace(let needed, _) = error.kind { requiredSpace = needed }
    if error.code != 0 { sqliteCode = error.code }
    if error.extendedCode != 0 { sqliteExtendedCode = error.extendedCode }
    if error.systemError != 0 { systemErrorNumber = error.systemError }
  }

  private static func remedy(of error: StoreAccessError) -> Remedy? {
    switch error.kind {
    case .wrongKey: .checkKey
    case .keyWorkExceeded: .allowKeyWork
    default: error.circumstance == .noFolder ? .createFolder : nil
    }
  }

  private static func code(of error: StoreAccessError) -> Code {
    switch error.kind {
    case .encryptionUnavailable: .encryptionUnavailable
    case .keyRequired: .keyRequired
    case .invalidKey: .invalidKey
    case .wrongKey: .wrongKey
    case .keyWorkExceeded: .keyWorkExceeded
    case .keyFileMissing: .keyFileMissing
    case .keyFileCorrupt: .keyFileCorrupt
    case .keyFileOutdated: .keyFileOutdated
    case .keyFileExists, .fileExists: .alreadyExists
    case .keyProviderFailed: .keyProviderFailed
    case .lastSlot, .unknownSlot: .invalidRequest
    case .noSuchFile: .storeNotFound
    case .notEncrypted: .notEncrypted
    case .notAStore: .notAStore
    case .unreadableStore, .otherFormat: .unreadableStore
    case .storeCorrupt: .storeCorrupt
    case .externalDataMissing: .externalDataMissing
    case .unsupportedFormat: .unsupportedFormat
    case .busy, .exchanged: .busy
    case .readOnly, .readOnlyLog: .readOnly
    case .permissionDenied: .permissionDenied
    case .notWatchable(.unsupportedSystem): .unsupported
    case .notWatchable: .remoteChangesUnavailable
    case .diskFull, .insufficientDiskSpace: .diskFull
    case .io: .io
    case .outOfMemory: .outOfMemory
    case .cancelled: .cancelled
    case .constraint: .invalidRequest
    case .tooComplex: .nestingTooDeep
    case .sql, .misuse, .noSuchTable: .internalInconsistency
    case .closed: .noOpenStore
    }
  }

  /// Runs a closure and converts each `StoreAccessError` to a `StoreError`.
  package static func mapping<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as StoreAccessError {
      throw StoreError(error)
    } catch let error as any ConvertibleToStoreError {
      throw error.storeError
    }
  }

  /// Runs an asynchronous closure and converts each `StoreAccessError` to a `StoreError`.
  package static func mapping<Result>(_ body: () async throws -> sending Result) async throws -> sending Result {
    do {
      return try await body()
    } catch let error as StoreAccessError {
      throw StoreError(error)
    } catch let error as any ConvertibleToStoreError {
      throw error.storeError
    }
  }
}

/// An error of a higher layer that callers outside of this module see as a `StoreError`.
protocol ConvertibleToStoreError: Error {
  var storeError: StoreError { get }
}

extension StoreOperation {
  /// Converts an operation on a store's file to the operation that includes it.
  init(_ operation: StoreAccessError.Operation) {
    self =
      switch operation {
      case .open, .checkLibrary: .open
      case .create: .create
      case .key, .unlock, .callKeyProvider, .deriveKey, .printRecoveryKey, .readRecoveryKey: .unlock
      case .readKeyFile: .readKeyFile
      case .lockKeyFile: .lock
      case .writeKeyFile: .writeKeyFile
      case .changeKeys, .addSlot, .makeSlot, .removeSlot, .replaceKey: .changeKeys
      case .rotateDataKey: .rotateDataKey
      case .encrypt: .encrypt
      case .copy: .copyStore
      case .compact: .compact
      case .backUp: .backUp
      case .import: .import
      case .export: .export
      case .replace, .finishReplacement: .replace
      case .destroy, .remove: .destroy
      case .verify: .verify
      case .lock, .exclusiveAccess: .lock
      case .read, .readLog, .readUnusedPages: .read
      case .write, .sync, .makeFolder, .preserveOwner: .write
      case .watch: .watch
      case .readValue, .readLargeValue: .readLargeValue
      case .writeLargeValue: .writeLargeValue
      case .prepare, .bind, .step, .execute, .quote, .registerFunction, .registerCollation: .execute
      }
  }
}

import ArgumentParser
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import CipherData
import CoreDataImport
import SQLCipherStore
import SyncCore
import SyncCrypto
import SyncEngine
import SyncHub

/// The exit status and the error message with which the tool ends.
package struct ExitReport: Sendable, Hashable {
  package var status: ExitStatus
  /// The error message, one line for standard error.
  package var message: String

  /// Maps an error to an exit status and a message.
  package init(_ error: any Error) {
    let (status, message) = Self.parts(of: error)
    self.init(status, message)
  }

  /// Creates an ending with a message, whose line breaks are removed.
  package init(_ status: ExitStatus, _ message: String) {
    self.status = status
    self.message = TableWriter.printable(message.split(whereSeparator: \.isNewline).joined(separator: "; "))
  }

  private static func parts(of error: any Error) -> (ExitStatus, String) {
    switch error {
    case let error as ToolError: (error.status, error.message)
    case let error as InputError: (.badData, error.description)
    case let error as JSONParser.SyntaxError: (.badData, error.description)
    case let error as StoreError: (status(of: error), error.description(words(for:)))
    case let error as StoreAccessError: parts(of: StoreError(error))
    case let error as PredicateFormatError: (.usage, "\(error.message) (column \(error.column))")
    case let error as FetchPredicateError: (.usage, error.description(words(for:), naming: option))
    case let error as ResultsError: (.usage, error.description(words(for:)))
    case let error as KeyValueError: (.usage, error.description)
    case let error as ModelFileError: (status(of: error), error.description)
    case let error as SyncError: (error.exitStatus, error.toolMessage)
    case let error as HubError: (error.exitStatus, error.toolMessage)
    case is WireError: parts(of: SyncError.converting(error, path: nil))
    case let error as SyncCryptoError: (error.exitStatus, error.description)
    case is CancellationError: (.interrupted, "Interrupted.")
    case is CoreDataImportError, is ModelValidationError, is BatchError, is ObjectContext.ValidationError:
      (.badData, ErrorCause.text(error, words(for:)))
    case let error as CocoaError: (status(of: error), error.localizedDescription)
    default: (.software, (error as? any AdvisedError)?.description(words(for:)) ?? String(describing: error))
    }
  }

  /// Returns what to do, with the tool's options, commands, and notations.
  private static func words(for remedy: Remedy) -> String {
    switch remedy {
    case .createFolder: "“mkdir -p” creates it."
    case .checkKey: "The passphrase is wrong; check it."
    case .allowKeyWork: "Give --key-work."
    case .registerTransformer: "Only the application that has it can read or write such values."
    case .enableHistory: "Enable it with “cipherdata history --enable”."
    case .enableStableIDs: "Enable them with “cipherdata stable-ids --enable”."
    case .migrate: "Migrate it with “cipherdata migrate”."
    case .setVariable: "Write the value in its place."
    case .filterInMemory: "Name a property that is stored."
    case .compareWithDate: "Write CAST('2026-01-31T12:00:00Z', 'Date'), with your date."
    case .compareWithNumber: "Write a number without quotation marks."
    case .compareWithBoolean: "Write true or false without quotation marks."
    case .compareWithData: "Write CAST('AQI=', 'Data'), with your bytes in Base64."
    case .compareWithUUID: "Write the UUID's text in full."
    case .compareWithObject: "Use one of its attributes (name.attribute)."
    case .compareWithString: "Put the value into quotation marks."
    case .setOrder: "Give --sort."
    case .useSavedObject: "Set it to an object's URI, as the column @id shows it."
    case .useOtherValues: "Use other values."
    case .resolveConflicts: "Discard the unsaved changes, and try again."
    }
  }

  /// Returns the command-line option for a clause of a fetch request.
  private static func option(for clause: FetchClause) -> String {
    switch clause {
    case .predicate: "--where"
    case .propertiesToGroupBy: "--group-by"
    case .propertiesToFetch: "--select"
    case .havingPredicate: "--having"
    case .sortDescriptors: "--sort"
    case .returnsDistinctResults: "--distinct"
    case .fetchLimit: "--limit"
    case .fetchOffset: "--offset"
    case .fetchBatchSize: "the batch size"
    }
  }

  /// The operations that create or modify files.
  private static let writingOperations: Set<StoreOperation> = [
    .create, .writeKeyFile, .changeKeys, .lock, .write, .copyStore, .backUp, .export, .replace, .rotateDataKey, .compact,
  ]

  private static func status(of error: StoreError) -> ExitStatus {
    switch error.code {
    case .encryptionUnavailable: .unavailable
    case .keyRequired, .invalidKey, .wrongKey, .keyWorkExceeded, .keyFileMissing, .keyFileOutdated, .keyProviderFailed, .unreadableStore:
      .noKey
    case .outOfMemory, .remoteChangesUnavailable: .software
    case .keyFileCorrupt, .storeCorrupt, .externalDataMissing, .diskFull, .io, .readOnly, .queryGenerationLost: .damage
    case .notEncrypted, .notAStore, .unsupportedFormat, .modelIncompatible, .migrationNeeded, .mappingNotInferred,
      .migrationConstraintViolation, .migrationFailed, .storeNewerThanModel, .unknownModelReference, .modelChecksumMismatch,
      .backwardMigration, .mappingModelMissing, .mappingModelInvalid, .requiredValueMissing, .constraintConflict, .crossStoreRelationship,
      .objectNotFound, .notUnique, .historyNotTracked, .historyTokenExpired, .historyTokenUnknown, .historyTokenOfOtherStore,
      .invalidHistoryToken,
      .historyConsumerBehind:
      .badData
    case .busy, .mergeConflict, .queryGenerationExpired, .tooManyQueryGenerations: .busy
    case .permissionDenied: error.operation.map(writingOperations.contains) ?? false ? .cannotCreate : .noInput
    case .storeNotFound, .noOpenStore: .noInput
    case .alreadyExists: .cannotCreate
    case .invalidRequest, .invalidOption, .unsupported, .nestingTooDeep, .entityNotInStore, .queryGenerationOfOtherStore: .usage
    case .cancelled: .interrupted
    case .unknownStoreType, .internalInconsistency: .software
    }
  }

  private static func status(of error: ModelFileError) -> ExitStatus {
    switch error.code {
    case .unreadable: .noInput
    case .unwritable: .cannotCreate
    default: .badData
    }
  }

  private static func status(of error: CocoaError) -> ExitStatus {
    switch error.code {
    case .fileNoSuchFile, .fileReadNoSuchFile, .fileReadNoPermission: .noInput
    case .fileWriteFileExists, .fileWriteNoPermission: .cannotCreate
    case .fileReadCorruptFile, .fileReadUnknown, .fileWriteOutOfSpace, .fileWriteUnknown: .damage
    default: .damage
    }
  }
}

import StoreFiles
package import StoreKeys

/// An error of a hub: what happened, and what to do.
package struct HubError: Error, Sendable, CustomStringConvertible {
  package enum Code: String, Sendable, Hashable, CaseIterable {
    // The hub.
    case noSuchFile
    /// A key file is missing.
    case keyFileMissing
    /// A key file exists without its hub.
    case keyFileExists
    case wrongKey
    /// The file is not a hub.
    case notAHub
    /// A later version of the library has written the hub.
    case newerFormat
    case readOnly
    case permissionDenied
    case diskFull
    case damaged
    /// Other processes hold the hub for longer than the limit.
    case busy
    /// The hub's file is replaced again and again.
    case replaced
    /// The system has no means left to observe the file.
    case notWatchable
    /// Another failure of the system.
    case unavailable
    /// The connection to the hub is closed.
    case closed

    // Requests.
    case unknownZone
    case unknownAccount
    case unknownJoinRequest
    /// Another account has the ID.
    case accountExists
    /// Another account has the zone.
    case zoneExists
    /// Another device has replaced the bundle.
    case generationConflict
    /// Another device has appended a certificate.
    case certificateConflict
    /// A request or an answer with other content exists.
    case joinRequestConflict
    /// The bytes are not those of the chunk.
    case wrongChunk
    case canceled
  }

  package let code: Code
  /// What happened.
  package let message: String
  /// What the user can do; empty if the caller handles the error.
  package var advice: String { code.advice }
  /// The error of the file that caused this one.
  package let underlying: StoreAccessError?

  package init(_ code: Code, _ message: String, underlying: StoreAccessError? = nil) {
    (self.code, self.message, self.underlying) = (code, message, underlying)
  }

  package var description: String { advice.isEmpty ? message : message + " " + advice }

  /// The error for a canceled task.
  package static let canceled = HubError(.canceled, "The request was canceled.")
}

extension HubError.Code {
  fileprivate var advice: String {
    switch self {
    case .noSuchFile: "Check the path. If the hub was moved, continue with its new path."
    case .keyFileMissing: "If the path is that of the hub, restore the file from a backup of the hub. Otherwise correct the path."
    case .keyFileExists: "It is what is left of a hub: restore the hub from a backup, or move this file away and repeat the request."
    case .wrongKey: "Restore the hub and its key files, whose names end in .key and .keys, from the same backup."
    case .notAHub: "Check the path, or create a hub at another one."
    case .newerFormat: "Update this program."
    case .readOnly: "Make the hub and its folder writable."
    case .permissionDenied: "Check the owner and the mode of the hub, its key files and its folder."
    case .diskFull: "Free space on the disk. The next round of synchronization continues."
    case .damaged: "Restore the hub from a backup. Devices send again what the backup lacks."
    case .busy: "Check for a program that uses the hub and hangs. The next round of synchronization continues."
    case .replaced: "Wait until the hub is no longer replaced."
    case .notWatchable: "Synchronize at intervals, or raise the limits that the message names."
    case .unavailable: "When the cause is gone, the next round of synchronization continues."
    case .unknownZone, .unknownAccount: "Check that the hub is the one that the store was synchronized with."
    case .accountExists: "Join the account instead of creating it."
    case .unknownJoinRequest: "Send a new request. Requests expire after 10 minutes."
    case .wrongChunk: "The next round of synchronization sends it again."
    case .closed, .zoneExists, .generationConflict, .certificateConflict, .joinRequestConflict, .canceled: ""
    }
  }
}

// MARK: - Errors of the file

extension HubError {
  /// The free space in bytes below which an unspecific failure of the file system is one of a full disk.
  private static let littleSpace = 256 << 10

  /// Converts an error of a file, a key or a canceled task. Other errors of a hub stay unchanged.
  package static func converted(_ error: any Error, path: String) -> any Error {
    switch error {
    case let error as StoreAccessError where error.kind == .keyFileExists:
      HubError(.keyFileExists, "The key file \(error.path ?? path) exists without its hub \(path).", underlying: error)
    case let error as StoreAccessError where code(of: error, path: path) == .notAHub:
      HubError(.notAHub, "\(path) is not a hub: \(reason(error)).", underlying: error)
    case let error as StoreAccessError:
      HubError(
        code(of: error, path: path), "Cannot access the hub \(path): \(file(of: error, path))\(error.explanation).", underlying: error)
    case is CancellationError: canceled
    default: error
    }
  }

  /// Why a file is not a hub.
  private static func reason(_ error: StoreAccessError) -> String {
    switch error.kind {
    case .notAStore(.empty): "the file is empty"
    case .notAStore(.stub): "the file is too short"
    case .notEncrypted: "the file is a plain SQLite database"
    default: error.explanation
    }
  }

  /// The path of the file that an error concerns, if it is a key file.
  private static func file(of error: StoreAccessError, _ path: String) -> String {
    guard let file = error.path, file != path, file.hasPrefix(path + ".key") else { return "" }
    return "the file \(file): "
  }

  private static func code(of error: StoreAccessError, path: String) -> Code {
    switch error.kind {
    case .noSuchFile: .noSuchFile
    case .keyFileMissing: .keyFileMissing
    case .keyFileExists, .fileExists: .keyFileExists
    case .wrongKey, .keyRequired, .invalidKey, .unreadableStore, .otherFormat, .keyFileOutdated, .keyWorkExceeded: .wrongKey
    case .notEncrypted, .notAStore: .notAHub
    case .unsupportedFormat: .newerFormat
    case .readOnly, .readOnlyLog: .readOnly
    case .permissionDenied: .permissionDenied
    case .diskFull, .insufficientDiskSpace: .diskFull
    case .storeCorrupt, .keyFileCorrupt, .noSuchTable: .damaged
    case .busy: .busy
    case .exchanged: .replaced
    case .notWatchable: .notWatchable
    case .cancelled: .canceled
    case .closed: .closed
    // SQLite does not report why it cannot create the files next to a database.
    case .io: DiskSpace.available(nextTo: path) ?? .max < littleSpace ? .diskFull : .unavailable
    case .encryptionUnavailable, .keyProviderFailed, .lastSlot, .unknownSlot, .externalDataMissing, .outOfMemory, .constraint, .sql,
      .misuse, .tooComplex:
      .unavailable
    }
  }
}

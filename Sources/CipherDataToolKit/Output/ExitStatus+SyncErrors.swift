import SyncCrypto
import SyncEngine
import SyncHub

extension SyncError {
  /// The exit status of a command that ends with the error.
  var exitStatus: ExitStatus {
    switch code {
    case .busy, .joinRequestExpired: .busy
    case .alreadySynchronized, .hubExists: .cannotCreate
    case .accountNotFound, .joinRefused: .noKey
    case .leaseUnavailable, .damagedState: .damage
    case .transactionEnded: .software
    default: .badData
    }
  }

  /// The message, which names the commands that help.
  var toolMessage: String {
    let text: String
    switch code {
    case .notSynchronized:
      text = "The store is not synchronized. “cipherdata sync start” creates an account, “cipherdata sync join” adds the store to one."
    case .alreadySynchronized: text = "The store is already synchronized. “cipherdata sync leave” ends that."
    case .historyMissing:
      text = "\(message) “cipherdata sync leave” and “cipherdata sync join” begin again, and find what was changed since."
    case .neededBySynchronization: text = "\(message) “cipherdata sync leave” ends synchronization."
    default: return description
    }
    return path.map { "\(text) (\($0))" } ?? text
  }
}

extension HubError {
  /// The message, which names the options that help.
  var toolMessage: String {
    switch code {
    case .noSuchFile:
      "\(message) Check the path. For a store that is synchronized, “cipherdata sync run STORE --hub HUB” continues with a hub that was "
        + "moved, and “cipherdata sync run STORE --create-hub” creates a hub that was lost."
    case .keyFileMissing, .wrongKey, .damaged:
      "\(description) If there is no backup, move what is left of the hub's files away: “cipherdata sync run STORE --create-hub” then "
        + "creates it again, and the devices send what they have."
    default: description
    }
  }

  /// The exit status of a command that ends with the error.
  var exitStatus: ExitStatus {
    switch code {
    case .noSuchFile, .permissionDenied: .noInput
    case .keyFileMissing, .wrongKey: .noKey
    case .keyFileExists, .accountExists, .zoneExists: .cannotCreate
    case .notAHub, .newerFormat, .unknownZone, .unknownAccount, .unknownJoinRequest: .badData
    case .readOnly, .diskFull, .damaged, .unavailable, .wrongChunk: .damage
    case .busy, .replaced, .generationConflict, .certificateConflict, .joinRequestConflict: .busy
    case .notWatchable, .closed: .software
    case .canceled: .interrupted
    }
  }
}

extension SyncCryptoError {
  /// The exit status of a command that ends with the error.
  var exitStatus: ExitStatus {
    switch self {
    case .wrongRecoveryKey, .malformedRecoveryKey, .joinRefused, .wrongAccount, .wrongCommitment, .unexpectedJoinMessage: .noKey
    case .unsupportedFormat, .unsupportedSuite: .badData
    case .damaged, .unknownZone, .unknownEpoch, .invalidSignature, .unknownDevice, .brokenCertificateChain, .invalidPublicKey: .damage
    case .libcrypto: .software
    }
  }
}

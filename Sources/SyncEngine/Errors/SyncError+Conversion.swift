import Foundation
import ObjectModel
import SyncCore
import SyncCrypto
import SyncHub

extension SyncError {
  /// Returns the error for an application: errors of the hub and of the cryptography, whose types it does not know, become a ``SyncError``.
  package static func converting(_ error: any Error, path: String?) -> any Error {
    switch error {
    case let error as HubError:
      switch error.code {
      case .canceled: return CancellationError()
      case .unknownAccount, .unknownZone: return SyncError(.otherHub, path: path, underlying: error)
      default: break
      }
      return SyncError(error.code.isPermanent ? .hubUnreadable : .hubUnavailable, path: path, underlying: error)
    case let error as SyncCryptoError:
      switch error {
      case .wrongRecoveryKey, .malformedRecoveryKey: return SyncError(.wrongRecoveryKey(error), path: path, underlying: error)
      case .joinRefused, .wrongAccount, .wrongCommitment, .unexpectedJoinMessage, .damaged(.joinMessage):
        return SyncError(.joinRefused(error), path: path, underlying: error)
      case .damaged(.accountKeys), .damaged(.deviceKeys): return SyncError(.damagedState, path: path, underlying: error)
      default: return SyncError(.hubUnreadable, path: path, underlying: error)
      }
    case is WireError: return SyncError(.damagedState, path: path, underlying: error)
    default: return error
    }
  }
}

extension SyncError {
  /// Returns what went wrong, in one sentence without advice: for an error of the hub, that error.
  static func shortMessage(_ error: any Error) -> String {
    switch error {
    case let error as SyncError: error.underlying.map(shortMessage) ?? firstSentence(error.message)
    case let error as HubError: error.message
    default: firstSentence(ErrorCause.text(error) { _ in "" })
    }
  }

  private static func firstSentence(_ text: String) -> String { text.range(of: ". ").map { text[..<$0.lowerBound] + "." } ?? text }
}

extension HubError.Code {
  /// Whether the hub must be restored or replaced, or this program be updated.
  fileprivate var isPermanent: Bool { [.wrongKey, .notAHub, .newerFormat, .damaged, .keyFileMissing].contains(self) }
}

extension SyncError.Reason {
  fileprivate static var hubUnavailable: Self {
    Self(.hubUnavailable, "The hub cannot be used at the moment. What was saved is kept, and sent later.")
  }

  fileprivate static var hubUnreadable: Self {
    Self(.hubUnreadable, "The hub, or what it contains, cannot be used. The objects of the store are not affected.")
  }

  fileprivate static func wrongRecoveryKey(_ error: SyncCryptoError) -> Self { Self(.wrongRecoveryKey, "\(error)") }

  fileprivate static func joinRefused(_ error: SyncCryptoError) -> Self {
    let message =
      error == .joinRefused
      ? "The user of the other device has refused the request to join."
      : "The messages between the devices do not belong together: something between them has changed them."
    return Self(.joinRefused, message + " Nothing was changed.")
  }

  fileprivate static var otherHub: Self {
    Self(.accountNotFound, "The hub does not have the account of the store: another hub is at its path. Use the hub of the account.")
  }

  static var damagedState: Self {
    Self(.damagedState, "What the store knows of its zone cannot be read. Objects are not affected: leave the account and join it again.")
  }
}

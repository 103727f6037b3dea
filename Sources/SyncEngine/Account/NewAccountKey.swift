import Foundation
import StoreKeys
package import SyncCrypto

/// The recovery key of an account that is being created.
///
/// The encrypted store contains it until it contains the account. So a creation that was interrupted uses the same key when it is repeated,
/// and the copy of the key that was made before, such as a file, is the right one.
enum NewAccountKey {
  /// The name of the key in the table of states.
  static let name = "newAccountKey"
}

extension StoreReplica {
  /// Returns the recovery key of the account that the store is to create: that of an interrupted creation, or a new one.
  func newAccountKey() throws -> AccountRecoveryKey {
    try transaction {
      if let known = try storedAccountKey() { return known }
      let key = try AccountRecoveryKey.random()
      try store(Data(try key.text().utf8), as: NewAccountKey.name)
      return key
    }
  }

  private func storedAccountKey() throws -> AccountRecoveryKey? {
    try storedValue(NewAccountKey.name).map { try AccountRecoveryKey(parsing: SecretBytes(Array($0))) }
  }

  /// Returns whether the creation of an account with a recovery key was interrupted.
  package func isCreatingAccount(with key: AccountRecoveryKey) throws -> Bool { try snapshot { try storedAccountKey() == key } }

  func removeNewAccountKey() throws { try removeValue(NewAccountKey.name) }

  /// Returns whether the store has joined an account, and was not synchronized since: joining may have been interrupted.
  package func hasJustJoined() throws -> Bool {
    try snapshot {
      guard try replicaState() != nil, try report().lastSuccess == nil else { return false }
      return try accountState().isNewAccount != true
    }
  }

  /// Returns whether the store is synchronized with an account.
  ///
  /// - Throws: ``SyncError`` with `notSynchronized` if the store is not synchronized.
  package func isReplica(ofAccountWith key: AccountRecoveryKey) throws -> Bool {
    try snapshot { try accountState().accountKeys == AccountKeys(key) }
  }
}

import Foundation
import StoreKeys
import SyncCore
import SyncCrypto
import SyncHub

/// The account and the keys of a device, which its encrypted store contains.
struct AccountState: Hashable, Codable, Sendable {
  /// The name of the state in its table.
  static let name = "account"

  /// The path of the hub's file.
  var hubPath: String
  /// The hub that had the account last.
  var hubIdentifier: UUID?
  var deviceName: String
  private var accountKeyBytes: Data
  private var deviceKeyBytes: Data
  /// The sealed keys of the zone.
  var bundle: Data
  /// True until the hub has the account that this device has created; nil afterwards and on other devices.
  var isNewAccount: Bool?
  /// The device whose certificate the hub has. A device gets a new identity when its store is copied.
  var certifiedDevice: DeviceID?

  init(hubPath: String, deviceName: String, _ accountKeys: AccountKeys, _ deviceKeys: DeviceKeys, bundle: [UInt8]) {
    (self.hubPath, self.deviceName, self.bundle) = (hubPath, deviceName, Data(bundle))
    accountKeyBytes = accountKeys.encoded().withUnsafeBytes { Data($0) }
    deviceKeyBytes = deviceKeys.encoded().withUnsafeBytes { Data($0) }
  }

  var accountKeys: AccountKeys { get throws { try AccountKeys(decoding: SecretBytes(Array(accountKeyBytes))) } }
  var deviceKeys: DeviceKeys { get throws { try DeviceKeys(decoding: SecretBytes(Array(deviceKeyBytes))) } }

  func openBundle() throws -> AccountBundle { try AccountBundle(opening: Array(bundle), with: accountKeys) }
}

extension StoreReplica {
  func accountState() throws -> AccountState {
    guard let bytes = try storedValue(AccountState.name) else {
      throw SyncError(try replicaState() == nil ? .notSynchronized : .damagedState, path: path)
    }
    do { return try PropertyListDecoder().decode(AccountState.self, from: bytes) } catch {
      throw SyncError(.damagedState, path: path, underlying: error)
    }
  }

  func setAccountState(_ state: AccountState) throws {
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .binary
    try store(try encoder.encode(state), as: AccountState.name)
  }
}

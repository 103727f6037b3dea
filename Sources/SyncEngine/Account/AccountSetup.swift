import Foundation
import StoreKeys
import SyncCore
package import SyncCrypto
package import SyncHub

/// Makes a store a replica of the private zone of an account.
package enum AccountSetup {
  /// Creates an account with a zone, of which the store becomes the first replica.
  ///
  /// Everything that the account needs is stored before the hub learns of it, so that an interrupted setup continues with the next round of
  /// synchronization.
  /// - Parameters:
  ///   - hubPath: The path of the hub's file.
  ///   - deviceName: The name by which other devices show this one.
  package static func createAccount(
    _ recoveryKey: AccountRecoveryKey, for replica: StoreReplica, hubPath: String, deviceName: String
  ) throws {
    let keys = try AccountKeys(recoveryKey)
    let zone = ZoneID.random()
    let created = Date().millisecondsSince1970
    let bundle = try AccountBundle.random(zones: [try .random(zone: zone)], created: created)
    let deviceKeys = try DeviceKeys.random()
    let device = DeviceID.random()
    var state = AccountState(hubPath: hubPath, deviceName: deviceName, keys, deviceKeys, bundle: try bundle.sealed(with: keys))
    let chain = DeviceChain(account: keys.id, accountKey: bundle.signingKey.publicKey)
    let certificate = try chain.certificate(
      for: device, deviceKeys.publicKeys, name: try keys.sealedName(deviceName), created: created, signedBy: bundle.signingKey)
    state.firstCertificate = Data(certificate.encoded())
    try replica.begin(in: zone, as: device) { try replica.setAccountState(state) }
  }

  /// Makes a store a replica of the zone of an existing account.
  ///
  /// - Throws: ``SyncError`` if the hub does not have the account of the recovery key.
  package static func join(
    _ recoveryKey: AccountRecoveryKey, for replica: StoreReplica, hub: any HubConnection, hubPath: String, deviceName: String,
    isolation: isolated (any Actor)? = #isolation
  ) async throws {
    let keys = try AccountKeys(recoveryKey)
    let account: HubAccount
    do { account = try await hub.account(keys.id) } catch let error as HubError where error.code == .unknownAccount {
      throw SyncError(.accountNotFound, path: hubPath)
    }
    let bundle = try AccountBundle(opening: account.bundle.bytes, with: keys)
    guard let zone = account.zones.first, try bundle.keys(of: zone).zone == zone else { throw SyncError(.accountNotFound, path: hubPath) }
    let state = AccountState(hubPath: hubPath, deviceName: deviceName, keys, try DeviceKeys.random(), bundle: account.bundle.bytes)
    try replica.begin(in: zone, as: .random()) { try replica.setAccountState(state) }
  }
}

extension ZoneID {
  static func random() -> ZoneID { ZoneID(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max)) }
}

extension DeviceID {
  static func random() -> DeviceID { DeviceID(.random(in: 1 ... .max)) }
}

extension SyncError.Reason {
  static var accountNotFound: Self {
    Self(.accountNotFound, "The hub has no account of this recovery key. Check the key and the path of the hub.")
  }
}

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
    let bundle = try AccountBundle.random(zones: [try .random(zone: zone)], created: Date().millisecondsSince1970)
    var state = AccountState(hubPath: hubPath, deviceName: deviceName, keys, try .random(), bundle: try bundle.sealed(with: keys))
    state.isNewAccount = true
    try replica.begin(in: zone, as: .random()) { try replica.setAccountState(state) }
  }

  /// Makes a store a replica of the zone of an existing account.
  ///
  /// - Throws: ``SyncError`` if the hub does not have the account of the recovery key, or the account's objects are of another model.
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
    try await join(zone, as: .random(), state, for: replica, hub: hub)
  }

  /// Makes a store a replica of the zone of an account that another device has granted.
  ///
  /// - Throws: ``SyncError`` if the account's objects are of another model.
  static func join(
    _ grant: JoinGrant, as device: DeviceID, _ deviceKeys: DeviceKeys, for replica: StoreReplica, hub: any HubConnection, hubPath: String,
    deviceName: String, isolation: isolated (any Actor)? = #isolation
  ) async throws {
    // The hub must not hide devices that the approving one knows.
    _ = try await hub.devices(of: grant.account, in: grant.bundle, containing: grant.chain)
    guard let zone = grant.bundle.zones.first?.zone else { throw SyncError(.accountNotFound, path: hubPath) }
    let state = AccountState(
      hubPath: hubPath, deviceName: deviceName, grant.account, deviceKeys, bundle: try grant.bundle.sealed(with: grant.account))
    try await join(zone, as: device, state, for: replica, hub: hub)
  }

  private static func join(
    _ zone: ZoneID, as device: DeviceID, _ state: AccountState, for replica: StoreReplica, hub: any HubConnection,
    isolation: isolated (any Actor)? = #isolation
  ) async throws {
    let sealing = try ZoneSealing(state.openBundle().keys(of: zone), signedBy: state.deviceKeys.signing)
    try await ZoneModelCheck(schema: replica.schema, sealing: sealing, zone: zone).check(hub, path: replica.path)
    try replica.begin(in: zone, as: device) { try replica.setAccountState(state) }
  }
}

extension ZoneID {
  static func random() -> ZoneID { ZoneID(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max)) }
}

extension SyncError.Reason {
  static var accountNotFound: Self {
    Self(.accountNotFound, "The hub has no account of this recovery key. Check the key and the path of the hub.")
  }
}

import Foundation
import SyncCore
import SyncCrypto
import SyncHub

/// Makes an account and the devices of it known to its hub, and to each other.
struct DeviceRegistration {
  let replica: StoreReplica
  let hub: any HubConnection

  /// The number of attempts to append a certificate while other devices append theirs.
  private static let maximumAttempts = 10

  /// Registers the device unless its certificate is on the hub. Creates the account unless the hub has it: this is the first device, or the
  /// hub was restored from a state without the account, or replaced by a new one. The other devices then add themselves again.
  ///
  /// The device gets a name that no other device of the account has.
  ///
  /// - Parameter asksHub: Whether to ask the hub even if it had the certificate before: it can have been restored from an older state.
  /// - Returns: Whether the store was registered as another device before, so that it continues as a new one.
  @discardableResult
  func register(asksHub: Bool, isolation: isolated (any Actor)? = #isolation) async throws -> Bool {
    let (known, zone) = try replica.transaction { (try replica.accountState(), try replica.knownState()) }
    var state = known
    let device = zone.zone.device
    if state.certifiedDevice == device, !asksHub { return false }
    for attempt in 1... {
      do {
        state.deviceName = try await certify(device, state)
        break
      } catch let error as HubError where error.code == .unknownAccount && attempt < Self.maximumAttempts {
        guard try await hasLostAccount(state) else { throw error }
        try await createAccount(state, zone.zoneID, device)
      } catch let error as HubError where error.code == .certificateConflict && attempt < Self.maximumAttempts {}
    }
    let isNewDevice = state.certifiedDevice.map { $0 != device } ?? false
    state.certifiedDevice = device
    state.hubIdentifier = try await hub.identity().identifier
    state.isNewAccount = nil
    if state != known { try replica.transaction { try replica.setAccountState(state) } }
    return isNewDevice
  }

  /// Returns whether a hub that lacks the account is the account's hub, in an earlier state, or a new one in its place. A hub with other
  /// accounts only is another one: the path is wrong.
  private func hasLostAccount(_ state: AccountState, isolation: isolated (any Actor)? = #isolation) async throws -> Bool {
    guard let known = state.hubIdentifier, try await hub.identity().identifier != known else { return true }
    return try await hub.accounts().isEmpty
  }

  /// Creates the account with a device as its first one.
  private func createAccount(
    _ state: AccountState, _ zone: ZoneID, _ device: DeviceID, isolation: isolated (any Actor)? = #isolation
  ) async throws {
    let (keys, bundle) = (try state.accountKeys, try state.openBundle())
    let chain = DeviceChain(account: keys.id, accountKey: bundle.signingKey.publicKey)
    let certificate = try certificate(of: device, state, continuing: chain)
    do {
      try await hub.createAccount(
        NewHubAccount(
          id: keys.id, bundle: HubBundle(generation: Int64(bundle.generation), bytes: Array(state.bundle)), certificate: certificate,
          zone: zone))
    } catch let error as HubError where error.code == .accountExists {
      // Another device was faster.
    }
  }

  /// Appends the certificate of a device, if it is not in the chain.
  ///
  /// - Returns: The name of the device in its certificate.
  private func certify(_ device: DeviceID, _ state: AccountState, isolation: isolated (any Actor)? = #isolation) async throws -> String {
    let chain = try await hub.devices(of: try state.accountKeys, in: try state.openBundle())
    let keys = try state.accountKeys
    if let known = chain[device] {
      // Another device has the ID: practically impossible, as it is random.
      guard known.keys == (try state.deviceKeys.publicKeys) else { throw SyncCryptoError.unknownDevice(device) }
      return (try? keys.name(ofSealed: known.name)) ?? state.deviceName
    }
    var state = state
    state.deviceName = DeviceNames.unique(state.deviceName, among: chain.names(keys).values)
    try await hub.appendCertificate(
      try certificate(of: device, state, continuing: chain), after: chain.head.digest, to: keys.id)
    return state.deviceName
  }

  private func certificate(of device: DeviceID, _ state: AccountState, continuing chain: DeviceChain) throws -> HubCertificate {
    let certificate = try chain.certificate(
      for: device, try state.deviceKeys.publicKeys, name: try state.accountKeys.sealedName(state.deviceName),
      created: Date().millisecondsSince1970, signedBy: try state.openBundle().signingKey)
    var chain = chain
    try chain.append(certificate)
    return HubCertificate(digest: chain.head.digest, bytes: certificate.encoded())
  }

  /// Returns the devices of the account.
  func chain(isolation: isolated (any Actor)? = #isolation) async throws -> DeviceChain {
    let state = try replica.transaction { try replica.accountState() }
    return try await hub.devices(of: try state.accountKeys, in: try state.openBundle())
  }
}

extension HubConnection {
  /// Returns the devices of an account, whose certificates are verified.
  ///
  /// - Parameter known: The end of a chain that the hub's chain must contain. A restored hub lacks certificates that a device has seen: by
  ///   default, nothing is known. Those that it has are signed by the account, and none can be revoked.
  func devices(
    of account: AccountKeys, in bundle: AccountBundle, containing known: DeviceChain.Head = .init(),
    isolation: isolated (any Actor)? = #isolation
  ) async throws -> DeviceChain {
    let certificates = try await certificates(of: account.id).map { try DeviceCertificate(decoding: $0.bytes) }
    return try DeviceChain(account: account.id, accountKey: bundle.signingKey.publicKey, verifying: certificates, containing: known)
  }
}

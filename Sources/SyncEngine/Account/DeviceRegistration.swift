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

  /// Registers the device unless its certificate is on the hub.
  ///
  /// - Parameter asksHub: Whether to ask the hub even if it had the certificate before: it can have been restored from an older state.
  func register(asksHub: Bool, isolation: isolated (any Actor)? = #isolation) async throws {
    var state = try replica.transaction { try replica.accountState() }
    if let certificate = state.firstCertificate {
      try await createAccount(state, certificate)
      state.firstCertificate = nil
      try replica.transaction { try replica.setAccountState(state) }
    }
    let device = try replica.transaction { try replica.zone().device }
    if state.certifiedDevice == device, !asksHub { return }
    for attempt in 1... {
      do {
        try await certify(device, state)
        break
      } catch let error as HubError where error.code == .certificateConflict && attempt < Self.maximumAttempts {}
    }
    state.certifiedDevice = device
    try replica.transaction { try replica.setAccountState(state) }
  }

  private func createAccount(
    _ state: AccountState, _ certificate: Data, isolation: isolated (any Actor)? = #isolation
  ) async throws {
    let (keys, bundle) = (try state.accountKeys, try state.openBundle())
    var chain = DeviceChain(account: keys.id, accountKey: bundle.signingKey.publicKey)
    try chain.append(try DeviceCertificate(decoding: Array(certificate)))
    guard let zone = bundle.zones.first?.zone else { throw SyncError(.notSynchronized, path: replica.path) }
    try await hub.createAccount(
      NewHubAccount(
        id: keys.id, bundle: HubBundle(generation: Int64(bundle.generation), bytes: Array(state.bundle)),
        certificate: HubCertificate(digest: chain.head.digest, bytes: Array(certificate)), zone: zone))
  }

  /// Appends the certificate of a device, if it is not in the chain.
  private func certify(_ device: DeviceID, _ state: AccountState, isolation: isolated (any Actor)? = #isolation) async throws {
    let (bundle, keys) = (try state.openBundle(), try state.deviceKeys.publicKeys)
    var chain = try await chain(state)
    if let known = chain[device] {
      // Another device has the ID: practically impossible, as it is random.
      guard known.keys == keys else { throw SyncCryptoError.unknownDevice(device) }
      return
    }
    let former = chain.head.digest
    let certificate = try chain.certificate(
      for: device, keys, name: try state.accountKeys.sealedName(state.deviceName), created: Date().millisecondsSince1970,
      signedBy: bundle.signingKey)
    try chain.append(certificate)
    try await hub.appendCertificate(
      HubCertificate(digest: chain.head.digest, bytes: certificate.encoded()), after: former, to: try state.accountKeys.id)
  }

  /// Returns the devices of the account.
  func chain(isolation: isolated (any Actor)? = #isolation) async throws -> DeviceChain {
    try await chain(replica.transaction { try replica.accountState() })
  }

  private func chain(_ state: AccountState, isolation: isolated (any Actor)? = #isolation) async throws -> DeviceChain {
    let (bundle, keys) = (try state.openBundle(), try state.accountKeys)
    let certificates = try await hub.certificates(of: keys.id).map { try DeviceCertificate(decoding: $0.bytes) }
    // A restored hub lacks certificates that the device has seen. Those that it has are signed by the account, and none can be revoked.
    return try DeviceChain(account: keys.id, accountKey: bundle.signingKey.publicKey, verifying: certificates, containing: .init())
  }
}

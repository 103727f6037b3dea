import Foundation
package import ObjectStore
package import SyncCore
package import SyncCrypto
package import SyncHub

/// The request of a store to join an account, from the request to the approval on an existing device.
///
/// The keys exist in the memory of this process only: if it ends, the user requests again, and the request expires on the hub.
package actor JoinAttempt {
  private let coordinator: PersistentStoreCoordinator
  private let store: PersistentStore
  private let hub: any HubConnection
  private let hubPath: String
  private let deviceName: String
  private let account: AccountID
  private let lease: SyncLease
  private let keys: DeviceKeys
  private let deadline: ContinuousClock.Instant

  private var device: JoiningDevice
  private var isConfirmed = false
  /// Whether the existing device has approved or refused.
  private var isAnswered = false
  private var isEnded = false
  /// Whether the store is becoming a replica, which cannot be canceled any more.
  private var isJoining = false
  // The exchange takes two requests, because each has one answer: the commitment, and what it commits to.
  private let (commitment, reveal) = (UUID(), UUID())
  /// The body of the second request, once the first one is answered.
  private var revealed: [UInt8]?

  /// The time between two looks at the hub.
  private static let interval = Duration.milliseconds(300)

  init(
    _ store: PersistentStore, of coordinator: PersistentStoreCoordinator, hub: any HubConnection, hubPath: String, account: AccountID,
    deviceName: String, lease: SyncLease, timeout: Duration
  ) throws {
    (self.store, self.coordinator, self.hub, self.hubPath) = (store, coordinator, hub, hubPath)
    (self.account, self.deviceName, self.lease) = (account, deviceName, lease)
    keys = try .random()
    device = try JoiningDevice(device: .random(), keys: keys, name: deviceName)
    deadline = .now + min(timeout, .milliseconds(HubJoinRequest.lifetime))
  }

  /// Posts the request, and waits until a device of the account answers.
  ///
  /// - Returns: The code that the user compares with the one on that device.
  /// - Throws: ``SyncError`` with `joinRequestExpired`, or ``SyncCryptoError``, if the attempt has failed; errors of the hub. The attempt is
  ///   over then, and nothing was changed.
  package func code() async throws -> JoinCode {
    try await ending {
      try await poll { attempt in try await attempt.exchange() }
    }
  }

  private func exchange() async throws -> JoinCode? {
    if revealed == nil {
      try await hub.postJoinRequest(commitment, device.firstMessage.encoded(), to: account)
      guard let answer = try await answer(to: commitment) else { return nil }
      // Another call may have been faster.
      if revealed == nil { revealed = try device.receive(JoinMessage(decoding: answer))?.encoded() }
    }
    guard let revealed, let code = device.code else { return nil }
    try await hub.postJoinRequest(reveal, revealed, to: account)
    try await hub.removeJoinRequest(commitment, of: account)
    return code
  }

  /// Records that the user has found the same code on the existing device, waits for the approval there, and makes the store a replica.
  ///
  /// After an error of the hub or the store, call it again or cancel the attempt.
  /// - Throws: ``SyncError`` with `joinRequestExpired` or `differentModel`, or ``SyncCryptoError`` with `joinRefused`, if the attempt has
  ///   failed; nothing was changed then.
  package func complete() async throws -> SyncService {
    try await ending {
      if !isConfirmed {
        try device.approve()
        isConfirmed = true
      }
      let grant = try await poll { attempt in try await attempt.receiveGrant() }
      // Another call joins.
      if isJoining { throw CancellationError() }
      isJoining = true
      defer { isJoining = false }
      let service = try await join(grant)
      // The service has the lease now.
      isEnded = true
      await removeRequests()
      return service
    }
  }

  /// Waits for the answer of the user at the existing device, after ``code()``.
  ///
  /// The attempt goes on if the task is canceled.
  /// - Throws: As ``complete()``, which has to be called nevertheless.
  package func waitForApproval() async throws {
    try await ending(ifCanceled: false) {
      _ = try await poll { attempt in try await attempt.receiveAnswer() ? true : nil }
    }
  }

  /// Returns whether the existing device has answered.
  private func receiveAnswer() async throws -> Bool {
    // An earlier call.
    if isAnswered { return true }
    guard let answer = try await answer(to: reveal) else { return false }
    if isAnswered { return true }
    isAnswered = true
    _ = try device.receive(JoinMessage(decoding: answer))
    return true
  }

  private func receiveGrant() async throws -> JoinGrant? {
    guard try await receiveAnswer(), let grant = device.grant else { return nil }
    guard grant.account.id == account else { throw SyncCryptoError.wrongAccount }
    return grant
  }

  private func join(_ grant: JoinGrant) async throws -> SyncService {
    let (store, coordinator, hub, hubPath, deviceName) = (store, coordinator, hub, hubPath, deviceName)
    let (id, keys, lease) = (device.request.device, keys, lease)
    return try await SyncService.onQueue {
      let replica = try StoreReplica(store, of: coordinator)
      try await AccountSetup.join(grant, as: id, keys, for: replica, hub: hub, hubPath: hubPath, deviceName: deviceName)
      return try SyncService(coordinator, store, hub, replica, lease)
    }
  }

  /// Ends the attempt: removes the request from the hub, as far as it can be reached, and allows other processes to use the store. Does
  /// nothing once the store is joining or has joined.
  package func cancel() async {
    if isEnded || isJoining { return }
    isEnded = true
    await removeRequests()
    lease.release()
  }

  // MARK: -

  /// Returns the answer to a request; nil before it is answered.
  private func answer(to id: UUID) async throws -> [UInt8]? {
    guard let request = try await hub.joinRequests(of: account).first(where: { $0.id == id }) else {
      throw SyncError(.joinRequestExpired, path: store.url?.path)
    }
    return request.answer
  }

  /// Repeats a step until it has a result. Errors of a hub that is away for a while are waited out.
  private func poll<Result: Sendable>(_ step: @Sendable (isolated JoinAttempt) async throws -> Result?) async throws -> Result {
    while true {
      try Task.checkCancellation()
      do { if let result = try await step(self) { return result } } catch let error as HubError where error.code.isTemporary {
        if deadline < .now { throw error }
      }
      if isEnded { throw CancellationError() }
      if deadline < .now { throw SyncError(.joinRequestExpired, path: store.url?.path) }
      try await Task.sleep(for: Self.interval)
    }
  }

  /// Runs a part of the attempt. An error that no repetition can change ends the attempt.
  ///
  /// - Parameter isEndedByCancellation: Whether a canceled task ends it too.
  private func ending<Result: Sendable>(
    ifCanceled isEndedByCancellation: Bool = true, _ body: () async throws -> Result
  ) async throws -> Result {
    if isEnded { throw SyncError(.joinRequestExpired, path: store.url?.path) }
    do { return try await body() } catch {
      let isCanceled = error is CancellationError || (error as? HubError)?.code == .canceled
      if isCanceled ? isEndedByCancellation : error is SyncError || error is SyncCryptoError { await cancel() }
      throw error
    }
  }

  private func removeRequests() async {
    let (hub, account, ids) = (hub, account, [commitment, reveal])
    // Also after a cancellation of the current task.
    await Task.detached { for id in ids { try? await hub.removeJoinRequest(id, of: account) } }.value
  }
}

extension HubError.Code {
  /// Whether the same request can succeed soon.
  package var isTemporary: Bool {
    switch self {
    case .noSuchFile, .busy, .replaced, .unavailable, .diskFull: true
    default: false
    }
  }
}

extension SyncService {
  /// Requests to join an account, which the user of an existing device approves.
  ///
  /// - Parameters:
  ///   - account: The account; nil for the only one of the hub.
  ///   - timeout: The time for which the request waits, at most 10 minutes.
  /// - Throws: ``SyncError`` with `accountNotFound` if the hub has no account, or several and none is given; with a code of ``StoreReplica``
  ///   if the store cannot be synchronized or already is; with `busy` if another process synchronizes it or joins with it.
  package static func requestToJoin(
    _ store: PersistentStore, of coordinator: PersistentStoreCoordinator, hubPath: String, account: AccountID? = nil, deviceName: String,
    timeout: Duration = .milliseconds(HubJoinRequest.lifetime)
  ) async throws -> JoinAttempt {
    try await onQueue { try StoreReplica(store, of: coordinator).checkCanBegin() }
    let hub = EmbeddedHub(path: hubPath, hashing: ZoneHashing.shared)
    let accounts = try await hub.accounts()
    if account == nil, accounts.count > 1 { throw SyncError(.severalAccounts(accounts.count), path: hubPath) }
    guard let account = account ?? accounts.first, accounts.contains(account) else {
      throw SyncError(accounts.isEmpty ? .noAccount : .unknownAccount, path: hubPath)
    }
    return try await requestToJoin(
      store, of: coordinator, hub: hub, hubPath: hubPath, account: account, deviceName: deviceName, timeout: timeout)
  }

  /// Requests to join an account of a connected hub.
  package static func requestToJoin(
    _ store: PersistentStore, of coordinator: PersistentStoreCoordinator, hub: any HubConnection, hubPath: String, account: AccountID,
    deviceName: String, timeout: Duration
  ) async throws -> JoinAttempt {
    try await onQueue {
      try JoinAttempt(
        store, of: coordinator, hub: hub, hubPath: hubPath, account: account, deviceName: deviceName, lease: takeLease(of: store),
        timeout: timeout)
    }
  }

  /// Prepares to answer the requests of new devices to join the account of a store.
  package static func joinApproval(_ store: PersistentStore, of coordinator: PersistentStoreCoordinator) async throws -> JoinApproval {
    try await onQueue { try JoinApproval(store, of: coordinator) }
  }
}

extension SyncError.Reason {
  fileprivate static var noAccount: Self {
    Self(.accountNotFound, "The hub has no account yet. Create one with the first device, and synchronize it once.")
  }

  fileprivate static var unknownAccount: Self {
    Self(.accountNotFound, "The hub does not have this account. Compare its ID with the one that an existing device shows.")
  }

  fileprivate static func severalAccounts(_ count: Int) -> Self {
    Self(.accountNotFound, "The hub has \(count) accounts. Name the one to join by its ID, which an existing device shows.")
  }
}

public import Foundation
import SyncEngine

extension PersistentCloudContainer {
  /// Requests to add this device to an account without its recovery key. The user approves that on a device of the account.
  ///
  /// ```swift
  /// import CipherDataSync
  ///
  /// func join(_ container: PersistentCloudContainer, userConfirms: (String) async -> Bool) async throws {
  ///   let attempt = try await container.requestToJoinAccount()
  ///   let code = try await attempt.code
  ///   if await userConfirms(code) { try await attempt.confirm() } else { await attempt.cancel() }
  /// }
  /// ```
  ///
  /// The other device receives the request from ``joinRequests()``.
  /// The request ends with the process: after an interruption, request again. A device that was approved and has joined, as
  /// ``isSynchronized`` shows, continues when its store is loaded.
  /// - Parameter account: The account's ID, as the ``status(of:)`` of an existing device shows it; nil for the only account of the hub.
  /// - Returns: The request, which ends with the approval, an error, or ``CloudJoinAttempt/cancel()``.
  /// - Throws: ``SyncError`` with `accountNotFound` if the hub has no account, or several and none is given; with `busy` if another process
  ///   joins with the store; or with a code of ``createAccount(keepingRecoveryKey:)``.
  public func requestToJoinAccount(_ account: UUID? = nil) async throws -> CloudJoinAttempt {
    try await store().requestToJoin(account)
  }

  /// Returns the requests of other devices to join the account, whenever they change, until the loop ends.
  ///
  /// While the loop runs, this device answers the others, so that both sides can show a code. Run it while the user wants to add a device.
  ///
  /// ```swift
  /// import CipherDataSync
  ///
  /// func addDevice(to container: PersistentCloudContainer, userConfirms: (CloudJoinRequest) async -> Bool) async throws {
  ///   for try await requests in container.joinRequests() {
  ///     for request in requests {
  ///       if await userConfirms(request) { return try await container.approve(request) }
  ///       try await container.refuse(request)
  ///     }
  ///   }
  /// }
  /// ```
  ///
  /// At most 10 devices are answered by one loop, because each request is a chance of 1 in 1,000,000 for an attacker.
  /// - Returns: A sequence that begins with the requests of the moment, or an empty list. It throws ``SyncError`` with
  ///   `notSynchronized` if the store does not belong to an account, or with a code of the hub.
  public func joinRequests() -> AsyncThrowingStream<[CloudJoinRequest], any Error> {
    AsyncThrowingStream { continuation in
      let task = Task {
        do {
          try await self.store().followJoinRequests { continuation.yield($0) }
          continuation.finish()
        } catch { continuation.finish(throwing: error) }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  /// Adds another device to the account. Call it only after the user has found the request's code on that device. Repeating the call has no
  /// effect.
  ///
  /// - Throws: ``SyncError`` with `joinRequestExpired` if the request has expired, was canceled or was refused; with `hubUnavailable`.
  public func approve(_ request: CloudJoinRequest) async throws { try await store().approve(request.pending) }

  /// Rejects another device, because its code differs or the user does not know it. Has no effect on a request that has expired.
  ///
  /// - Throws: ``SyncError`` with `joinRequestExpired` if the request was approved before, also on another device; with `hubUnavailable`.
  public func refuse(_ request: CloudJoinRequest) async throws { try await store().refuse(request.pending) }
}

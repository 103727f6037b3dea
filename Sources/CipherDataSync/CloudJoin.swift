public import Foundation
import SyncCore
import SyncCrypto
import SyncEngine

/// The request of this device to join an account, which the user approves on an existing device. See
/// ``PersistentCloudContainer/requestToJoinAccount(_:)``.
///
/// The request exists as long as this process, at most 10 minutes. A task that is canceled in one of the methods cancels the request.
public final class CloudJoinAttempt: Sendable {
  private let attempt: JoinAttempt
  private let store: CloudStore

  init(_ attempt: JoinAttempt, _ store: CloudStore) { (self.attempt, self.store) = (attempt, store) }

  /// The six digits to show, such as `042 917`, as soon as an existing device has answered.
  ///
  /// - Throws: ``SyncError`` with `joinRequestExpired` if no device answers in time, with `joinRefused` if the user refuses, or with
  ///   `hubUnavailable`; `CancellationError`.
  public var code: String {
    get async throws {
      do { return try await attempt.code().description } catch { throw store.converted(error) }
    }
  }

  /// Completes the request: call it when the user has found the same code on both devices. Waits for the approval on the existing device,
  /// and adds this one to the account. The objects of the store and those of the account are merged.
  ///
  /// Do not call it without the user's answer: if the codes differ, something between the devices impersonates the account, and would
  /// receive the objects of this device.
  /// - Throws: ``SyncError`` with `joinRefused` if the user refuses on the existing device, with `joinRequestExpired` if the approval does
  ///   not come in time, or with `differentModel`. Nothing was changed then. After `hubUnavailable`, it can be called again.
  public func confirm() async throws { try await store.complete(attempt) }

  /// Cancels the request, because the codes differ or the user does not want to join any more. Has no effect on a device that has joined.
  public func cancel() async { await attempt.cancel() }
}

/// The request of another device to join the account, which waits for the user of this one. See ``PersistentCloudContainer/joinRequests()``.
public struct CloudJoinRequest: Sendable, Hashable, Identifiable {
  let pending: PendingJoin

  init(_ pending: PendingJoin) { self.pending = pending }

  /// The identity of the request.
  public var id: UUID { pending.id }
  /// The name of the other device, as it calls itself. The code proves which device it is, not the name.
  public var deviceName: String { pending.deviceName }
  /// The six digits, such as `042 917`, which the user compares with those on the other device.
  public var code: String { pending.code.description }
  /// When the request expires, by the clock of the hub.
  public var expirationDate: Date { pending.expiry }
}

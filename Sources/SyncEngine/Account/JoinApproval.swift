package import Foundation
package import ObjectStore
import SyncCore
package import SyncCrypto
package import SyncHub

/// A request to join the account of a store, which waits for the user of an existing device.
package struct PendingJoin: Hashable, Sendable, Identifiable {
  package let id: UUID
  /// The name that the new device says of itself.
  package let deviceName: String
  /// The code that the user compares with the one on the new device.
  package let code: JoinCode
  /// When the request expires, by the hub's clock.
  package let expiry: Date
}

/// The requests of new devices to join the account of a store. The user of this device approves or refuses them.
///
/// Keeps no state that must survive: after a crash, or on another device of the account, a request continues with the same code. Needs no
/// right to synchronize the store: another process can do that meanwhile.
package actor JoinApproval {
  private let hub: any HubConnection
  private let account: AccountKeys
  private let bundle: AccountBundle
  private let path: String?
  private let now: @Sendable () -> Int64
  /// The commitments that were answered.
  private var answered: Set<Digest> = []

  /// The number of new devices that are answered. Each one gives a hub another chance of 1 in 1,000,000 that the codes of an attack are equal.
  private static let maximumCount = 10

  /// Prepares to answer requests on the hub of a synchronized store.
  ///
  /// - Parameters:
  ///   - hub: A connection to the hub; nil to connect to the file that the store is synchronized with.
  ///   - now: Returns the time in milliseconds since 1970.
  /// - Throws: ``SyncError`` with `notSynchronized` if the store does not belong to an account.
  package init(
    _ store: PersistentStore, of coordinator: PersistentStoreCoordinator, hub: (any HubConnection)? = nil,
    now: @escaping @Sendable () -> Int64 = { Date().millisecondsSince1970 }
  ) throws {
    let replica = try StoreReplica(store, of: coordinator)
    let state = try replica.snapshot { try replica.accountState() }
    (account, bundle, path) = (try state.accountKeys, try state.openBundle(), store.url?.path)
    self.hub = hub ?? EmbeddedHub(path: state.hubPath, hashing: ZoneHashing.shared)
    self.now = now
  }

  /// Returns the requests that wait for the user, the one that expires first at the beginning. Answers new devices, so that both sides can
  /// show a code: call the method repeatedly.
  package func requests() async throws -> [PendingJoin] {
    var pending: [PendingJoin] = []
    for request in try await hub.joinRequests(of: account.id) where request.answer == nil {
      guard let message = try? JoinMessage(decoding: request.bytes) else { continue }
      switch message {
      case .commitment(let commitment): try await answer(request, commitment)
      case .reveal: if pending.count < Self.maximumCount, let join = PendingJoin(request, device(for: message)) { pending.append(join) }
      case .challenge, .grant, .refusal: break
      }
    }
    return pending
  }

  private func answer(_ request: HubJoinRequest, _ commitment: Digest) async throws {
    guard answered.contains(commitment) || answered.count < Self.maximumCount else { return }
    answered.insert(commitment)
    var device = ApprovingDevice(account: account, bundle: bundle, chain: .init(), at: now())
    guard let challenge = try device.receive(.commitment(commitment)) else { return }
    do { try await hub.answerJoinRequest(request.id, with: challenge.encoded(), of: account.id) } catch let error as HubError
      where error.code == .unknownJoinRequest || error.code == .joinRequestConflict
    {
      // The new device has canceled the request, or another device has answered it.
    }
  }

  /// Returns the state of a join, or nil for a message that no device has sent, or too long ago.
  private func device(for reveal: JoinMessage, _ chain: DeviceChain.Head = .init()) -> ApprovingDevice? {
    try? ApprovingDevice(account: account, bundle: bundle, chain: chain, at: now(), continuingWith: reveal)
  }

  /// Admits a new device, whose user sees the same code. Repeating the call has no effect.
  ///
  /// - Throws: ``SyncError`` with `joinRequestExpired` if the request has expired, was canceled or was refused.
  package func approve(_ join: PendingJoin) async throws {
    let chain = try await hub.devices(of: account, in: bundle).head
    for attempt in 1... {
      let requests = try await hub.joinRequests(of: account.id)
      guard let request = requests.first(where: { $0.id == join.id }), let reveal = try? JoinMessage(decoding: request.bytes),
        var device = device(for: reveal, chain), device.code == join.code
      else { throw expired }
      if let answer = request.answer {
        guard case .grant? = try? JoinMessage(decoding: answer) else { throw expired }
        return
      }
      do { return try await hub.answerJoinRequest(join.id, with: device.approve().encoded(), of: account.id) } catch let error as HubError
        where error.code == .joinRequestConflict && attempt == 1
      {
        // Another device has answered meanwhile.
      } catch let error as HubError where error.code == .unknownJoinRequest || error.code == .joinRequestConflict { throw expired }
    }
  }

  /// Rejects a new device. Has no effect on a request that has expired or was canceled.
  ///
  /// - Throws: ``SyncError`` with `joinRequestExpired` if the request was approved before, also by another device.
  package func refuse(_ join: PendingJoin) async throws {
    do { try await hub.answerJoinRequest(join.id, with: JoinMessage.refusal.encoded(), of: account.id) } catch let error as HubError {
      switch error.code {
      case .unknownJoinRequest: return
      case .joinRequestConflict: throw expired
      default: throw error
      }
    }
  }

  private var expired: SyncError { SyncError(.joinRequestExpired, path: path) }
}

extension PendingJoin {
  fileprivate init?(_ request: HubJoinRequest, _ device: ApprovingDevice?) {
    guard let join = device?.request, let code = device?.code else { return nil }
    let expiry = Date(timeIntervalSince1970: Double(request.expiry) / 1_000)
    self.init(id: request.id, deviceName: join.name, code: code, expiry: expiry)
  }
}

extension SyncError.Reason {
  package static var joinRequestExpired: Self {
    Self(
      .joinRequestExpired,
      "No device has approved the request to join in time, or it was canceled or answered on another one. Request again on the new device; "
        + "nothing was changed.")
  }
}

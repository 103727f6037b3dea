import Foundation
import ObjectStore
import SyncCore
import SyncEngine
import SyncHub

extension CloudStore {
  /// The time between two looks at the hub while the user waits for requests, in seconds.
  private static let requestInterval = 0.5

  func converted(_ error: any Error) -> any Error { SyncError.converting(error, path: store.url?.path) }

  func requestToJoin(_ account: UUID?) async throws -> CloudJoinAttempt {
    let id = account.map { RecordID($0) }.map { AccountID(high: $0.high, low: $0.low) }
    do {
      let attempt = try await SyncService.requestToJoin(
        store, of: coordinator, hubPath: options.hubURL.path, account: id, deviceName: options.deviceName)
      return CloudJoinAttempt(attempt, self)
    } catch { throw converted(error) }
  }

  /// Adds the device to the account after the user's confirmation, and begins to synchronize.
  func complete(_ attempt: JoinAttempt) async throws { try await begin { try await attempt.complete() } }

  /// Calls a closure with the requests of other devices whenever they change, until the task is canceled.
  func followJoinRequests(_ report: ([CloudJoinRequest]) -> Void) async throws {
    let approval = try await approval()
    var last: [CloudJoinRequest]?
    while true {
      do {
        let requests = try await approval.requests().map { CloudJoinRequest($0) }
        if requests != last { report(requests) }
        last = requests
      } catch let error as HubError where error.code.isTemporary && last != nil {
        // The requests are there again when the hub is.
      } catch { throw converted(error) }
      try await Task.sleep(for: .seconds(Self.requestInterval))
    }
  }

  func approve(_ request: PendingJoin) async throws {
    do { try await approval().approve(request) } catch { throw converted(error) }
  }

  func refuse(_ request: PendingJoin) async throws {
    do { try await approval().refuse(request) } catch { throw converted(error) }
  }

  private func approval() async throws -> JoinApproval { try await SyncService.joinApproval(store, of: coordinator) }
}

import Foundation
import SyncCore
import SyncHub
import _ForwardingHub

/// A hub that redirects requests to join an account to another account, and passes everything else on.
struct RedirectingHub: ForwardingHub {
  let hub: any HubConnection
  private let account: AccountID
  private let target: AccountID

  init(_ hub: any HubConnection, _ account: AccountID, to target: AccountID) {
    (self.hub, self.account, self.target) = (hub, account, target)
  }

  private func redirected(_ id: AccountID) -> AccountID { id == account ? target : id }

  @discardableResult func postJoinRequest(_ id: UUID, _ body: [UInt8], to account: AccountID) async throws -> Int64 {
    try await hub.postJoinRequest(id, body, to: redirected(account))
  }
  func joinRequests(of account: AccountID) async throws -> [HubJoinRequest] { try await hub.joinRequests(of: redirected(account)) }
  func answerJoinRequest(_ id: UUID, with answer: [UInt8], of account: AccountID) async throws {
    try await hub.answerJoinRequest(id, with: answer, of: redirected(account))
  }
  func removeJoinRequest(_ id: UUID, of account: AccountID) async throws {
    try await hub.removeJoinRequest(id, of: redirected(account))
  }
}

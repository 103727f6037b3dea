import Foundation
import SyncCore
import SyncHub

/// A hub that redirects requests to join an account to another account, and passes everything else on.
struct RedirectingHub: HubConnection {
  private let hub: any HubConnection
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

  func identity() async throws -> HubIdentity { try await hub.identity() }
  func pull(_ request: PullRequest, zone: ZoneID) async throws -> PullAnswer { try await hub.pull(request, zone: zone) }
  func push(_ commit: SealedCommit, zone: ZoneID) async throws -> PushAnswer { try await hub.push(commit, zone: zone) }
  func verify(_ request: VerificationRequest, zone: ZoneID) async throws -> VerificationAnswer {
    try await hub.verify(request, zone: zone)
  }
  func missingChunks(_ ids: [ChunkID], zone: ZoneID) async throws -> [ChunkID] { try await hub.missingChunks(ids, zone: zone) }
  func putChunk(_ id: ChunkID, _ bytes: [UInt8], zone: ZoneID) async throws { try await hub.putChunk(id, bytes, zone: zone) }
  func chunk(_ id: ChunkID, zone: ZoneID) async throws -> [UInt8]? { try await hub.chunk(id, zone: zone) }
  func watch(zone: ZoneID) async throws -> HubWatch { try await hub.watch(zone: zone) }
  func createAccount(_ account: NewHubAccount) async throws { try await hub.createAccount(account) }
  func accounts() async throws -> [AccountID] { try await hub.accounts() }
  func account(_ id: AccountID) async throws -> HubAccount { try await hub.account(id) }
  func replaceBundle(of account: AccountID, with bundle: HubBundle) async throws {
    try await hub.replaceBundle(of: account, with: bundle)
  }
  func certificates(of account: AccountID) async throws -> [HubCertificate] { try await hub.certificates(of: account) }
  func appendCertificate(_ certificate: HubCertificate, after previous: Digest, to account: AccountID) async throws {
    try await hub.appendCertificate(certificate, after: previous, to: account)
  }
}

package import Foundation
package import SyncCore
package import SyncHub

/// A hub that passes requests on to another one. A type that conforms implements only those that it does not merely pass on.
package protocol ForwardingHub: HubConnection {
  var hub: any HubConnection { get }
}

extension ForwardingHub {
  package func pull(_ request: PullRequest, zone: ZoneID) async throws -> PullAnswer { try await hub.pull(request, zone: zone) }
  package func verify(_ request: VerificationRequest, zone: ZoneID) async throws -> VerificationAnswer {
    try await hub.verify(request, zone: zone)
  }
  package func push(_ commit: SealedCommit, zone: ZoneID) async throws -> PushAnswer { try await hub.push(commit, zone: zone) }
  package func identity() async throws -> HubIdentity { try await hub.identity() }
  package func missingChunks(_ ids: [ChunkID], zone: ZoneID) async throws -> [ChunkID] { try await hub.missingChunks(ids, zone: zone) }
  package func putChunk(_ id: ChunkID, _ bytes: [UInt8], zone: ZoneID) async throws { try await hub.putChunk(id, bytes, zone: zone) }
  package func chunk(_ id: ChunkID, zone: ZoneID) async throws -> [UInt8]? { try await hub.chunk(id, zone: zone) }
  package func watch(zone: ZoneID) async throws -> HubWatch { try await hub.watch(zone: zone) }
  package func createAccount(_ account: NewHubAccount) async throws { try await hub.createAccount(account) }
  package func accounts() async throws -> [AccountID] { try await hub.accounts() }
  package func account(_ id: AccountID) async throws -> HubAccount { try await hub.account(id) }
  package func replaceBundle(of account: AccountID, with bundle: HubBundle) async throws {
    try await hub.replaceBundle(of: account, with: bundle)
  }
  package func certificates(of account: AccountID) async throws -> [HubCertificate] { try await hub.certificates(of: account) }
  package func appendCertificate(_ certificate: HubCertificate, after previous: Digest, to account: AccountID) async throws {
    try await hub.appendCertificate(certificate, after: previous, to: account)
  }
  package func postJoinRequest(_ id: UUID, _ body: [UInt8], to account: AccountID) async throws -> Int64 {
    try await hub.postJoinRequest(id, body, to: account)
  }
  package func joinRequests(of account: AccountID) async throws -> [HubJoinRequest] { try await hub.joinRequests(of: account) }
  package func answerJoinRequest(_ id: UUID, with answer: [UInt8], of account: AccountID) async throws {
    try await hub.answerJoinRequest(id, with: answer, of: account)
  }
  package func removeJoinRequest(_ id: UUID, of account: AccountID) async throws { try await hub.removeJoinRequest(id, of: account) }
}

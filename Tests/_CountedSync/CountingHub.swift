import Foundation
import SyncCore
import SyncHub
import Synchronization

/// A hub that counts the requests and the bytes of pulls and of comparisons, and passes everything on.
final class CountingHub: HubConnection {
  private let hub: any HubConnection
  private let counted = Mutex((requests: 0, bytes: 0))

  init(_ hub: any HubConnection) { self.hub = hub }

  var counts: (requests: Int, bytes: Int) { counted.withLock { $0 } }

  private func count(_ bytes: Int) { counted.withLock { $0 = ($0.requests + 1, $0.bytes + bytes) } }

  /// The size of a digest, and that of what identifies a request.
  private static let (digest, head) = (32, 64)

  func pull(_ request: PullRequest, zone: ZoneID) async throws -> PullAnswer {
    let answer = try await hub.pull(request, zone: zone)
    var size = 2 * Self.head
    if case .page(let page) = answer {
      size += page.records.reduce(page.commits.count * 3 * Self.digest) { $0 + 80 + $1.body.count }
    }
    count(size)
    return answer
  }

  func verify(_ request: VerificationRequest, zone: ZoneID) async throws -> VerificationAnswer {
    let answer = try await hub.verify(request, zone: zone)
    let size =
      switch request.query {
      case .sums(let ranges): 3 * ranges.count
      case .versions(let ranges, _, _): 3 * ranges.count + Self.digest
      case .records(let names): Self.digest * names.count
      }
    count(Self.head + size + answer.approximateSize)
    return answer
  }

  func push(_ commit: SealedCommit, zone: ZoneID) async throws -> PushAnswer { try await hub.push(commit, zone: zone) }
  func identity() async throws -> HubIdentity { try await hub.identity() }
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
  func postJoinRequest(_ id: UUID, _ body: [UInt8], to account: AccountID) async throws -> Int64 {
    try await hub.postJoinRequest(id, body, to: account)
  }
  func joinRequests(of account: AccountID) async throws -> [HubJoinRequest] { try await hub.joinRequests(of: account) }
  func answerJoinRequest(_ id: UUID, with answer: [UInt8], of account: AccountID) async throws {
    try await hub.answerJoinRequest(id, with: answer, of: account)
  }
  func removeJoinRequest(_ id: UUID, of account: AccountID) async throws { try await hub.removeJoinRequest(id, of: account) }
}

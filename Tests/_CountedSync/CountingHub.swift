import Foundation
import SyncCore
import SyncHub
import Synchronization
import _ForwardingHub

/// A hub that counts the requests and the bytes of pulls and of comparisons, and passes everything on.
final class CountingHub: ForwardingHub {
  let hub: any HubConnection
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
}

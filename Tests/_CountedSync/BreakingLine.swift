import Foundation
import SyncCore
import SyncHub
import Synchronization
import _ForwardingHub

/// A slow connection to a hub that breaks every 3 seconds. What is on its way then is lost: in turn the request, or the answer to a request
/// that the hub has processed.
final class BreakingLine: ForwardingHub {
  struct Counts: Hashable {
    var breaks = 0
    var sentChunks = 0
    var receivedChunks = 0
  }

  let hub: any HubConnection
  /// Bytes per second.
  private let speed: Int
  private let begun = ContinuousClock.now
  private let state = Mutex(Counts())

  private static let period = Duration.seconds(3)
  /// The time of a request without content.
  private static let latency = Duration.milliseconds(5)

  init(_ hub: any HubConnection, speed: Int) { (self.hub, self.speed) = (hub, speed) }

  var counts: Counts { state.withLock { $0 } }

  /// Runs a request.
  ///
  /// - Parameter size: The number of bytes of its answer that are counted, or nil for those of the request, `sending`.
  private func pass<Answer>(sending: Int = 0, _ request: () async throws -> Answer, size: (Answer) -> Int = { _ in 0 }) async throws
    -> Answer
  {
    let start = ContinuousClock.now
    let nextBreak = begun + Self.period * (Int((start - begun) / Self.period) + 1)
    let arrival = start + Self.latency + .seconds(Double(sending) / Double(speed))
    if arrival > nextBreak { throw try await failure(at: nextBreak) }
    let answer = try await request()
    let end = max(arrival, .now) + .seconds(Double(size(answer)) / Double(speed))
    if end > nextBreak { throw try await failure(at: nextBreak) }
    try await Task.sleep(until: end)
    return answer
  }

  private func failure(at time: ContinuousClock.Instant) async throws -> HubError {
    try await Task.sleep(until: time)
    state.withLock { $0.breaks += 1 }
    return HubError(.unavailable, "The line is broken.")
  }

  func pull(_ request: PullRequest, zone: ZoneID) async throws -> PullAnswer {
    try await pass { try await hub.pull(request, zone: zone) }
  }

  func push(_ commit: SealedCommit, zone: ZoneID) async throws -> PushAnswer {
    try await pass { try await hub.push(commit, zone: zone) }
  }

  func missingChunks(_ ids: [ChunkID], zone: ZoneID) async throws -> [ChunkID] {
    try await pass { try await hub.missingChunks(ids, zone: zone) }
  }

  func putChunk(_ id: ChunkID, _ bytes: [UInt8], zone: ZoneID) async throws {
    // Every other break loses the answer, after the hub has stored the chunk.
    let losesAnswer = state.withLock { $0.breaks } % 2 == 1
    try await pass(sending: losesAnswer ? 0 : bytes.count) {
      state.withLock { $0.sentChunks += 1 }
      try await hub.putChunk(id, bytes, zone: zone)
    } size: {
      losesAnswer ? bytes.count : 0
    }
  }

  func chunk(_ id: ChunkID, zone: ZoneID) async throws -> [UInt8]? {
    let bytes = try await pass {
      try await hub.chunk(id, zone: zone)
    } size: {
      $0?.count ?? 0
    }
    state.withLock { $0.receivedChunks += 1 }
    return bytes
  }
}

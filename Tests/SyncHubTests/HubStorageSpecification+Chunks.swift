import SyncCore
import XCTest
import _TestSupport

@testable import SyncHub

/// Chunks of large values.
extension HubStorageSpecification {
  private func bytes(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number), count: 1_000 + number) }
  private func id(_ number: Int) -> ChunkID { ChunkID(TestHashing().digest(of: bytes(number))) }

  /// Stores chunks at a time.
  private func put(_ numbers: [Int], at time: Int64 = TestZone.time, in zone: TestZone) throws {
    try zone.perform { hub, storage in
      for number in numbers { XCTAssertTrue(try hub.putChunk(self.id(number), self.bytes(number), to: storage, at: time)) }
    }
  }

  /// Returns which of the first ten chunks are stored.
  private func stored(in zone: TestZone) throws -> [Int] {
    var stored: [Int] = []
    try zone.perform { hub, storage in
      let missing = Set(try hub.missingChunks((0..<10).map(self.id), in: storage))
      stored = (0..<10).filter { !missing.contains(self.id($0)) }
      for number in 0..<10 {
        XCTAssertEqual(try hub.chunk(self.id(number), in: storage), stored.contains(number) ? self.bytes(number) : nil)
      }
    }
    return stored
  }

  private func removeUnused(at time: Int64, in zone: TestZone) throws -> Int {
    var count = 0
    try zone.perform { hub, storage in count = try hub.removeUnusedChunks(from: storage, at: time) }
    return count
  }

  private func commit(
    _ records: [(number: UInt64, chunks: [Int])], deleting: Set<UInt64> = [], from device: inout TestDevice
  ) -> SealedCommit {
    var commit = device.commit(records.map { ($0.number, Array("body".utf8)) }, deleting: deleting)
    for (index, record) in records.enumerated() { commit.records[index].chunks = record.chunks.map(id).sorted() }
    return commit
  }

  /// Pushes a commit that must be accepted.
  private func push(
    _ records: [(number: UInt64, chunks: [Int])], deleting: Set<UInt64> = [], from device: inout TestDevice, to zone: TestZone
  ) throws {
    let commit = commit(records, deleting: deleting, from: &device)
    device.settle(commit, at: try XCTUnwrap(try zone.push(commit).point))
  }

  private static let week: Int64 = 7 * 24 * 3_600_000

  func testChunksAreStoredOnceAndReturned() throws {
    let zone = try makeZone()
    XCTAssertEqual(try stored(in: zone), [])
    try put([3, 5, 3], in: zone)
    XCTAssertEqual(try stored(in: zone), [3, 5])
  }

  func testBytesThatAreNotThoseOfTheChunkAreRefused() throws {
    var limits = Hub.Limits()
    limits.bytesInChunk = 1_003
    let zone = try makeZone(limits)
    try zone.perform { hub, storage in
      XCTAssertFalse(try hub.putChunk(self.id(1), self.bytes(2), to: storage, at: TestZone.time))
      XCTAssertFalse(try hub.putChunk(self.id(4), self.bytes(4), to: storage, at: TestZone.time), "too many bytes")
    }
    XCTAssertEqual(try stored(in: zone), [])
  }

  func testACommitThatNamesAMissingChunkIsRefusedAndChangesNothing() throws {
    let zone = try makeZone()
    var device = TestDevice(1, incarnation: zone.incarnation)
    try put([1], in: zone)
    let refused = commit([(1, [1, 2]), (2, [])], from: &device)
    XCTAssertEqual(try zone.push(refused), .missingChunks([id(2)], hubTime: TestZone.time))
    XCTAssertEqual(try zone.pages(TestDevice(2, incarnation: nil).pullRequest()).flatMap(\.records), [])
    try put([2], in: zone)
    let answer = try zone.push(refused)
    XCTAssertNotNil(answer.point)
    XCTAssertEqual(try zone.push(refused), answer)
  }

  func testAllPartsOfACommitNeedTheirChunks() throws {
    let zone = try makeZone()
    var device = TestDevice(1, incarnation: zone.incarnation)
    var parts = [commit([(1, [1])], from: &device), commit([(2, [2])], from: &device)]
    parts[0].part = CommitPart(number: 0, previous: nil, isLast: false)
    parts[1].part = CommitPart(number: 1, previous: parts[0].digest, isLast: true)
    parts[1].deviceSequence = parts[0].deviceSequence
    XCTAssertEqual(try zone.push(parts[0]), .missingChunks([id(1)], hubTime: TestZone.time))
    try put([1], in: zone)
    XCTAssertEqual(try zone.push(parts[0]), .staged(hubTime: TestZone.time))
    // The upload took longer than a chunk is kept.
    XCTAssertEqual(try removeUnused(at: TestZone.time + Self.week + 1, in: zone), 1)
    try put([2], in: zone)
    XCTAssertEqual(try zone.push(parts[1]), .missingChunks([id(1)], hubTime: TestZone.time))
    try put([1], in: zone)
    XCTAssertNotNil(try zone.push(parts[1]).point)
    XCTAssertEqual(try removeUnused(at: .max, in: zone), 0)
  }

  func testChunksThatNoRecordNamesAreRemovedAfterAWeek() throws {
    let zone = try makeZone()
    var device = TestDevice(1, incarnation: zone.incarnation)
    try put([1, 2, 3, 4], at: 0, in: zone)
    try put([5], at: 1, in: zone)
    XCTAssertEqual(try removeUnused(at: Self.week, in: zone), 0)
    // Two records share a chunk.
    try push([(1, [1, 2]), (2, [2, 3])], from: &device, to: zone)
    XCTAssertEqual(try removeUnused(at: Self.week + 1, in: zone), 1)
    XCTAssertEqual(try stored(in: zone), [1, 2, 3, 5])
    XCTAssertEqual(try removeUnused(at: Self.week + 2, in: zone), 1)
    // A record is replaced, and one is deleted.
    try push([(1, [1])], from: &device, to: zone)
    XCTAssertEqual(try removeUnused(at: .max, in: zone), 0, "the second record names it")
    try push([(2, [])], deleting: [2], from: &device, to: zone)
    XCTAssertEqual(try removeUnused(at: TestZone.time + Self.week, in: zone), 0)
    XCTAssertEqual(try removeUnused(at: TestZone.time + Self.week + 1, in: zone), 2)
    XCTAssertEqual(try stored(in: zone), [1])
  }

  func testAChunkThatIsNamedAgainIsKept() throws {
    let zone = try makeZone()
    var device = TestDevice(1, incarnation: zone.incarnation)
    try put([1], in: zone)
    try push([(1, [1])], from: &device, to: zone)
    try push([(1, [])], from: &device, to: zone)
    try push([(2, [1])], from: &device, to: zone)
    XCTAssertEqual(try removeUnused(at: .max, in: zone), 0)
    XCTAssertEqual(try stored(in: zone), [1])
  }

  func testChunksOfDeletedRecordsAreReleasedWhenTheseAreRemoved() throws {
    let zone = try makeZone()
    var device = TestDevice(1, incarnation: zone.incarnation)
    try put([1, 2], in: zone)
    try push([(1, [1, 2]), (2, [2])], from: &device, to: zone)
    // Edits can win over this deletion, and the object has its large values again.
    try push([(1, [1, 2])], deleting: [1], from: &device, to: zone)
    XCTAssertEqual(try removeUnused(at: .max, in: zone), 0)
    try zone.perform { _, storage in
      XCTAssertEqual(try storage.removeDeletedRecords(through: 2, maximumCount: 10, at: TestZone.time), 1)
    }
    XCTAssertEqual(try removeUnused(at: TestZone.time + Self.week, in: zone), 0)
    XCTAssertEqual(try removeUnused(at: TestZone.time + Self.week + 1, in: zone), 1)
    XCTAssertEqual(try stored(in: zone), [2])
  }

  func testPushesRemoveUnusedChunksAFewAtATime() throws {
    var limits = Hub.Limits()
    limits.removedChunksInCommit = 2
    let zone = try makeZone(limits)
    var device = TestDevice(1, incarnation: zone.incarnation)
    try put([1, 2, 3], at: TestZone.time - Self.week - 1, in: zone)
    try put([4], at: TestZone.time - Self.week, in: zone)
    try push([(1, [])], from: &device, to: zone)
    XCTAssertEqual(try stored(in: zone).count, 2)
    try push([(2, [])], from: &device, to: zone)
    XCTAssertEqual(try stored(in: zone), [4])
  }

  /// Devices put, name, replace and delete chunks at random, while time passes: no record ever names a chunk that is not stored.
  func testNoRecordNamesAMissingChunk() throws {
    var random = SeededGenerator(seed: 271)
    for _ in 0..<RandomSteps.count(4) {
      let zone = try makeZone()
      var device = TestDevice(1, incarnation: zone.incarnation)
      var named: [UInt64: Set<Int>] = [:]
      var (refused, removed) = (0, 0)
      for step in 0..<120 {
        // About 20 steps are as long as a chunk is kept.
        let time = TestZone.time + Int64(step) * Self.week / 20
        switch Int.random(in: 0..<4, using: &random) {
        case 0: try put([.random(in: 0..<10, using: &random)], at: time, in: zone)
        case 1: removed += try removeUnused(at: time, in: zone)
        default:
          let number = UInt64.random(in: 0..<5, using: &random)
          let isDeleted = Int.random(in: 0..<4, using: &random) == 0
          let chunks = isDeleted ? [] : (0..<10).filter { _ in Int.random(in: 0..<5, using: &random) == 0 }
          let available = Set(try stored(in: zone))
          let commit = commit([(number, chunks)], deleting: isDeleted ? [number] : [], from: &device)
          try zone.perform { hub, storage in
            switch try hub.push(commit, to: storage, at: time) {
            case .accepted(let point, _):
              XCTAssertTrue(available.isSuperset(of: chunks))
              device.settle(commit, at: point)
              named[number] = Set(chunks)
            case .missingChunks(let ids, _):
              XCTAssertEqual(Set(ids), Set(chunks.filter { !available.contains($0) }.map(self.id)))
              device.deviceSequence -= 1
              refused += 1
            case let other: XCTFail("\(other)")
            }
          }
        }
        XCTAssertTrue(Set(try stored(in: zone)).isSuperset(of: named.values.joined()))
      }
      XCTAssertGreaterThan(refused, 0)
      XCTAssertGreaterThan(removed, 0)
    }
  }
}

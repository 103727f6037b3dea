import SyncCore
import XCTest
import _SyncSimulation

final class CommitCodingTests: XCTestCase {
  private func digest(_ random: inout SimulationRandom) -> Digest { Digest(random.next(), random.next(), random.next(), random.next()) }

  private func point(_ random: inout SimulationRandom) -> ChainPoint {
    ChainPoint(sequence: Int64(random.number(below: 1_000)), head: digest(&random))
  }

  private func commit(_ random: inout SimulationRandom) -> SealedCommit {
    let header = Commit(
      device: DeviceID(random.next()), deviceSequence: Int64(random.number(below: 1_000)), base: point(&random),
      accepted: random.chance(0.5) ? point(&random) : nil, incarnation: Incarnation(random.next()), time: HybridTime(value: random.next()),
      changes: [])
    let records = (0..<random.number(below: 5)).map { _ in
      SealedRecord(
        name: RecordName(digest(&random)), replacedVersion: random.chance(0.5) ? digest(&random) : nil, version: digest(&random),
        isDeleted: random.chance(0.5), body: (0..<random.number(below: 100)).map { UInt8($0) },
        chunks: random.chance(0.2) ? (0..<random.number(below: 4)).map { _ in ChunkID(digest(&random)) }.sorted() : [])
    }
    return SealedCommit(
      header, records: records, digest: digest(&random), signature: (0..<random.number(below: 70)).map { UInt8($0) })
  }

  func testEncodedCommitsAreDecodedAsTheyWere() throws {
    var random = SimulationRandom(46)
    for _ in 0..<2_000 {
      let commit = commit(&random)
      XCTAssertEqual(try CommitCoding.decode(CommitCoding.encode(commit)), commit)
    }
  }

  func testDamagedBytesAreDecodedOrRefusedWithAnError() {
    var random = SimulationRandom(47)
    for _ in 0..<10_000 {
      var bytes = CommitCoding.encode(commit(&random))
      bytes.damage(&random)
      do { _ = try CommitCoding.decode(bytes) } catch { XCTAssertTrue(error is WireError, "\(error)") }
    }
  }

  func testEveryPrefixAndEveryLongerTextIsRefused() {
    var random = SimulationRandom(48)
    for _ in 0..<20 {
      let bytes = CommitCoding.encode(commit(&random))
      for count in 0..<bytes.count { XCTAssertThrowsError(try CommitCoding.decode(Array(bytes.prefix(count)))) }
      XCTAssertThrowsError(try CommitCoding.decode(bytes + [0])) { XCTAssertEqual($0 as? WireError, .invalid) }
    }
  }

  func testTheEncodingForTheDigestLeavesOutOnlyBodiesDigestAndSignature() {
    var random = SimulationRandom(49)
    for _ in 0..<500 {
      let commit = commit(&random)
      var same = commit
      for index in same.records.indices { same.records[index].body.append(1) }
      same.digest = digest(&random)
      same.signature.append(1)
      XCTAssertEqual(CommitCoding.encodeForDigest(same), CommitCoding.encodeForDigest(commit))
      XCTAssertNotEqual(CommitCoding.encodeForDigest(self.commit(&random)), CommitCoding.encodeForDigest(commit))
    }
  }

  func testALaterVersionOfTheEncodingIsRefusedByName() {
    var writer = WireWriter()
    writer.write(UInt64(9))
    XCTAssertThrowsError(try CommitCoding.decode(writer.bytes)) { XCTAssertEqual($0 as? WireError, .unsupportedVersion(9)) }
  }
}

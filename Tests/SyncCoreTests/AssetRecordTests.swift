import SyncCore
import XCTest
import _SyncSimulation

/// Records with large values: their encoding, and how they are joined.
final class AssetRecordTests: XCTestCase {
  private let id = RecordID(high: 1, low: 2)
  private let property = PropertyID(3)
  private let content = AssetReference(digest: Digest(1, 2, 3, 4), size: 2_500)

  private func sealed(_ digest: Digest = Digest(1, 2, 3, 4), key: UInt8 = 7) -> AssetReference {
    let chunks = (0..<3).map { ChunkID(Digest(9, UInt64(key), 0, UInt64($0))) }
    return AssetReference(
      digest: digest, size: 2_500, sealed: .init(key: [UInt8](repeating: key, count: 32), chunkSize: 1_000, chunks: chunks))
  }

  private func stamp(_ time: UInt64) -> Stamp { Stamp(HybridTime(value: time), DeviceID(5)) }

  private func record(_ values: [PropertyID: FieldValue], _ time: UInt64 = 100) -> Record {
    Record(entity: EntityID(4), values, stamp(time))
  }

  func testEncodedRecordsAreDecodedAsTheyWere() throws {
    for value in [FieldValue.asset(content), .asset(sealed()), .asset(AssetReference(digest: .zero, size: 0))] {
      let record = record([property: value, PropertyID(1): .text("title"), PropertyID(9): .bytes([1, 2])])
      let decoded = try RecordCoding.decode(RecordCoding.encode(record, of: id))
      XCTAssertEqual(decoded.id, id)
      XCTAssertEqual(decoded.record, record)
    }
  }

  /// Devices that do not know large values still read other records, and refuse these by their version.
  func testOnlyRecordsWithLargeValuesHaveTheNewVersion() {
    XCTAssertEqual(RecordCoding.encode(record([property: .bytes([1])]), of: id).first, 1)
    XCTAssertEqual(RecordCoding.encode(record([property: .asset(sealed())]), of: id).first, 2)
  }

  func testDamagedBytesAreDecodedOrRefusedWithAnError() {
    var random = SimulationRandom(53)
    for _ in 0..<10_000 {
      var bytes = RecordCoding.encode(record([property: .asset(random.chance(0.5) ? sealed() : content)]), of: id)
      bytes.damage(&random)
      do { _ = try RecordCoding.decode(bytes) } catch { XCTAssertTrue(error is WireError, "\(error)") }
    }
  }

  func testReferencesWhoseChunksDoNotFitAreRefused() {
    let good = sealed()
    guard let parts = good.sealed else { return XCTFail("no chunks") }
    let wrong = [
      AssetReference(digest: good.digest, size: 3_500, sealed: parts), AssetReference(digest: good.digest, size: 2_000, sealed: parts),
      AssetReference(digest: good.digest, size: 2_500, sealed: .init(key: [1], chunkSize: 1_000, chunks: parts.chunks)),
      AssetReference(digest: good.digest, size: 2_500, sealed: .init(key: parts.key, chunkSize: 0, chunks: parts.chunks)),
      AssetReference(
        digest: good.digest, size: 1 << 30, sealed: .init(key: parts.key, chunkSize: 1 << 29, chunks: Array(parts.chunks.prefix(2)))),
    ]
    for asset in wrong {
      XCTAssertThrowsError(try RecordCoding.decode(RecordCoding.encode(record([property: .asset(asset)]), of: id))) { error in
        XCTAssertEqual(error as? WireError, .invalid)
      }
    }
  }

  func testTheLaterValueRemains() {
    let (one, other) = (record([property: .asset(sealed(key: 1))], 1), record([property: .asset(sealed(key: 2))], 2))
    for joined in [one.joined(with: other), other.joined(with: one)] { XCTAssertEqual(joined, other) }
    let removed = record([property: .null], 3)
    for joined in [removed.joined(with: other), other.joined(with: removed)] { XCTAssertEqual(joined, removed) }
  }

  /// What a commit contained in place of a value that only the device has replaces that value.
  func testWhatWasSentReplacesTheValueOfTheDevice() {
    let local = record([property: .asset(content)])
    for sent in [FieldValue.asset(sealed()), .asset(sealed(Digest(8, 8, 8, 8))), .null, .bytes([1])] {
      XCTAssertEqual(local.joined(with: record([property: sent])), record([property: sent]))
      XCTAssertEqual(record([property: sent]).joined(with: local), record([property: sent]))
    }
  }

  func testJoinsAreAssociativeAndCommutative() {
    var random = SimulationRandom(54)
    let values: [FieldValue] = [
      .null, .bytes([1]), .asset(content), .asset(AssetReference(digest: Digest(0, 0, 0, 1), size: 1)), .asset(sealed()),
      .asset(sealed(key: 9)), .asset(sealed(Digest(5, 5, 5, 5))),
    ]
    func any() -> Record { record([property: values[random.number(below: values.count)]], UInt64(random.number(below: 3))) }
    for _ in 0..<20_000 {
      let (a, b, c) = (any(), any(), any())
      XCTAssertEqual(a.joined(with: b), b.joined(with: a))
      XCTAssertEqual(a.joined(with: b).joined(with: c), a.joined(with: b.joined(with: c)))
      XCTAssertEqual(a.joined(with: a), a)
    }
  }

  func testARecordNamesEachChunkOnce() {
    let record = record([property: .asset(sealed()), PropertyID(8): .asset(sealed()), PropertyID(9): .asset(content)])
    XCTAssertEqual(record.chunks, sealed().sealed?.chunks.sorted())
    XCTAssertEqual(record.assets.count, 3)
  }
}

import Dispatch
import StoreKeys
import SyncCore
import XCTest

@testable import SyncCrypto

final class SealingTests: XCTestCase {
  private var random = FixedGenerator(43)
  private let zone = ZoneID(high: 1, low: 2)
  private let device = DeviceID(7)

  // MARK: Round trips

  func testRandomRecordsAreOpenedAsTheyWereSealed() throws {
    let sealing = try sealing()
    for sequence: Int64 in 1...40 {
      let commit = commit(sequence, changes: (0..<50).map { _ in change() })
      let sealed = try sealing.seal(commit)
      XCTAssertEqual(sealed.records.count, commit.changes.count)
      for (change, record) in zip(commit.changes, sealed.records) {
        XCTAssertEqual(record.replacedVersion, change.replacedVersion)
        XCTAssertEqual(record.isDeleted, change.record.isDeleted)
        let opened = try sealing.open(stored(record))
        XCTAssertEqual(opened.id, change.id)
        XCTAssertEqual(opened.record, change.record)
      }
    }
  }

  func testAnotherDeviceOpensRecordsOfSeveralCommitsInAnyOrder() throws {
    let keys = try ZoneKeys.random(zone: zone)
    let (one, other) = (try ZoneSealing(keys, signedBy: .random()), try ZoneSealing(keys, signedBy: .random()))
    var sealed: [(SealedRecord, RecordChange)] = []
    for sequence: Int64 in 1...20 {
      let commit = commit(sequence, changes: (0..<5).map { _ in change() })
      sealed += zip(try one.seal(commit).records, commit.changes)
    }
    for (record, change) in sealed.shuffled(using: &random) { XCTAssertEqual(try other.open(stored(record)).record, change.record) }
  }

  func testThreadsShareASealing() throws {
    let sealing = try sealing()
    let commits = (1...8).map { sequence in commit(Int64(sequence), changes: (0..<20).map { _ in change() }) }
    DispatchQueue.concurrentPerform(iterations: 32) { iteration in
      let commit = commits[iteration % 8]
      do {
        for (record, change) in zip(try sealing.seal(commit).records, commit.changes) {
          let opened = try sealing.open(
            StoredRecord(name: record.name, sequence: 1, version: record.version, isDeleted: record.isDeleted, body: record.body))
          XCTAssertEqual(opened.record, change.record)
        }
      } catch { XCTFail("\(error)") }
    }
  }

  func testRecordsOfEarlierEpochsAreOpenedAndKeepTheirNames() throws {
    var keys = try ZoneKeys.random(zone: zone)
    let before = try ZoneSealing(keys, signedBy: .random())
    let first = commit(1, changes: [change()])
    let old = try before.seal(first).records[0]
    try keys.addEpoch()
    let after = try ZoneSealing(keys, signedBy: .random())
    let new = try after.seal(first).records[0]
    XCTAssertEqual(old.name, new.name)
    XCTAssertEqual(try after.open(stored(old)).record, first.changes[0].record)
    XCTAssertEqual(try after.open(stored(new)).record, first.changes[0].record)
    XCTAssertThrowsError(try before.open(stored(new))) { XCTAssertEqual($0 as? SyncCryptoError, .unknownEpoch(2)) }
  }

  func testTwoSealingsOfACommitDiffer() throws {
    let sealing = try sealing()
    let commit = commit(1, changes: [change(), change()])
    let (one, other) = (try sealing.seal(commit), try sealing.seal(commit))
    XCTAssertEqual(one.records.map(\.name), other.records.map(\.name))
    for (first, second) in zip(one.records, other.records) {
      XCTAssertNotEqual(first.body.suffix(40), second.body.suffix(40))
      XCTAssertNotEqual(first.version, second.version)
    }
    XCTAssertNotEqual(one.digest, other.digest)
    XCTAssertNotEqual(one.signature, other.signature)
  }

  func testEqualRecordsOfACommitAreSealedDifferently() throws {
    let change = change()
    let ciphertexts = try sealing().seal(commit(1, changes: [change, change])).records.map { record in
      Array(record.body.dropFirst(record.replacedVersion == nil ? 43 : 75).dropLast(GCMCipher.tagSize))
    }
    XCTAssertGreaterThan(ciphertexts[0].count, 30)
    XCTAssertNotEqual(ciphertexts[0], ciphertexts[1])
  }

  // MARK: Damage

  func testEachChangedByteIsDetected() throws {
    let sealing = try sealing()
    for record in try sealing.seal(commit(1, changes: [live(), tombstone()])).records {
      for index in record.body.indices {
        for bit: UInt8 in [1, 0x80] {
          var changed = record
          changed.body[index] ^= bit
          assertRefused(changed, by: sealing)
          // A hub can compute the version of what it has changed.
          changed.version = try version(of: changed)
          assertRefused(changed, by: sealing)
        }
      }
      for count in 0..<record.body.count {
        var changed = record
        changed.body = Array(record.body.prefix(count))
        changed.version = try version(of: changed)
        assertRefused(changed, by: sealing)
      }
      var longer = record
      longer.body.append(0)
      longer.version = try version(of: longer)
      assertRefused(longer, by: sealing)
    }
  }

  func testRecordsThatChangePlacesAreDetected() throws {
    let keys = try ZoneKeys.random(zone: zone)
    let sealing = try ZoneSealing(keys, signedBy: .random())
    let id = RecordID(high: 5, low: 6)
    let records = try sealing.seal(commit(1, changes: [live(id), live(), tombstone()])).records
    let newer = try sealing.seal(commit(2, changes: [live(id, replacing: records[0].version)])).records[0]

    var changed = records[0]
    changed.name = records[1].name
    changed.version = try version(of: changed)
    assertRefused(changed, by: sealing, .damaged(.record))

    changed = records[0]
    changed.isDeleted = true
    changed.version = try version(of: changed)
    assertRefused(changed, by: sealing, .damaged(.record))
    changed = records[2]
    changed.isDeleted = false
    changed.version = try version(of: changed)
    assertRefused(changed, by: sealing, .damaged(.record))

    changed = records[0]
    changed.version = newer.version
    assertRefused(changed, by: sealing, .damaged(.record))
    // The same record, said to replace another version.
    changed = newer
    for index in 43..<75 { changed.body[index] = 0 }
    changed.version = try version(of: changed)
    assertRefused(changed, by: sealing, .damaged(.record))

    // Another zone, even with the same keys.
    let other = try ZoneSealing(ZoneKeys(zone: ZoneID(high: 1, low: 3), epochs: keys.epochs), signedBy: .random())
    assertRefused(records[0], by: other, .damaged(.record))
    assertRefused(records[0], by: try self.sealing(), .damaged(.record))

    // Another epoch, even with the same key.
    let repeated = try ZoneSealing(ZoneKeys(zone: zone, epochs: keys.epochs + keys.epochs), signedBy: .random())
    changed = records[0]
    changed.body[3] = 2
    changed.version = try version(of: changed)
    assertRefused(changed, by: repeated, .damaged(.record))
  }

  func testARecordWhoseContentContradictsItsNameIsRefused() throws {
    let keys = try ZoneKeys.random(zone: zone)
    let cipher = try RecordCipher(keys)
    let header = RecordHeader(
      commit: RecordHeader.CommitID(
        epoch: 1, device: device, deviceSequence: 1, batch: RecordHeader.BatchID(high: 1, low: 2)), index: 0)
    let sealer = try GCMCipher(key: keys.contentKey(of: header.commit), .seal)
    let change = live()
    let plaintext = RecordCoding.encode(change.record, of: change.id)
    let name = try cipher.name(of: change.id)
    func seal(_ plaintext: [UInt8], _ name: RecordName, isDeleted: Bool) throws -> StoredRecord {
      stored(try cipher.seal(plaintext, as: name, isDeleted: isDeleted, header, with: sealer))
    }
    XCTAssertNoThrow(try cipher.open(seal(plaintext, name, isDeleted: false)))
    let otherName = try cipher.name(of: RecordID(high: 0, low: 1))
    for record in [
      try seal(plaintext, otherName, isDeleted: false), try seal(plaintext, name, isDeleted: true), try seal([], name, isDeleted: false),
      try seal([1, 2, 3], name, isDeleted: false),
    ] {
      XCTAssertThrowsError(try cipher.open(record)) { XCTAssertEqual($0 as? SyncCryptoError, .damaged(.record)) }
    }
    XCTAssertThrowsError(try cipher.open(seal([9], name, isDeleted: false))) {
      XCTAssertEqual($0 as? SyncCryptoError, .unsupportedFormat(.record, 9))
    }
  }

  func testLaterFormatsAndSuitesAreReportedByName() throws {
    let sealing = try sealing()
    let record = try sealing.seal(commit(1, changes: [live()])).records[0]
    var changed = record
    changed.body[0] = 2
    assertRefused(changed, by: sealing, .unsupportedFormat(.record, 2))
    changed = record
    changed.body[1] = 9
    assertRefused(changed, by: sealing, .unsupportedSuite(.record, 9))
  }

  // MARK: What a hub sees

  func testNoPlantedTextIsInSealedBytes() throws {
    let planted = "planted-words"
    let id = RecordID(high: 0x1122_3344_5566_7788, low: 0x99AA_BBCC_DDEE_FF00)
    let entity = EntityID(0xE1E2_E3E4_E5E6_E7E8)
    let property = PropertyID(0xC1C2_C3C4_C5C6_C7C8)
    let values: [PropertyID: FieldValue] = [property: .text(String(repeating: planted, count: 20)), PropertyID(2): .reference(id)]
    let change = RecordChange(id, replacing: nil, Record(entity: entity, values, stamp()))
    let bytes = CommitCoding.encode(try sealing().seal(commit(1, changes: [change])))
    XCTAssertGreaterThan(bytes.count, 260)
    for word in [Array(planted.utf8), encoded(id.high), encoded(id.low), encoded(entity.value), encoded(property.value)] {
      XCTAssertFalse(contains(bytes, word))
    }
    XCTAssertTrue(contains(RecordCoding.encode(change.record, of: id), Array(planted.utf8)), "the search works")
  }

  func testSizesFormFewClasses() throws {
    var sizes: Set<Int> = []
    for size in 1...5_000 {
      let padded = Padding.paddedSize(of: size)
      XCTAssertGreaterThanOrEqual(padded, size)
      XCTAssertLessThanOrEqual(Double(padded), Double(size) * 1.12)
      XCTAssertEqual(Padding.paddedSize(of: padded), padded)
      sizes.insert(padded)
    }
    XCTAssertLessThan(sizes.count, 120)
    XCTAssertLessThan(sizes.filter { $0 > 1_000 }.count, 40)
    // 9 is rounded up to a multiple of 2^(3 - 2), 1,025 to one of 2^(10 - 4).
    XCTAssertEqual([0, 1, 2, 8, 9, 16, 17, 255, 257, 1_025].map(Padding.paddedSize), [0, 1, 2, 8, 10, 16, 18, 256, 272, 1_088])

    let sealing = try sealing()
    let changes = (0..<5_000).map { size in
      RecordChange(
        RecordID(high: 0, low: UInt64(size)), replacing: nil,
        Record(entity: EntityID(1), [PropertyID(1): .bytes([UInt8](repeating: 1, count: size))], stamp()))
    }
    let bodies = try sealing.seal(commit(1, changes: changes)).records.map(\.body.count)
    XCTAssertLessThan(Set(bodies).count, 110)
    for size in Set(bodies) { XCTAssertEqual(Padding.paddedSize(of: size - 43 - 16), size - 43 - 16) }
  }

  // MARK: Digests

  func testTheDigestDependsOnTheHeaderAndOnEachRecord() throws {
    let hashing = ZoneHashing(zone: zone)
    let sealed = try sealing().seal(commit(1, changes: [live(), tombstone(), live()]))
    XCTAssertEqual(try hashing.digest(of: sealed), sealed.digest)
    let changes: [(inout SealedCommit) -> Void] = [
      { $0.device = DeviceID(8) }, { $0.deviceSequence += 1 }, { $0.base.sequence += 1 }, { $0.base.head = $0.digest },
      { $0.accepted = ChainPoint() }, { $0.incarnation = Incarnation(99) }, { $0.time = $0.time.next }, { $0.records.removeLast() },
      { $0.records.swapAt(0, 1) }, { $0.records[0].name = $0.records[1].name }, { $0.records[0].version = $0.records[1].version },
      { $0.records[0].replacedVersion = .zero }, { $0.records.append($0.records[0]) },
    ]
    for (index, change) in changes.enumerated() {
      var changed = sealed
      change(&changed)
      XCTAssertNotEqual(try hashing.digest(of: changed), sealed.digest, "change \(index)")
    }
    XCTAssertNotEqual(try ZoneHashing(zone: ZoneID(high: 2, low: 2)).digest(of: sealed), sealed.digest)
  }

  func testTheHeadIsTheHashOfTheFormerHeadAndTheDigest() throws {
    let (head, digest) = (Digest(1, 2, 3, 4), Digest(5, 6, 7, 8))
    XCTAssertEqual(try ZoneHashing(zone: zone).head(after: head, adding: digest), try SHA256.digest(of: head.bytes + digest.bytes))
  }

  // MARK: -

  private func sealing() throws -> ZoneSealing { try ZoneSealing(.random(zone: zone), signedBy: .random()) }

  private func commit(_ sequence: Int64, changes: [RecordChange]) -> Commit {
    Commit(
      device: device, deviceSequence: sequence, base: ChainPoint(sequence: 3, head: Digest(1, 2, 3, 4)), accepted: nil,
      incarnation: Incarnation(5), time: HybridTime(value: 1_000), changes: changes)
  }

  private func stamp() -> Stamp { Stamp(HybridTime(value: random.next() >> 1), DeviceID(UInt64.random(in: 0..<3, using: &random))) }

  private func live(_ id: RecordID? = nil, replacing version: Digest? = nil) -> RecordChange {
    let values: [PropertyID: FieldValue] = [PropertyID(1): .text("Milk"), PropertyID(2): .integer(3), PropertyID(3): .null]
    return RecordChange(id ?? self.id(), replacing: version, Record(entity: EntityID(4), values, stamp()))
  }

  private func tombstone() -> RecordChange {
    RecordChange(id(), replacing: Digest(1, 1, 1, 1), Record(entity: EntityID(4), .deleted(stamp())))
  }

  private func id() -> RecordID { RecordID(high: random.next(), low: random.next()) }

  private func change() -> RecordChange {
    if Int.random(in: 0..<6, using: &random) == 0 { return tombstone() }
    var fields: [Field] = []
    let stamps = [stamp(), stamp()]
    for property in 0..<UInt64.random(in: 0..<12, using: &random) {
      let value: FieldValue =
        switch Int.random(in: 0..<6, using: &random) {
        case 0: .null
        case 1: .integer(Int64(truncatingIfNeeded: random.next()))
        case 2: .real(random.next())
        case 3: .text(String(repeating: "é", count: Int.random(in: 0..<100, using: &random)))
        case 4: .bytes((0..<Int.random(in: 0..<300, using: &random)).map { _ in UInt8(truncatingIfNeeded: random.next()) })
        default: .reference(id())
        }
      fields.append(Field(PropertyID(property), value, stamps[Int.random(in: 0..<2, using: &random)]))
    }
    let version = Bool.random(using: &random) ? nil : Digest(random.next(), random.next(), random.next(), random.next())
    return RecordChange(id(), replacing: version, Record(entity: EntityID(random.next()), .live(fields)))
  }

  private func stored(_ record: SealedRecord) -> StoredRecord {
    StoredRecord(name: record.name, sequence: 1, version: record.version, isDeleted: record.isDeleted, body: record.body)
  }

  /// Returns the version of a record as a hub could compute it.
  private func version(of record: SealedRecord) throws -> Digest {
    let prefix = Array("CipherData sync record version".utf8) + record.name.digest.bytes + [record.isDeleted ? 1 : 0]
    return try SHA256.digest(of: prefix + record.body)
  }

  private func assertRefused(
    _ record: SealedRecord, by sealing: ZoneSealing, _ expected: SyncCryptoError? = nil, line: UInt = #line
  ) {
    XCTAssertThrowsError(try sealing.open(stored(record)), line: line) { error in
      XCTAssertTrue(error is SyncCryptoError, "\(error)", line: line)
      if let expected { XCTAssertEqual(error as? SyncCryptoError, expected, line: line) }
    }
  }

  private func encoded(_ word: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) } }

  private func contains(_ bytes: [UInt8], _ word: [UInt8]) -> Bool {
    (0...bytes.count - word.count).contains { bytes[$0] == word[0] && bytes[$0..<$0 + word.count].elementsEqual(word) }
  }
}

import SyncCore
import XCTest
import _SyncSimulation

final class RecordTests: XCTestCase {
  private let entity = EntityID(1)

  private func record(_ random: inout SimulationRandom) -> Record {
    let stamp = Stamp(HybridTime(value: UInt64(random.number(below: 4))), DeviceID(UInt64(random.number(below: 2))))
    if random.chance(0.15) { return Record(entity: entity, .deleted(stamp)) }
    var fields: [Field] = []
    for property in 0..<4 where random.chance(0.6) {
      let stamp = Stamp(HybridTime(value: UInt64(random.number(below: 4))), DeviceID(UInt64(random.number(below: 2))))
      fields.append(Field(PropertyID(UInt64(property)), value(&random), stamp))
    }
    return Record(entity: entity, .live(fields))
  }

  private func value(_ random: inout SimulationRandom) -> FieldValue {
    switch random.number(below: 8) {
    case 0: .null
    case 1: .integer(Int64(random.number(below: 3)))
    case 2: .real(random.element(of: [0, (-0.0).bitPattern, Double.nan.bitPattern, 1.5.bitPattern]) ?? 0)
    case 3: .text(random.element(of: ["", "a", "é", "e\u{301}"]) ?? "")
    case 4: .bytes(random.element(of: [[], [0], [0, 1]]) ?? [])
    case 5: .superseded
    default: .reference(RecordID(high: 1, low: UInt64(random.number(below: 3))))
    }
  }

  func testJoinsDoNotDependOnOrderGroupingOrRepetition() {
    var random = SimulationRandom(43)
    for _ in 0..<100_000 {
      let (a, b, c) = (record(&random), record(&random), record(&random))
      XCTAssertEqual(a.joined(with: b), b.joined(with: a))
      XCTAssertEqual(a.joined(with: b).joined(with: c), a.joined(with: b.joined(with: c)))
      XCTAssertEqual(a.joined(with: b).joined(with: b), a.joined(with: b))
    }
  }

  func testTheLaterValueOfEachPropertyRemains() {
    func values(_ values: [PropertyID: FieldValue], _ time: UInt64) -> Record {
      Record(entity: entity, values, Stamp(HybridTime(value: time), DeviceID(1)))
    }
    let (name, age) = (PropertyID(1), PropertyID(2))
    let joined = values([name: .text("old"), age: .integer(1)], 1).joined(with: values([name: .text("new")], 2))
    XCTAssertEqual(joined[name]?.value, .text("new"))
    XCTAssertEqual(joined[age]?.value, .integer(1))
  }

  func testADeletionWinsOverALaterEdit() {
    let deletion = Record(entity: entity, .deleted(Stamp(HybridTime(value: 1), DeviceID(1))))
    let edit = Record(entity: entity, [PropertyID(1): .integer(1)], Stamp(HybridTime(value: 2), DeviceID(2)))
    XCTAssertTrue(edit.joined(with: deletion).isDeleted)
    XCTAssertTrue(deletion.joined(with: edit).isDeleted)
  }

  func testTextsAreComparedByTheirBytes() {
    XCTAssertNotEqual(FieldValue.text("é"), FieldValue.text("e\u{301}"))
    XCTAssertNotEqual(FieldValue.real((0.0).bitPattern), FieldValue.real((-0.0).bitPattern))
  }

  // MARK: Encoding

  func testEncodedRecordsAreDecodedAsTheyWere() throws {
    var random = SimulationRandom(44)
    for _ in 0..<20_000 {
      let (id, record) = (RecordID(high: random.next(), low: random.next()), record(&random))
      let bytes = RecordCoding.encode(record, of: id)
      let decoded = try RecordCoding.decode(bytes)
      XCTAssertEqual(decoded.id, id)
      XCTAssertEqual(decoded.record, record)
      XCTAssertEqual(try RecordCoding.decode(bytes + [0, 0, 0]).record, record, "padding follows")
    }
  }

  func testDamagedBytesAreDecodedOrRefusedWithAnError() {
    var random = SimulationRandom(45)
    for _ in 0..<50_000 {
      var bytes = RecordCoding.encode(record(&random), of: RecordID(high: 1, low: 2))
      bytes.damage(&random)
      do { _ = try RecordCoding.decode(bytes) } catch { XCTAssertTrue(error is WireError, "\(error)") }
    }
  }

  func testALaterVersionOfTheEncodingIsRefusedByName() {
    var writer = WireWriter()
    writer.write(UInt64(9))
    XCTAssertThrowsError(try RecordCoding.decode(writer.bytes)) { XCTAssertEqual($0 as? WireError, .unsupportedVersion(9)) }
  }
}

import Foundation
import XCTest
import _TestSupport

@testable import ObjectStore

/// Encoding and decoding of history records, including arbitrary bytes.
final class HistoryRecordTests: XCTestCase {
  private func encoded(_ records: [HistoryRecord]) -> [[UInt8]] {
    var portions = HistoryEncoder()
    for record in records { portions.add(record) }
    return portions.finish()
  }

  private func decoded(_ portions: [[UInt8]]) throws -> [HistoryRecord] {
    var records: [HistoryRecord] = []
    for portion in portions {
      var decoder = HistoryDecoder(portion, number: 1)
      while let record = try decoder.next() { records.append(record) }
    }
    return records
  }

  // MARK: Examples

  func testEveryKindOfRecordRoundTrips() throws {
    let (book, author) = (HistoryObject(entity: 1, key: 7), HistoryObject(entity: 300, key: 1 << 46 - 1))
    let values: [HistoryValue] = [
      .null, .int(0), .int(-1), .int(.min), .int(.max), .real(bits: 0.5.bitPattern), .real(bits: Double.nan.bitPattern), .text(""),
      .text("Ein Fisch \u{1f41f}"), .bytes(Data()), .bytes(Data([0, 255])), .reference(author),
      .large(id: .max, size: 300_000, digest: Data(repeating: 9, count: 32)),
    ]
    let assignments = values.enumerated().map { HistoryAssignment(property: $0 + 1, value: $1) }
    let records: [HistoryRecord] = [
      .inserted(entity: 1, first: 1, count: 100_000), .inserted(entity: 2, first: 1 << 46 - 1, count: 1),
      .insertedWithValues(book, assignments), .insertedWithValues(book, []), .updated(book, properties: []),
      .updated(author, properties: [1, 128, Int(Int32.max)]),
      .updatedWithValues(book, zip(values, values.reversed()).map { HistoryChange(property: 5, old: $0, new: $1) }),
      .deleted(book, tombstone: [], others: nil, listsLinks: false),
      .deleted(book, tombstone: assignments, others: nil, listsLinks: false),
      .deleted(book, tombstone: [], others: [], listsLinks: true),
      .deleted(author, tombstone: assignments, others: assignments, listsLinks: true),
      .derived(author, properties: [4]), .linked(relationship: 8, isRemoval: false, book, members: [author]),
      .linked(relationship: 8, isRemoval: true, author, members: [book, author]),
      .ordered(relationship: 9, author, members: nil), .ordered(relationship: 9, author, members: []),
      .ordered(relationship: 9, author, members: [book, author, book]), .whole(from: "", to: ""), .whole(from: "abc", to: "d\u{e9}f"),
      .moved(relationship: 9, author, runs: [HistoryRun(after: nil, members: [book])]), .migrated(from: "a", to: "b", changes: []),
      .migrated(
        from: "a", to: "b",
        changes: [
          HistorySchemaChange(.objectsRemoved, entity: 3), HistorySchemaChange(.filled, entity: 3, property: 4, value: .text("new")),
          HistorySchemaChange(.completed, entity: 3, property: 4), HistorySchemaChange(.moved, entity: 3, property: 4, former: 5),
        ]),
      .moved(relationship: 9, author, runs: [HistoryRun(after: book, members: [author, book]), HistoryRun(after: nil, members: [book])]),
    ]
    XCTAssertEqual(try decoded(encoded(records)), records)
  }

  func testHundredThousandInsertionsAreOneRecordOfAFewBytes() throws {
    var portions = HistoryEncoder()
    for key in 1...Int64(100_000) { portions.addInserted(entity: 3, key: key) }
    for key in [Int64(200_000), 200_001] { portions.addInserted(entity: 3, key: key) }
    portions.addInserted(entity: 4, key: 200_002)
    let bytes = portions.finish()
    XCTAssertEqual(bytes.map(\.count).reduce(0, +), 6 + 6 + 6)
    XCTAssertEqual(
      try decoded(bytes),
      [
        .inserted(entity: 3, first: 1, count: 100_000), .inserted(entity: 3, first: 200_000, count: 2),
        .inserted(entity: 4, first: 200_002, count: 1),
      ])
  }

  func testOnlyLongValuesMakeBatchesNeedOverflowPages() throws {
    let object = HistoryObject(entity: 1, key: 1 << 45)
    var records = (1...3_000).map { HistoryRecord.updated(HistoryObject(entity: 1, key: $0 << 30), properties: [1, 2, 3]) }
    let members = (1...2_000).map { HistoryObject(entity: 1 << 30, key: 1 << 46 - $0) }
    records.append(.linked(relationship: 1 << 30, isRemoval: false, object, members: members))
    let short = encoded(records)
    XCTAssertGreaterThan(short.count, 10)
    for portion in short { XCTAssertLessThanOrEqual(portion.count, HistoryEncoder.limit) }
    var read = try decoded(short)
    let parts = read.suffix(8).flatMap { if case .linked(_, false, object, let members) = $0 { members } else { [HistoryObject]() } }
    XCTAssertEqual(parts, members, "members are divided, in their order")
    read.removeLast(8)
    XCTAssertEqual(read, Array(records.dropLast()))

    let long = HistoryRecord.insertedWithValues(
      object, [HistoryAssignment(property: 1, value: .text(String(repeating: "x", count: 50_000)))])
    let mixed = [records[0], long, records[1]]
    let portions = encoded(mixed)
    XCTAssertEqual(portions.map { $0.count > HistoryEncoder.limit }, [false, true, false])
    XCTAssertEqual(try decoded(portions), mixed)
  }

  func testMovedMembersAreDividedIntoRecords() throws {
    func object(_ key: Int64) -> HistoryObject { HistoryObject(entity: 1 << 30, key: 1 << 45 + key) }
    var runs = [HistoryRun(after: nil, members: (1...1_000).map(object))]
    for key in 0..<Int64(1_000) { runs.append(HistoryRun(after: object(10_000 + key), members: [object(20_000 + key)])) }
    let chunks = encoded([.moved(relationship: 1 << 30, object(0), runs: runs)])
    for chunk in chunks { XCTAssertLessThanOrEqual(chunk.count, HistoryEncoder.limit) }
    let found = try decoded(chunks).flatMap { record -> [HistoryRun] in
      guard case .moved(1 << 30, object(0), let runs) = record else { return [] }
      return runs
    }
    XCTAssertEqual(found.flatMap(\.members), runs.flatMap(\.members))
    XCTAssertEqual(found.prefix(2).map(\.after), [nil, found.first?.members.last], "a divided run continues after its first part")
    XCTAssertEqual(Array(found.suffix(1_000)), Array(runs.suffix(1_000)))
    // One more of many members.
    let one = encoded([
      .moved(
        relationship: 9, HistoryObject(entity: 1, key: 7),
        runs: [HistoryRun(after: HistoryObject(entity: 2, key: 5_000), members: [HistoryObject(entity: 2, key: 10_001)])])
    ])
    XCTAssertLessThan(one.map(\.count).reduce(0, +), 20)
    XCTAssertEqual(encoded([.moved(relationship: 9, HistoryObject(entity: 1, key: 7), runs: [])]), [], "nothing was moved")
  }

  func testEmptyHistoryHasNoBatch() { XCTAssertEqual(encoded([]), []) }

  // MARK: Properties

  func testRandomRecordsRoundTrip() throws {
    var random = RandomHistory(seed: 13)
    for _ in 0..<300 {
      let records = (0..<Int.random(in: 0...40, using: &random.generator)).map { _ in random.record() }
      let portions = encoded(records)
      XCTAssertEqual(try decoded(portions), records)
      // Each batch can be decoded separately.
      XCTAssertEqual(try portions.map { try decoded([$0]) }.flatMap { $0 }, records)
    }
  }

  func testInvalidBytesThrowAndNeverTrap() throws {
    var random = RandomHistory(seed: 31)
    var (failures, successes) = (0, 0)
    for round in 0..<4_000 {
      var bytes = encoded([random.record(), random.record()]).flatMap { $0 }
      switch round % 4 {
      case 0:
        bytes = (0..<Int.random(in: 1...60, using: &random.generator)).map { _ in UInt8.random(in: 0...255, using: &random.generator) }
      case 1: bytes.removeLast(Int.random(in: 1...bytes.count, using: &random.generator))
      case 2:
        bytes.insert(
          contentsOf: [255, 255, 255, 255, 255, 255, 255, 255, 255, 1], at: Int.random(in: 0...bytes.count, using: &random.generator))
      default: bytes[Int.random(in: bytes.indices, using: &random.generator)] ^= 1 << UInt8.random(in: 0...7, using: &random.generator)
      }
      var decoder = HistoryDecoder(bytes, number: 42)
      do {
        while let record = try decoder.next() {
          // A decoded record can be encoded again.
          XCTAssertEqual(try decoded(encoded([record])).isEmpty, false)
        }
        successes += 1
      } catch {
        XCTAssertEqual(error.code, .storeCorrupt)
        XCTAssertEqual(error.operation, .readHistory)
        XCTAssertTrue(error.message.contains("record 42"), error.message)
        failures += 1
      }
    }
    XCTAssertGreaterThan(failures, 1_000)
    XCTAssertGreaterThan(successes, 100)
  }

  func testInvalidNumbersThrow() {
    let hostile: [[UInt8]] = [
      [0], [99], [128], [1], [1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0],
      // A run beyond the greatest key, and one that would take years to enumerate.
      [1, 1, 255, 255, 255, 255, 255, 255, 15, 2], [1, 1, 1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
      // More than 64 bits; more properties than bytes; bytes that are not text; a value of an unknown kind; a digest that is too short.
      [1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2], [3, 1, 1, 100, 1], [12, 1, 255, 0], [2, 1, 1, 1, 1, 7],
      [2, 1, 1, 1, 1, 6, 1, 1, 2, 0, 0],
      // An unknown kind of schema change, fields that do not fit the kind; no runs, a run without members, and one that ends early.
      [14, 0, 0, 1, 9, 1, 1, 0, 0], [14, 0, 0, 1, 1, 1, 1, 0, 0], [14, 0, 0, 1, 3, 1, 0, 0, 0], [14, 0, 0, 1, 7, 1, 1, 0, 0],
      [14, 0, 0, 1, 3, 1, 1, 0, 2],
      [13, 1, 1, 1, 0], [13, 1, 1, 1, 1, 0, 0], [13, 1, 1, 1, 1, 2, 1, 2, 1, 1],
    ]
    for bytes in hostile {
      var decoder = HistoryDecoder(bytes, number: 1)
      XCTAssertThrowsError(try decoder.next(), "\(bytes)")
    }
  }
}

/// Records of every kind, with numbers of every size.
private struct RandomHistory {
  var generator: SeededGenerator

  init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

  private mutating func number(upTo bits: Int) -> Int64 {
    let maximum = Int64(1) << Int64.random(in: 1...Int64(bits), using: &generator) - 1
    return Int64.random(in: 1...maximum, using: &generator)
  }
  private mutating func id() -> Int { Int(number(upTo: 31)) }
  private mutating func object() -> HistoryObject { HistoryObject(entity: id(), key: number(upTo: 46)) }

  private mutating func list<Element>(_ maximum: Int = 6, _ element: (inout RandomHistory) -> Element) -> [Element] {
    (0..<Int.random(in: 0...maximum, using: &generator)).map { _ in element(&self) }
  }

  private mutating func bytes(_ count: Int) -> Data { Data((0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }) }

  private mutating func value() -> HistoryValue {
    switch Int.random(in: 0...7, using: &generator) {
    case 0: .null
    case 1: .int(Int64.random(in: .min ... .max, using: &generator))
    case 2: .int(Int64.random(in: -100...100, using: &generator))
    case 3: .real(bits: UInt64.random(in: .min ... .max, using: &generator))
    case 4: .text(generator.word(length: 0...300) + "\u{1f41f}")
    case 5: .bytes(bytes(Int.random(in: 0...300, using: &generator)))
    case 6: .reference(object())
    default: .large(id: number(upTo: 62), size: number(upTo: 62), digest: bytes(32))
    }
  }

  private mutating func assignments() -> [HistoryAssignment] {
    list { HistoryAssignment(property: $0.id(), value: $0.value()) }
  }

  mutating func record() -> HistoryRecord {
    switch Int.random(in: 0...11, using: &generator) {
    case 0: .inserted(entity: id(), first: number(upTo: 45), count: number(upTo: 44))
    case 1: .insertedWithValues(object(), assignments())
    case 2: .updated(object(), properties: list { $0.id() })
    case 3: .updatedWithValues(object(), list { HistoryChange(property: $0.id(), old: $0.value(), new: $0.value()) })
    case 4: .deleted(object(), tombstone: assignments(), others: nil, listsLinks: Bool.random(using: &generator))
    case 5: .deleted(object(), tombstone: assignments(), others: assignments(), listsLinks: Bool.random(using: &generator))
    case 6: .derived(object(), properties: list { $0.id() })
    case 7:
      .linked(relationship: id(), isRemoval: Bool.random(using: &generator), object(), members: [object()] + list { $0.object() })
    case 8: .ordered(relationship: id(), object(), members: Bool.random(using: &generator) ? nil : list(300) { $0.object() })
    case 9:
      .moved(
        relationship: id(), object(),
        runs: [HistoryRun(after: object(), members: [object()])]
          + list {
            HistoryRun(after: Bool.random(using: &$0.generator) ? nil : $0.object(), members: [$0.object()] + $0.list { $0.object() })
          })
    case 10:
      .migrated(
        from: generator.word(length: 0...40), to: generator.word(length: 0...40),
        changes: list { random in
          let kind = HistorySchemaChange.Kind.allCases.randomElement(using: &random.generator) ?? .filled
          return HistorySchemaChange(
            kind, entity: random.id(), property: kind == .objectsRemoved ? 0 : random.id(), former: kind == .moved ? random.id() : 0,
            value: Bool.random(using: &random.generator) ? nil : random.value())
        })
    default: .whole(from: generator.word(length: 0...40), to: generator.word(length: 0...40))
    }
  }
}

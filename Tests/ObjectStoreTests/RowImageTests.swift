import Foundation
import ObjectModel
import ObjectStore
import XCTest
import _TestSupport

/// Packing and reading of rows with any contents.
final class RowImageTests: XCTestCase {
  private let kinds: [SlotKind] = [.int, .real, .text, .bytes, .reference, .none]

  private func randomSlot(_ kind: SlotKind, _ generator: inout SeededGenerator) -> Slot {
    if Int.random(in: 0..<4, using: &generator) == 0 { return .null }
    switch kind {
    case .int: return .int(Int64.random(in: .min ... .max, using: &generator))
    case .real: return .real(Double.random(in: -1e9...1e9, using: &generator))
    case .text: return .text(generator.word(length: 0...Int.random(in: 0...300, using: &generator)))
    case .bytes: return .bytes(Data((0..<Int.random(in: 0...500, using: &generator)).map { UInt8(truncatingIfNeeded: $0) }))
    case .reference: return .int(ObjectReference(entity: 3, key: Int64.random(in: 1...1_000_000, using: &generator)).rawValue)
    case .none: return .null
    }
  }

  func testRandomRowsRoundTrip() {
    var generator = SeededGenerator(seed: 31)
    let writer = RowWriter()
    var expected: [[Slot]] = []
    let layouts = [1, 3, 64, 65, 130].map { count in (0..<count).map { kinds[$0 % kinds.count] } }
    for key in 1...400 {
      let layout = layouts[key % layouts.count]
      let row = layout.map { randomSlot($0, &generator) }
      writer.beginRow(entityNumber: key % 7, slotCount: layout.count, key: Int64(key), version: Int64(key * 2))
      // Slots can be set in any order.
      for slot in layout.indices.shuffled(using: &generator) { writer.set(row[slot], at: slot) }
      writer.endRow()
      expected.append(row)
    }
    let rows = writer.finish()
    XCTAssertEqual(rows.count, 400)
    for (index, row) in rows.enumerated() {
      let layout = layouts[(index + 1) % layouts.count]
      XCTAssertEqual(row.key, Int64(index + 1))
      XCTAssertEqual(row.version, Int64((index + 1) * 2))
      XCTAssertEqual(row.entityNumber, (index + 1) % 7)
      XCTAssertEqual(row.slotCount, layout.count)
      XCTAssertEqual(try layout.enumerated().map { try row.slot($0, kind: $1) }, expected[index])
      assertInvariants(of: row, layout)
    }
  }

  func testCompactedListHasTheSameRowsInLessMemory() {
    var generator = SeededGenerator(seed: 32)
    let others = RowWriter()
    for key in 1_001...1_050 {
      others.beginRow(entityNumber: 1, slotCount: kinds.count, key: Int64(key), version: 1)
      others.endRow()
    }
    let held = others.finish()
    for count in [0, 1, 20, 300, 700] {
      let rows = (0..<count).map { _ in kinds.map { randomSlot($0, &generator) } }
      func write() -> RowWriter {
        let writer = RowWriter(rowCapacity: 1_000)
        for (index, row) in rows.enumerated() {
          writer.beginRow(entityNumber: 2, slotCount: kinds.count, key: Int64(index + 1), version: 7)
          for slot in kinds.indices { writer.set(row[slot], at: slot) }
          writer.closeRow()
          if index < 40 { writer.append(heldRow: held.base(index)) }
        }
        return writer
      }
      let (ample, compact) = (write().finish(), write().finishCompactly())
      XCTAssertEqual(compact.count, ample.count)
      for (found, expected) in zip(compact, ample) {
        XCTAssertEqual(found.reference, expected.reference)
        XCTAssertEqual(found.version, expected.version)
        for (slot, kind) in kinds.enumerated() { XCTAssertEqual(try found.slot(slot, kind: kind), try expected.slot(slot, kind: kind)) }
        assertInvariants(of: found, kinds)
      }
      XCTAssertLessThan(compact.byteCount, ample.byteCount, "\(count) rows")
    }
  }

  /// The invariants that every reader of rows relies on: texts and bytes are in the row, after its fixed part, in order and without
  /// overlaps; null slots and slots that the entity lacks are marked.
  private func assertInvariants(of row: RowImage, _ kinds: [SlotKind], line: UInt = #line) {
    let nullWords = (kinds.count + 63) / 64
    let fixedSize = RowImage.wordsOffset + (kinds.count + nullWords) * 8
    XCTAssertGreaterThanOrEqual(row.size, fixedSize, line: line)
    XCTAssertEqual(UInt(bitPattern: row.base) % 8, 0, "rows are aligned", line: line)
    var ranges: [Range<Int>] = []
    for (slot, kind) in kinds.enumerated() {
      if row.isNull(slot) {
        XCTAssertEqual(row.word(slot), 0, "a null slot's word says nothing", line: line)
      } else if kind == .text || kind == .bytes, row.external(slot) == nil {
        let bytes = row.bytes(slot)
        guard let start = bytes.baseAddress else { continue }
        let offset = start - row.base
        if !bytes.isEmpty { ranges.append(offset..<offset + bytes.count) }
      }
    }
    ranges.sort { $0.lowerBound < $1.lowerBound }
    XCTAssertTrue(zip(ranges, ranges.dropFirst()).allSatisfy { $0.upperBound <= $1.lowerBound }, "values overlap", line: line)
    XCTAssertGreaterThanOrEqual(ranges.first?.lowerBound ?? fixedSize, fixedSize, line: line)
    XCTAssertLessThanOrEqual(ranges.last?.upperBound ?? 0, row.size, line: line)
    for slot in kinds.count..<nullWords * 64 { XCTAssertTrue(row.isNull(slot), "slot \(slot) is none", line: line) }
    #if CIPHERDATA_CHECKS
      row._checkInvariants(kinds: kinds)
    #endif
  }

  func testMovedRowsAndExternalValuesKeepTheInvariants() throws {
    let kinds: [SlotKind] = [.text, .bytes, .bytes, .text, .int]
    let large = ExternalData(Data(repeating: 7, count: 1_000))
    let writer = RowWriter()
    for key in 1...200 as ClosedRange<Int64> {
      writer.beginRow(entityNumber: 0, slotCount: kinds.count, key: key, version: 1)
      if key % 3 == 0 { writer.setExternal(large, at: 1) }
      // At some point longer than the rest of a chunk.
      writer.setString(String(repeating: "x", count: Int(key) * 37 % 5_000), at: 0)
      if key % 2 == 0 { writer.setExternal(large, at: 2) }
      writer.setString("", at: 3)
      writer.endRow()
    }
    for row in writer.finish() {
      assertInvariants(of: row, kinds)
      XCTAssertEqual(row.external(1) != nil, row.key % 3 == 0)
      XCTAssertEqual(try row.external(2)?.count, row.key % 2 == 0 ? 1_000 : nil)
      XCTAssertEqual(row.string(0).utf8.count, Int(row.key) * 37 % 5_000)
    }
  }

  func testRowLargerThanAChunkIsStored() {
    let text = String(repeating: "ä", count: 200_000)
    let writer = RowWriter(rowCapacity: 1)
    writer.beginRow(entityNumber: 0, slotCount: 3, key: 1, version: 1)
    writer.setInt(7, at: 0)
    writer.setString(text, at: 1)
    writer.setString("behind", at: 2)
    let image = writer.endRow()
    XCTAssertEqual(image.int(0), 7)
    XCTAssertEqual(image.string(1), text)
    XCTAssertEqual(image.string(2), "behind")
    XCTAssertGreaterThan(image.size, text.utf8.count)
  }

  func testRowsAfterAVeryLargeRowAreFoundByAddress() {
    let writer = RowWriter()
    for (key, length) in [(Int64(1), 3), (2, 600_000), (3, 4), (-4, 5), (5, 600_000)] {
      writer.beginRow(entityNumber: 2, slotCount: 1, key: key, version: 1)
      writer.setString(String(repeating: "a", count: length), at: 0)
      writer.endRow()
    }
    var images = writer.finish().map { $0 }
    XCTAssertEqual(images.map(\.key), [1, 2, 3, -4, 5])
    XCTAssertEqual(images.map { $0.string(0).utf8.count }, [3, 600_000, 4, 5, 600_000])
    let held = images.map { $0.retain() }
    images = []
    XCTAssertEqual(held.map { RowImage(heldRow: $0).reference }, [1, 2, 3, -4, 5].map { ObjectReference(entity: 2, key: $0) })
    XCTAssertEqual(held.map { RowImage(heldRow: $0).string(0).utf8.count }, [3, 600_000, 4, 5, 600_000])
    held.forEach(RowImage.release)
  }

  func testAnAbandonedRowLeavesNoTrace() {
    let writer = RowWriter()
    writer.beginRow(entityNumber: 0, slotCount: 1, key: 1, version: 1)
    writer.setString("given up", at: 0)
    writer.abandonRow()
    writer.beginRow(entityNumber: 0, slotCount: 1, key: 2, version: 1)
    writer.setString("kept", at: 0)
    writer.endRow()
    let rows = writer.finish()
    XCTAssertEqual(rows.map(\.key), [2])
    XCTAssertEqual(rows[0].string(0), "kept")
  }

  func testCopiedSlotEqualsTheOriginal() {
    let first = RowWriter()
    first.beginRow(entityNumber: 0, slotCount: 4, key: 1, version: 1)
    first.set(.text("text"), at: 0)
    first.set(.real(-0.5), at: 1)
    first.set(.bytes(Data([1, 0, 2])), at: 2)
    let image = first.endRow()
    let second = RowWriter()
    second.beginRow(entityNumber: 0, slotCount: 4, key: 1, version: 2)
    for (slot, kind) in [SlotKind.text, .real, .bytes, .int].enumerated() { second.copy(slot, kind: kind, from: image) }
    let copy = second.endRow()
    XCTAssertEqual(try copy.slot(0, kind: .text), .text("text"))
    XCTAssertEqual(try copy.slot(1, kind: .real), .real(-0.5))
    XCTAssertEqual(try copy.slot(2, kind: .bytes), .bytes(Data([1, 0, 2])))
    XCTAssertTrue(copy.isNull(3))
  }

  func testListRetainsRowsOfAnyChunk() {
    func make(_ key: Int64) -> RowImage {
      let writer = RowWriter(rowCapacity: 1)
      writer.beginRow(entityNumber: 0, slotCount: 1, key: key, version: 1)
      writer.setString("row \(key)", at: 0)
      return writer.endRow()
    }
    let shared = RowWriter()
    var images: [RowImage] = []
    for key in 1...50 as ClosedRange<Int64> {
      if key % 2 == 0 {
        images.append(make(key))
      } else {
        shared.beginRow(entityNumber: 0, slotCount: 1, key: key, version: 1)
        shared.setString("row \(key)", at: 0)
        images.append(shared.endRow())
      }
    }
    let list = RowList(images.reversed())
    images = []
    XCTAssertEqual(list.map { $0.string(0) }, (1...50).reversed().map { "row \($0)" })
    XCTAssertEqual(RowList([RowImage]()).count, 0)
  }

  func testSlotMaskContainsInsertedSlots() {
    var mask = SlotMask()
    XCTAssertTrue(mask.isEmpty)
    for slot in [0, 63, 64, 127, 128, 300] { mask.insert(slot) }
    XCTAssertEqual(mask.slots(below: 400), [0, 63, 64, 127, 128, 300])
    for slot in [63, 300, 5] { mask.remove(slot) }
    XCTAssertEqual(mask.slots(below: 400), [0, 64, 127, 128])
    XCTAssertFalse(mask.contains(1_000))
    for slot in [0, 64, 127, 128] { mask.remove(slot) }
    XCTAssertTrue(mask.isEmpty)
  }

  func testUnreadableExternalValueIsNeverReturnedAsEmpty() throws {
    struct Lost: ExternalContent {
      var count: Int { get throws { throw StoreError(.externalDataMissing, "The file is missing.", operation: .readLargeValue) } }
      func makeReader() throws -> ExternalDataReader {
        throw StoreError(.externalDataMissing, "The file is missing.", operation: .readLargeValue)
      }
    }
    func row(_ external: ExternalData?) -> RowImage {
      let writer = RowWriter()
      writer.beginRow(entityNumber: 0, slotCount: 1, key: 1, version: 1)
      if let external { writer.setExternal(external, at: 0) }
      return writer.endRow()
    }
    let lost = row(ExternalData(content: Lost()))
    for read in [{ _ = try lost.data(0) }, { _ = try lost.slot(0, kind: .bytes) }] {
      XCTAssertThrowsError(try read()) { XCTAssertEqual(($0 as? StoreError)?.code, .externalDataMissing) }
    }
    XCTAssertFalse(lost.hasSameValue(0, kind: .bytes, as: row(nil)), "lost bytes are not none")
    XCTAssertFalse(lost.hasSameValue(0, kind: .bytes, as: row(ExternalData(content: Lost()))))
    XCTAssertEqual(try row(ExternalData(Data([1]))).slot(0, kind: .bytes), .bytes(Data([1])))
    XCTAssertEqual(try row(nil).slot(0, kind: .bytes), .null)
    XCTAssertEqual(try row(nil).data(0), Data())
  }
}

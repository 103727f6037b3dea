import Foundation
import ObjectModel
import XCTest
import _StoreSpecification
import _TestSupport

@testable import ObjectStore

/// Three-way merges of rows, compared with the same merges of small numbers: each stands for all values that count as the same.
final class RowMergeTests: XCTestCase {
  /// The number of random triples of values for each kind.
  private static let tripleCount = 1_000_000
  private static let slotCount = 64
  private static let rules = [MergeRules.Winner.mine, .theirs, .neither].flatMap { winner in
    [MergeRules.Unit.property, .row].map { MergeRules(winner, unit: $0) }
  }

  /// A row with 64 slots, and the number of each slot's value as two bits.
  private struct NumberedRow {
    let row: RowImage
    let bits: (UInt64, UInt64)

    /// The slots that have the same value as in another row.
    func same(as other: NumberedRow) -> UInt64 { ~((bits.0 ^ other.bits.0) | (bits.1 ^ other.bits.1)) }

    /// The slots in which a merged row differs that has my values in some slots, and theirs in the others.
    func differing(fromMerged slots: UInt64, _ mine: NumberedRow, _ theirs: NumberedRow) -> UInt64 {
      ~(slots & same(as: mine) | ~slots & same(as: theirs))
    }
  }

  private func entity(_ kind: SlotKind) -> CompiledEntity {
    let type: AttributeType =
      switch kind {
      case .int, .reference, .none: .integer64
      case .real: .double
      case .text: .string
      case .bytes: .binary
      }
    let properties = (0..<Self.slotCount).map { number in
      kind == .reference ? SpecificationModels.toOne("p\(number)", "Row") : SpecificationModels.attribute("p\(number)", type)
    }
    let model = try? SpecificationModels.compiled([SpecificationModels.entity("Row", properties)])
    return model?.entities[0] ?? SpecificationModels.library.entities[0]
  }

  /// Returns the values of each number. Values of the same number count as the same.
  private func values(_ kind: SlotKind) -> [[ExternalOrSlot]] {
    switch kind {
    case .int: [[.slot(.null)], [.slot(.int(0))], [.slot(.int(.max))], [.slot(.int(-1))]]
    case .real: [[.slot(.null)], [.slot(.real(0)), .slot(.real(-0.0))], [.slot(.real(.nan))], [.slot(.real(1.5))]]
    // Unicode's equivalent texts are not the same.
    case .text: [[.slot(.null)], [.slot(.text(""))], [.slot(.text("\u{E9}"))], [.slot(.text("e\u{301}"))]]
    case .bytes:
      [
        [.slot(.null)], [.slot(.bytes(Data()))], [.slot(.bytes(Data([1, 2]))), .external(ExternalData(Data([1, 2])))],
        [.slot(.bytes(Data([1, 3])))],
      ]
    case .reference, .none:
      [[.slot(.null)]] + (1...3).map { [.slot(.int(ObjectReference(entity: 0, key: $0).rawValue))] }
    }
  }

  private enum ExternalOrSlot {
    case slot(Slot)
    case external(ExternalData)
  }

  private func randomRow(_ values: [[ExternalOrSlot]], _ writer: RowWriter, _ generator: inout SeededGenerator) -> NumberedRow {
    let (low, high, choice) = (generator.next(), generator.next(), generator.next())
    writer.beginRow(entityNumber: 0, slotCount: Self.slotCount, key: 1, version: 3)
    for slot in 0..<Self.slotCount {
      let same = values[Int(low >> UInt64(slot) & 1 | (high >> UInt64(slot) & 1) << 1)]
      switch same[Int(choice >> UInt64(slot) & 1) % same.count] {
      case .slot(let value): writer.set(value, at: slot)
      case .external(let value): writer.setExternal(value, at: slot)
      }
    }
    return NumberedRow(row: writer.endRow(), bits: (low, high))
  }

  /// Returns the slots that the merged row has from my side, and those in conflict, computed with bits.
  private func expected(
    _ base: NumberedRow?, _ mine: NumberedRow, _ theirs: NumberedRow, changed: UInt64?, _ rules: MergeRules, isRowConflict: Bool
  ) -> (mine: UInt64, conflicts: UInt64) {
    let changed = changed ?? base.map { ~mine.same(as: $0) } ?? .max
    let changedByTheirs = base.map { ~theirs.same(as: $0) } ?? .max
    let conflicts = changed & changedByTheirs & ~mine.same(as: theirs)
    if rules.unit == .row, isRowConflict || conflicts != 0 { return (rules.winner == .mine ? .max : 0, conflicts) }
    return (changed & ~changedByTheirs | (rules.winner == .mine ? changed : 0), conflicts)
  }

  /// Checks merges of random rows, and on some of them the laws that every merge obeys.
  private func checkMerges(_ kind: SlotKind, seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let (entity, values, writer) = (entity(kind), values(kind), RowWriter())
    XCTAssertEqual(entity.slots.count, Self.slotCount)
    let rows = (0..<256).map { _ in randomRow(values, writer, &generator) }
    for number in 0..<Self.tripleCount / Self.slotCount {
      let choice = generator.next()
      let (base, mine) = (rows[Int(choice & 255)], rows[Int(choice >> 8 & 255)])
      let theirs = rows[Int(choice >> 16 & 255)]
      let (original, isRowConflict) = (choice >> 24 & 7 == 0 ? nil : base, choice >> 27 & 3 == 0)
      let changed = choice >> 29 & 3 == 0 ? generator.next() : nil
      let rules = Self.rules[number / 7 % Self.rules.count]
      let merge = ThreeWayMerge(
        base: original?.row, mine: mine.row, theirs: theirs.row, changed: changed.map(SlotMask.init(low:)), of: entity)
      let slots = expected(original, mine, theirs, changed: changed, rules, isRowConflict: isRowConflict)
      let mask = merge.slotsOfMine(by: rules, isRowConflict: isRowConflict)
      guard merge.conflicts == SlotMask(low: slots.conflicts), (mask.low ^ slots.mine) & ~mine.same(as: theirs) == 0 else {
        return XCTFail("merge \(number)")
      }
      if number % 4 != 0 { continue }
      let merged = merge.row(by: rules, isRowConflict: isRowConflict, version: 7)
      for other in [mine, theirs] {
        let differing = other.differing(fromMerged: slots.mine, mine, theirs)
        guard merged.slots(differingFrom: other.row, of: entity) == SlotMask(low: differing) else {
          return XCTFail("row of merge \(number)")
        }
      }
      if number % 16 == 0 { checkLaws(base.row, mine.row, theirs.row, rules, entity) }
    }
  }

  private func checkLaws(_ base: RowImage, _ mine: RowImage, _ theirs: RowImage, _ rules: MergeRules, _ entity: CompiledEntity) {
    func merged(_ base: RowImage, _ mine: RowImage, _ theirs: RowImage, _ rules: MergeRules) -> RowImage {
      ThreeWayMerge(base: base, mine: mine, theirs: theirs, of: entity).row(by: rules, version: 9)
    }
    func check(_ one: RowImage, _ other: RowImage, _ law: String) {
      let differing = one.slots(differingFrom: other, of: entity)
      XCTAssertTrue(differing.isEmpty, "\(law) by \(rules): slots \(differing.slots(below: Self.slotCount))")
    }
    check(merged(base, base, theirs, rules), theirs, "identity of theirs")
    check(merged(base, mine, base, rules), mine, "identity of mine")
    let result = merged(base, mine, theirs, rules)
    check(merged(base, mine, result, rules), result, "idempotence")
    var mirrored = rules
    switch rules.winner {
    case .mine: mirrored.winner = .theirs
    case .theirs: mirrored.winner = .mine
    case .neither: return
    }
    check(merged(base, theirs, mine, mirrored), result, "symmetry")
  }

  func testAMillionIntegersAreMerged() { checkMerges(.int, seed: 101) }
  func testAMillionNumbersAreMerged() { checkMerges(.real, seed: 102) }
  func testAMillionTextsAreMerged() { checkMerges(.text, seed: 103) }
  func testAMillionBytesAreMerged() { checkMerges(.bytes, seed: 104) }
  func testAMillionReferencesAreMerged() { checkMerges(.reference, seed: 105) }

  // MARK: Single cases

  private func row(_ entity: CompiledEntity, version: Int64 = 1, _ values: [String: Slot]) -> RowImage {
    let writer = RowWriter(rowCapacity: 1)
    writer.beginRow(entityNumber: entity.number, slotCount: entity.slots.count, key: 5, version: version)
    for (name, value) in values { if let slot = entity.slot(named: name) { writer.set(value, at: slot.index) } }
    return writer.endRow()
  }

  func testPropertiesInConflictAreNamed() throws {
    let entity = try XCTUnwrap(SpecificationModels.library.entity(named: "Book"))
    let base = row(entity, ["title": .text("a"), "isbn": .text("1"), "pages": .int(1), "year": .int(1), "author": .int(7)])
    let mine = row(entity, ["title": .text("b"), "isbn": .text("1"), "pages": .int(2), "year": .int(2), "author": .int(8)])
    let theirs = row(entity, version: 4, ["title": .text("c"), "isbn": .text("2"), "pages": .int(1), "year": .int(2), "author": .null])
    let merge = ThreeWayMerge(base: base, mine: mine, theirs: theirs, of: entity)
    XCTAssertEqual(merge.conflictingNames, ["title", "author"])
    XCTAssertEqual(merge.equal.slots(below: 64), [entity.slot(named: "year")?.index].compactMap { $0 })
    let merged = merge.row(by: MergeRules(.mine), setting: [entity.slot(named: "price")?.index ?? 0: .int(3)], version: 5)
    XCTAssertEqual(merged.version, 5)
    XCTAssertEqual(merged.key, 5)
    let snapshot = RowSnapshot(merged, of: entity, space: 0)
    XCTAssertEqual(try snapshot.value("title", as: String.self), "b")
    XCTAssertEqual(try snapshot.value("isbn", as: String.self), "2")
    XCTAssertEqual(try snapshot.value("pages", as: Int.self), 2)
    XCTAssertEqual(merged.int(try XCTUnwrap(entity.slot(named: "price")).index), 3)
  }

  func testFormerReferencesOfAnObjectAreTheSame() throws {
    let entity = try XCTUnwrap(SpecificationModels.library.entity(named: "Book"))
    let (former, current) = (ObjectReference(entity: 0, key: -4), ObjectReference(entity: 0, key: 9))
    let base = row(entity, ["author": .null])
    let (mine, theirs) = (row(entity, ["author": .int(former.rawValue)]), row(entity, ["author": .int(current.rawValue)]))
    XCTAssertEqual(ThreeWayMerge(base: base, mine: mine, theirs: theirs, of: entity).conflictingNames, ["author"])
    let merge = ThreeWayMerge(base: base, mine: mine, theirs: theirs, of: entity) { $0 == former ? current : $0 }
    XCTAssertTrue(merge.conflicts.isEmpty)
    XCTAssertFalse(merge.equal.isEmpty)
  }

  func testRowsWithManySlotsAreMerged() throws {
    let properties = (0..<150).map { SpecificationModels.integer("p\($0)") }
    let entity = try SpecificationModels.compiled([SpecificationModels.entity("Row", properties)]).entities[0]
    let mine = row(entity, ["p3": .int(1), "p70": .int(1), "p149": .int(1)])
    let theirs = row(entity, ["p4": .int(2), "p70": .int(2), "p128": .int(2)])
    let merge = ThreeWayMerge(base: row(entity, [:]), mine: mine, theirs: theirs, of: entity)
    XCTAssertEqual(merge.conflictingNames, ["p70"])
    let merged = merge.row(by: MergeRules(.theirs), version: 2)
    XCTAssertEqual([3, 4, 70, 128, 149].map { merged.int($0) }, [1, 2, 2, 2, 1])
    XCTAssertTrue(merged.isNull(5))
  }

  func testUnreadableValuesConflict() {
    let entity = entity(.text)
    let writer = RowWriter()
    func row(_ value: Slot?) -> RowImage {
      writer.beginRow(entityNumber: 0, slotCount: Self.slotCount, key: 1, version: 1)
      if let value { writer.set(value, at: 2) } else { writer.markUnreadable(2) }
      return writer.endRow()
    }
    let merge = ThreeWayMerge(base: row(.null), mine: row(nil), theirs: row(nil), of: entity)
    XCTAssertEqual(merge.conflictingNames, ["p2"])
    XCTAssertTrue(merge.row(by: MergeRules(.mine), version: 2).isUnreadable(2))
    XCTAssertEqual(ThreeWayMerge(base: row(.null), mine: row(.text("")), theirs: row(.null), of: entity).conflictingNames, [])
  }

  func testRowsThatOneSideHasDeletedAreKeptByTheRules() {
    func kept(_ deletion: MergeRules.Deletion?) -> [Bool?] {
      var rules = MergeRules(.mine)
      if let deletion { rules.deletion = deletion }
      return [rules.keepsRow(deletedBy: .mine), rules.keepsRow(deletedBy: .theirs)]
    }
    XCTAssertEqual(kept(nil), [false, true])
    XCTAssertEqual(kept(.mine), [false, true])
    XCTAssertEqual(kept(.theirs), [true, false])
    XCTAssertEqual(kept(.deletes), [false, false])
    XCTAssertEqual(kept(.keeps), [true, true])
    XCTAssertEqual(kept(.neither), [nil, nil])
    XCTAssertEqual(MergeRules(.theirs).deletion, .theirs)
    XCTAssertEqual(MergeRules(.neither).deletion, .neither)
  }
}

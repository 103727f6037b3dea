import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import XCTest
import _TestSupport

/// Random triples of values, members and orders have the outcome of ``ThreeWayMerge``, whatever way both sides meet: two saves, changes
/// merged below unsaved ones, a nested context, or a snapshot (rows C18, C22).
public final class RandomMergeSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testSavesOfTwoContextsAreMerged", { $0.testSavesOfTwoContextsAreMerged }),
        ("testChangesBelowUnsavedOnesAreMerged", { $0.testChangesBelowUnsavedOnesAreMerged }),
        ("testSavesOfNestedContextsAreMerged", { $0.testSavesOfNestedContextsAreMerged }),
        ("testAppliedSnapshotsAreMerged", { $0.testAppliedSnapshotsAreMerged }),
      ] as [(String, (RandomMergeSpecification) -> () throws -> Void)])
  }

  private static let model = SpecificationModels.compile([
    SpecificationModels.entity(
      "Row",
      [
        SpecificationModels.integer("i"), SpecificationModels.attribute("r", .double), SpecificationModels.text("t"),
        SpecificationModels.attribute("d", .binary), SpecificationModels.toOne("one", "Peer", "rows"),
        SpecificationModels.toMany("tags", "Peer", "taggedBy"), SpecificationModels.toMany("picks", "Peer", "pickedBy", ordered: true),
        SpecificationModels.toMany("items", "Item", "row", ordered: true),
      ]),
    SpecificationModels.entity(
      "Peer",
      [
        SpecificationModels.integer("number"), SpecificationModels.toMany("rows", "Row", "one"),
        SpecificationModels.toMany("taggedBy", "Row", "tags"), SpecificationModels.toMany("pickedBy", "Row", "picks"),
      ]),
    SpecificationModels.entity("Item", [SpecificationModels.integer("number"), SpecificationModels.toOne("row", "Row", "items")]),
  ])

  private static let rowEntity: CompiledEntity = {
    guard let entity = model.entity(named: "Row") else { preconditionFailure("The model has no rows.") }
    return entity
  }()

  private static let policies: [(policy: MergePolicy, rules: MergeRules)] = [
    (.mergeByPropertyObjectTrump, MergeRules(.mine)), (.mergeByPropertyStoreTrump, MergeRules(.theirs)),
    (.overwrite, MergeRules(.mine, unit: .row)), (.rollback, MergeRules(.theirs, unit: .row)),
  ]
  private static let keys = ["i", "r", "t", "d", "one"]
  private static let lists = ["tags", "picks", "items"]
  /// The number of peers, and of the items of each row.
  private static let memberCount = 8

  // MARK: States

  /// The values of a row as numbers of values, and its members as numbers of objects.
  private struct State: Equatable {
    var values = [0, 0, 0, 0, 0]
    var lists: [[Int]] = [[], [], []]
  }

  private static func slot(_ key: Int, _ value: Int) -> Slot {
    if value == 0 { return .null }
    switch key {
    case 0: return .int([0, .max, -1][value - 1])
    case 1: return .real([0, -0.0, 1.5][value - 1])
    // Unicode's equivalent texts are not the same.
    case 2: return .text(["", "\u{E9}", "e\u{301}"][value - 1])
    case 3: return .bytes([Data(), Data([1, 2]), Data([1, 3])][value - 1])
    default: return .int(reference(value - 1).rawValue)
    }
  }

  private static func reference(_ number: Int) -> ObjectReference { ObjectReference(entity: 1, key: Int64(number + 1)) }

  private func edited(_ state: State, _ random: inout SeededGenerator) -> State {
    var state = state
    for key in state.values.indices where Bool.random(using: &random) { state.values[key] = Int.random(in: 0...3, using: &random) }
    for number in state.lists.indices {
      var list = state.lists[number]
      if Int.random(in: 0..<4, using: &random) == 0 { continue }
      if Bool.random(using: &random), !list.isEmpty { list.remove(at: Int.random(in: list.indices, using: &random)) }
      if Bool.random(using: &random), !list.isEmpty {
        let member = list.remove(at: Int.random(in: list.indices, using: &random))
        list.insert(member, at: Int.random(in: 0...list.count, using: &random))
      }
      for _ in 0..<Int.random(in: 0...2, using: &random) {
        guard let new = (0..<Self.memberCount).filter({ !list.contains($0) }).randomElement(using: &random) else { break }
        list.insert(new, at: Int.random(in: 0...list.count, using: &random))
      }
      // Only its members count in an unordered relationship.
      state.lists[number] = number == 0 ? list.sorted() : list
    }
    return state
  }

  private func row(_ state: State) -> RowImage {
    row { Self.slot($0, state.values[$0]) }
  }

  private func row(_ value: (Int) -> Slot) -> RowImage {
    let (entity, writer) = (Self.rowEntity, RowWriter(rowCapacity: 1))
    writer.beginRow(entityNumber: entity.number, slotCount: entity.slots.count, key: 1, version: 1)
    for (index, key) in Self.keys.enumerated() {
      guard let slot = entity.slot(named: key) else { preconditionFailure("Rows have no \(key).") }
      writer.set(value(index), at: slot.index)
    }
    return writer.endRow()
  }

  /// The outcome of the pure merge.
  private func merged(_ base: State, _ mine: State, _ theirs: State, _ rules: MergeRules, isRowConflict: Bool = false)
    -> (row: RowImage, lists: [[Int]], conflicts: Bool)
  {
    let merge = ThreeWayMerge(base: row(base), mine: row(mine), theirs: row(theirs), of: Self.rowEntity)
    let tags = ThreeWayMerge.members(
      mine: MemberDifference(from: base.lists[0], to: mine.lists[0]), theirs: MemberDifference(from: base.lists[0], to: theirs.lists[0]))
    let orders = (1...2).map { list in
      ThreeWayMerge.order(
        base: base.lists[list].map(Self.reference), mine: mine.lists[list].map(Self.reference),
        theirs: theirs.lists[list].map(Self.reference)
      ).map { Int($0.key) - 1 }
    }
    return (
      merge.row(by: rules, isRowConflict: isRowConflict, version: 1), [tags.applied(to: base.lists[0]).sorted()] + orders,
      !merge.conflicts.isEmpty
    )
  }

  // MARK: Objects

  /// The stored objects of one triple.
  private struct Triple {
    var base = State()
    var mine = State()
    var theirs = State()
    var row: ManagedObjectID
    var peers: [ManagedObjectID]
    var items: [ManagedObjectID]

    func member(_ number: Int, of list: Int) -> ManagedObjectID { list == 2 ? items[number] : peers[number] }
  }

  private func makeTriples(_ count: Int, _ open: OpenStore, _ random: inout SeededGenerator) throws -> [Triple] {
    let context = open.newContext()
    let peers = try (0..<Self.memberCount).map { try context.insert("Peer", ["number": $0]) }
    var rows: [(ManagedObject, [ManagedObject], State)] = []
    for _ in 0..<count {
      let items = try (0..<Self.memberCount).map { try context.insert("Item", ["number": $0]) }
      let (row, base) = (try context.insert("Row"), edited(State(), &random))
      rows.append((row, items, edited(base, &random)))
      try context.save()
    }
    var triples = rows.map { Triple(row: $0.0.objectID, peers: peers.map(\.objectID), items: $0.1.map(\.objectID)) }
    for (index, row) in rows.enumerated() {
      try set(row.2, over: State(), of: triples[index], in: context)
      triples[index].base = row.2
      (triples[index].mine, triples[index].theirs) = (edited(row.2, &random), edited(row.2, &random))
    }
    try context.save()
    return triples
  }

  private func set(_ state: State, over former: State, of triple: Triple, in context: ManagedObjectContext) throws {
    let object = try context.existingObject(with: triple.row)
    hold([object])
    for (index, key) in Self.keys.enumerated() where state.values[index] != former.values[index] {
      if key == "one" {
        let peer = state.values[index] == 0 ? nil : try context.existingObject(with: triple.peers[state.values[index] - 1])
        try object.setValue(peer, forKey: key)
      } else {
        try object.setValue(value(Self.slot(index, state.values[index])), forKey: key)
      }
    }
    for (number, key) in Self.lists.enumerated() where state.lists[number] != former.lists[number] {
      let members = try state.lists[number].map { try context.existingObject(with: triple.member($0, of: number)) }
      hold(members)
      try object.setValue(number == 0 ? Set(members) : members, forKey: key)
    }
  }

  private func value(_ slot: Slot) -> (any Sendable)? {
    switch slot {
    case .null: nil
    case .int(let number): number
    case .real(let number): number
    case .text(let text): text
    case .bytes(let bytes): bytes
    }
  }

  /// Reads the objects of triples with their members.
  private func read(_ triples: [Triple], in context: ManagedObjectContext) throws {
    for triple in triples {
      let object = try context.existingObject(with: triple.row)
      hold([object])
      _ = object["i"]
      for key in Self.lists { hold(object.members(key)) }
      for item in triple.items {
        let item = try context.existingObject(with: item)
        hold([item])
        _ = item["number"]
      }
    }
  }

  private func assertShown(
    _ triple: Triple, in context: ManagedObjectContext, _ rules: MergeRules, isRowConflict: Bool = false, hasMembersOfTheirs: Bool = false,
    _ message: String, line: UInt = #line
  ) throws {
    let object = try context.existingObject(with: triple.row)
    hold([object])
    let shown = row { index in
      switch object[Self.keys[index]] {
      case let number as Int64: .int(number)
      case let number as Double: .real(number)
      case let text as String: .text(text)
      case let bytes as Data: .bytes(bytes)
      case let peer as ManagedObject: .int(Self.reference(triple.peers.firstIndex(of: peer.objectID) ?? -1).rawValue)
      default: .null
      }
    }
    let expected = merged(triple.base, triple.mine, triple.theirs, rules, isRowConflict: isRowConflict)
    let differing = expected.row.slots(differingFrom: shown, of: Self.rowEntity)
    XCTAssertTrue(differing.isEmpty, "slots \(differing.slots(below: 8)): \(message)\n\(triple)", line: line)
    func numbers(_ members: [ManagedObject]) -> [Int] { members.map { Int($0.integer("number") ?? -1) } }
    let lists = [numbers(Array(object.members("tags"))).sorted(), numbers(object.list("picks")), numbers(object.list("items"))]
    XCTAssertEqual(lists, hasMembersOfTheirs ? triple.theirs.lists : expected.lists, "\(message)\n\(triple)", line: line)
  }

  /// Checks triples, each in new objects.
  private func forEachRound(
    seed: UInt64, _ body: (_ triples: [Triple], _ open: OpenStore, _ policy: MergePolicy, _ rules: MergeRules) throws -> Void
  ) throws {
    let open = try makeStore(Self.model)
    var random = SeededGenerator(seed: seed)
    for round in 0..<RandomSteps.count(12) {
      let (policy, rules) = Self.policies[round % Self.policies.count]
      try body(try makeTriples(10, open, &random), open, policy, rules)
    }
  }

  // MARK: Cases

  func testSavesOfTwoContextsAreMerged() throws {
    try forEachRound(seed: 301) { triples, open, policy, rules in
      let (context, other) = (open.context(policy), open.newContext())
      try read(triples, in: context)
      for triple in triples { try set(triple.theirs, over: triple.base, of: triple, in: other) }
      try other.save()
      for triple in triples { try set(triple.mine, over: triple.base, of: triple, in: context) }
      try context.save()
      let fresh = open.newContext()
      for triple in triples {
        func isChanged(_ state: State) -> Bool { !row(state).slots(differingFrom: row(triple.base), of: Self.rowEntity).isEmpty }
        try assertShown(
          triple, in: fresh, rules, isRowConflict: isChanged(triple.mine) && isChanged(triple.theirs), "\(policy)")
      }
    }
  }

  func testChangesBelowUnsavedOnesAreMerged() throws {
    try forEachRound(seed: 302) { triples, open, _, _ in
      let (context, other) = (open.newContext(), open.newContext())
      context.automaticallyMergesChangesFromParent = true
      try read(triples, in: context)
      for triple in triples { try set(triple.mine, over: triple.base, of: triple, in: context) }
      for triple in triples { try set(triple.theirs, over: triple.base, of: triple, in: other) }
      try other.save()
      context.processPendingChanges()
      for triple in triples { try assertShown(triple, in: context, MergeRules(.mine), "merged") }
      try context.save()
      let fresh = open.newContext()
      for triple in triples { try assertShown(triple, in: fresh, MergeRules(.mine), "saved") }
    }
  }

  func testSavesOfNestedContextsAreMerged() throws {
    try forEachRound(seed: 303) { triples, open, _, _ in
      let parent = open.newContext()
      let child = ManagedObjectContext(parent: parent)
      try read(triples, in: child)
      for triple in triples { try set(triple.theirs, over: triple.base, of: triple, in: parent) }
      for triple in triples { try set(triple.mine, over: triple.base, of: triple, in: child) }
      try child.save()
      for triple in triples { try assertShown(triple, in: parent, MergeRules(.mine), "in the parent") }
      try parent.save()
      let fresh = open.newContext()
      for triple in triples { try assertShown(triple, in: fresh, MergeRules(.mine), "saved") }
    }
  }

  func testAppliedSnapshotsAreMerged() throws {
    try forEachRound(seed: 304) { triples, open, policy, rules in
      let (other, context) = (open.newContext(), open.context(policy))
      let snapshots = try triples.map { triple in
        let object = try other.existingObject(with: triple.row)
        hold([object])
        var snapshot = try object.snapshot(including: Self.lists)
        for (index, key) in Self.keys.enumerated() where triple.mine.values[index] != triple.base.values[index] {
          let number = triple.mine.values[index]
          try snapshot.setValue(key == "one" ? number == 0 ? nil : triple.peers[number - 1] : value(Self.slot(index, number)), forKey: key)
        }
        for (number, key) in Self.lists.enumerated() where triple.mine.lists[number] != triple.base.lists[number] {
          try snapshot.setValue(triple.mine.lists[number].map { triple.member($0, of: number) }, forKey: key)
        }
        return snapshot
      }
      for triple in triples { try set(triple.theirs, over: triple.base, of: triple, in: other) }
      try other.save()
      for snapshot in snapshots { hold([try context.apply(snapshot)]) }
      // A snapshot has no values but those that were set, so that none overwrite others.
      let rules = policy.mergeType == .overwrite ? MergeRules(.mine) : rules
      func assertAllShown(in context: ManagedObjectContext, _ message: String) throws {
        for triple in triples {
          let isConflict = merged(triple.base, triple.mine, triple.theirs, rules).conflicts
          try assertShown(
            triple, in: context, rules, hasMembersOfTheirs: isConflict && policy.mergeType == .rollback, "\(policy), \(message)")
        }
      }
      try assertAllShown(in: context, "applied")
      try context.save()
      try assertAllShown(in: open.newContext(), "saved")
    }
  }
}

import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest
import _StoreSpecification

@testable import SQLCipherStore

/// Batch requests of every kind keep a compact set of the keys of their rows, and everything else for one chunk of rows at a time.
final class BatchKindTests: XCTestCase {
  private static let model = ManagedObjectModel {
    Entity("Node") {
      Attribute("label", .string).required()
      Attribute("number", .integer64)
      Attribute("code", .string)
      Attribute("ratio", .double)
      Attribute("data", .binary)
      Attribute("note", .string)
      Relationship("owner", to: "Owner", inverse: "nodes")
      Relationship("twin", to: "Node", inverse: "twin")
      Relationship("card", to: "Card", inverse: "node")
      Relationship("friends", toMany: "Node", inverse: "friends")
      Relationship("seals", toMany: "Seal", inverse: "node").onDelete(.deny)
      Unique("number")
      Unique("code", "ratio")
      Unique("data")
    }
    Entity("Owner") {
      Attribute("label", .string).required()
      Relationship("nodes", toMany: "Node", inverse: "owner")
      Relationship("cards", toMany: "Card", inverse: "owner").onDelete(.cascade)
    }
    Entity("Card") {
      Attribute("label", .string).required()
      Relationship("node", to: "Node", inverse: "card")
      Relationship("owner", to: "Owner", inverse: "cards")
    }
    Entity("Seal") {
      Attribute("label", .string).required()
      Relationship("node", to: "Node", inverse: "seals").required()
    }
  }

  private static let compiled = try? CompiledModel(model)

  /// Samples the size of the sets that a request keeps, and records its changes.
  private final class Sampler: TransactionObserver {
    let listsChanges: Bool
    private let state = Mutex((count: 0, peak: 0, changes: [String]()))
    init(listsChanges: Bool) { self.listsChanges = listsChanges }

    var peak: Int { state.withLock { $0.peak } }
    var count: Int { state.withLock { $0.count } }
    var changes: [String] { state.withLock { $0.changes } }

    func didChange(_ change: RowChange, in transaction: ObservedTransaction) {
      state.withLock { state in
        state.count += 1
        if listsChanges { state.changes.append(Self.text(change)) }
        if state.count % 1_000 == 1, let rows = ChosenRows.current { state.peak = max(state.peak, rows.byteCount) }
      }
    }
    private static func text(_ change: RowChange) -> String {
      func values(_ row: RowImage?, _ slots: SlotMask) -> String {
        guard let row else { return "?" }
        return "v\(row.version) " + slots.slots(below: row.slotCount).map { BatchKindTests.text(row, $0) }.joined(separator: ",")
      }
      switch change {
      case .insert(let row): return "+\(row.entityName)\(row.objectID.key)"
      case .update(let row):
        return "~\(row.entityName)\(row.objectID.key) \(row.changedProperties) \(values(row.old, row.slots)) \(values(row.new, row.slots))"
      case .delete(let row): return "-\(row.entityName)\(row.objectID.key)"
      case .links(let links): return "\(links.source.key): \(links.removedMembers.map(\.key).sorted())"
      case .order, .schema, .unspecified: return "other"
      }
    }
    func willCommit(_ transaction: ObservedTransaction) {}
    func didUndoChanges(in transaction: ObservedTransaction, keeping count: Int) {}
    func didCommit(_ transaction: ObservedTransaction) {}
    func didRollback(_ transaction: ObservedTransaction) {}
  }

  private static func text(_ row: RowImage, _ slot: Int) -> String {
    if row.isNull(slot) { return "nil" }
    guard let kind = compiled?.entities[row.entityNumber].slots[slot].kind else { return "" }
    if kind == .reference { return "\(row.reference(slot).key)" }
    return (try? "\(row.slot(slot, kind: kind))") ?? "unreadable"
  }

  private func open(_ store: TestStore, nodes: Int) throws -> (OpenStore, ManagedObjectContext) {
    let open = try store.open(try XCTUnwrap(Self.compiled))
    let context = open.newContext()
    var number = 0
    var request = BatchInsertRequest(entityName: "Owner", objects: (0..<20).map { ["label": "owner \($0)"] })
    request.resultType = .objectIDs
    let owners = try context.execute(request).objectIDs
    let insertion = BatchInsertRequest(entityName: "Node") { row in
      if number == nodes { return true }
      row["label"] = "n\(number)"
      row["number"] = number
      row["code"] = "c\(number / 3)"
      row["ratio"] = Double(number % 3)
      row["data"] = Data([UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8), UInt8(number >> 16)])
      if number % 5 > 0 { row["owner"] = owners[number % 20] }
      number += 1
      return false
    }
    XCTAssertEqual(try context.execute(insertion).count, nodes)
    return (open, context)
  }

  /// Pairs some nodes with each other and with cards, and befriends some.
  private func relate(_ context: ManagedObjectContext) throws {
    let nodes = try context.fetch(FetchRequest<ManagedObject>(entityName: "Node").sorted(by: "number"))
    let owners = try context.fetch(FetchRequest<ManagedObject>(entityName: "Owner").sorted(by: "label"))
    for (index, node) in nodes.enumerated() where index % 4 == 0 && index + 30 < nodes.count {
      try node.setValue(nodes[index + 30], forKey: "twin")
      let card = try context.insertObject(entityName: "Card")
      try card.setValue("card \(index)", forKey: "label")
      try card.setValue(node, forKey: "node")
      try card.setValue(owners[index % 20], forKey: "owner")
      try node.setValue(Set([nodes[(index * 7) % nodes.count], nodes[index + 1]]), forKey: "friends")
    }
    try context.save()
  }

  private func function(_ name: String, _ arguments: FetchExpression...) -> FetchExpression { .function(name, arguments) }

  // MARK: Memory

  func testEveryKindOfRequestKeepsAFractionOfAByteForARow() throws {
    let store = try TestStore()
    let count = 100_000
    let (open, context) = try open(store, nodes: count)
    let sampler = Sampler(listsChanges: false)
    try open.coordinator.addTransactionObserver(sampler)
    func check(_ name: String, _ body: () throws -> BatchResult) throws {
      let before = sampler.count
      let statements = try store.statements {
        XCTAssertGreaterThanOrEqual(try BatchTransaction.$chunkSize.withValue(10_000) { try body().count }, count * 3 / 4, name)
      }
      XCTAssertGreaterThan(sampler.count, before, name)
      let filling = statements.filter { $0.hasPrefix("INSERT") && $0.contains("temp.") }
      XCTAssertGreaterThan(filling.count, 7, "\(name): \(filling)")
      XCTAssertEqual(filling.filter { !$0.contains("LIMIT") && !$0.contains("BETWEEN") }, [], name)
    }
    func update(_ values: [String: (any Sendable)?], _ predicate: String? = nil) throws -> BatchResult {
      try context.execute(
        BatchUpdateRequest(
          entityName: "Node", predicate: try predicate.map { try FetchPredicate(format: $0) }, propertiesToUpdate: values))
    }
    try check("join") { try update(["note": "x"], "owner.label != 'x'") }
    try check("subquery") { try update(["note": "y"], "owner.nodes.@count > 3") }
    try check("unique") { try update(["number": function("add:to:", .keyPath("number"), .constant(.int(1)))]) }
    try check("pairs") { try update(["twin": nil, "card": nil]) }
    try check("all") {
      try update(
        [
          "number": function("from:subtract:", .constant(.int(7)), .keyPath("number")), "twin": nil,
          "note": FetchExpression.keyPath("owner.label"),
        ],
        "owner.label != 'x'")
    }
    try check("deletion") {
      try context.execute(BatchDeleteRequest(entityName: "Node", predicate: try FetchPredicate(format: "owner.label != 'x'")))
    }
    XCTAssertGreaterThan(sampler.peak, 0)
    XCTAssertLessThan(sampler.peak, count / 2)
    open.coordinator.removeTransactionObserver(sampler)
    try open.close()
  }

  // MARK: Results

  /// Runs requests in a new store, and returns their results, all changes, and all rows.
  private func run(_ chunk: Int, _ body: (ManagedObjectContext) throws -> BatchResult) throws -> [String] {
    let store = try TestStore()
    let (open, context) = try open(store, nodes: 150)
    try relate(context)
    var lines: [String] = []
    let sampler = Sampler(listsChanges: true)
    try open.coordinator.addTransactionObserver(
      sampler, options: TransactionObserverOptions(includesOldValues: true, includesNewValues: true))
    do {
      let result = try BatchTransaction.$chunkSize.withValue(chunk) { try body(open.newContext()) }
      lines.append("\(result.insertedCount) \(result.updatedCount) \(result.deletedCount)")
      lines += sampler.changes.sorted()
    } catch let error as BatchError { lines.append("\(error.code) \(error.key)") } catch let error as StoreError {
      lines.append("\(error.code) \(error.constraintConflicts.map(\.constraint).first ?? [])")
    }
    open.coordinator.removeTransactionObserver(sampler)
    for entity in ["Owner", "Node", "Card", "Seal"] {
      for row in try open.rows(FetchSpecification(entityName: entity)) {
        lines.append("\(entity) \(row.key) v\(row.version) \((0..<row.slotCount).map { Self.text(row, $0) })")
      }
    }
    let nodes = try open.newContext().fetch(FetchRequest<ManagedObject>(entityName: "Node").sorted(by: "label"))
    for node in nodes { lines.append("\(node.objectID.key): \(node.members("friends").map(\.objectID.key).sorted())") }
    try open.close()
    return lines
  }

  private func check(_ body: (ManagedObjectContext) throws -> BatchResult, fails isError: Bool = false, line: UInt = #line) throws {
    let whole = try run(1_000_000, body)
    XCTAssertEqual(whole[0].first?.isNumber, !isError, whole[0], line: line)
    for chunk in [1, 7, 40] {
      let divided = try run(chunk, body)
      if whole == divided { continue }
      let difference = divided.difference(from: whole)
      XCTFail("Chunks of \(chunk): \(difference.removals.prefix(4))\n\(difference.insertions.prefix(4))", line: line)
    }
  }

  private func update(_ values: [String: (any Sendable)?], _ predicate: String? = nil) -> (ManagedObjectContext) throws -> BatchResult {
    { context in
      try context.execute(
        BatchUpdateRequest(
          entityName: "Node", predicate: try predicate.map { try FetchPredicate(format: $0) }, propertiesToUpdate: values))
    }
  }

  func testUniqueValuesMoveBetweenRowsOfDifferentChunks() throws {
    try check(update(["number": function("add:to:", .keyPath("number"), .constant(.int(1)))]))
    try check(update(["number": function("from:subtract:", .constant(.int(149)), .keyPath("number"))]))
    try check(update(["ratio": function("from:subtract:", .constant(.int(2)), .keyPath("ratio"))]))
    try check(
      update(["code": function("uppercase:", .keyPath("code")), "ratio": function("from:subtract:", .constant(.int(2)), .keyPath("ratio"))])
    )
    try check(update(["number": nil, "code": "same", "ratio": FetchExpression.keyPath("number")]))
    try check(update(["data": nil]))
    try check(update(["number": function("from:subtract:", .constant(.int(29)), .keyPath("number"))], "number < 30"))
  }

  func testConflictsBetweenRowsOfDifferentChunks() throws {
    try check(update(["number": function("multiply:by:", .keyPath("ratio"), .constant(.int(1_000)))]), fails: true)
    try check(update(["number": function("add:to:", .keyPath("number"), .constant(.int(1)))], "number < 100"), fails: true)
    try check(update(["code": "same"]), fails: true)
    try check(update(["number": 5]), fails: true)
  }

  func testInversesOfOneToOneRelationships() throws {
    try check(update(["twin": nil]))
    try check(update(["twin": nil], "number < 60"))
    try check(update(["twin": nil, "card": nil, "note": "x"], "owner.label > 'owner 12'"))
    try check(update(["twin": nil, "number": function("add:to:", .keyPath("number"), .constant(.int(1)))]))
    try check(update(["card": nil, "note": FetchExpression.keyPath("card.label")]))
  }

  func testValuesOfRowsThatTheRequestChanges() throws {
    try check(update(["note": FetchExpression.keyPath("twin.note"), "label": FetchExpression.keyPath("twin.label")], "twin != nil"))
    try check(update(["note": FetchExpression.keyPath("twin.label"), "twin": nil], "twin != nil"))
    try check(update(["note": FetchExpression.keyPath("twin.label")]))
    try check(update(["owner": nil, "ratio": FetchExpression.keyPath("owner.nodes.@count"), "code": nil]))
  }

  func testDeletionsWithEveryDeleteRule() throws {
    try check { try $0.execute(BatchDeleteRequest(entityName: "Node")) }
    try check { try $0.execute(BatchDeleteRequest(entityName: "Node", predicate: try FetchPredicate(format: "twin.number > 50"))) }
    try check { try $0.execute(BatchDeleteRequest(entityName: "Owner", predicate: try FetchPredicate(format: "nodes.@count > 1"))) }
    try check { try $0.execute(BatchDeleteRequest(entityName: "Card", predicate: try FetchPredicate(format: "node.twin != nil"))) }
    func sealing(_ number: Int) -> (ManagedObjectContext) throws -> BatchResult {
      { context in
        let node = try XCTUnwrap(
          context.fetch(FetchRequest<ManagedObjectID>(entityName: "Node", predicate: .compare("number", .equal, number))).first)
        try context.execute(BatchInsertRequest(entityName: "Seal", objects: [["label": "seal", "node": node]]))
        return try context.execute(BatchDeleteRequest(entityName: "Node", predicate: .compare("number", .less, 100)))
      }
    }
    try check(sealing(93), fails: true)
    try check(sealing(120))
  }

  // MARK: Transactions

  func testARequestOfManyChunksInATransaction() throws {
    let store = try TestStore()
    let (open, context) = try open(store, nodes: 150)
    try BatchTransaction.$chunkSize.withValue(7) {
      try context.performTransaction {
        XCTAssertEqual(try self.update(["note": "x"], "owner != nil")(context).count, 120)
        XCTAssertEqual(try context.execute(BatchDeleteRequest(entityName: "Node", predicate: .compare("number", .less, 50))).count, 50)
      }
      XCTAssertEqual(try open.count("Node"), 100)
    }
    try open.close()
  }

  func testAFailureOfARequestOfManyChunksEndsTheTransaction() throws {
    let store = try TestStore()
    let (open, context) = try open(store, nodes: 150)
    let conflict = update(["number": function("multiply:by:", .keyPath("ratio"), .constant(.int(1_000)))])
    try BatchTransaction.$chunkSize.withValue(7) {
      XCTAssertThrowsError(
        try context.performTransaction {
          _ = try self.update(["note": "x"])(context)
          XCTAssertThrowsError(try conflict(context)) { XCTAssertEqual(($0 as? StoreError)?.code, .constraintConflict) }
          XCTAssertThrowsError(try self.update(["note": "y"])(context)) {
            XCTAssertEqual(($0 as? StoreError)?.code, .invalidRequest)
          }
        }
      ) { XCTAssertEqual(($0 as? StoreError)?.code, .invalidRequest) }
      XCTAssertEqual(try open.rows(FetchSpecification(entityName: "Node", predicate: try FetchPredicate(format: "note != nil"))).count, 0)
    }
    // A small request can fail on its own.
    try context.performTransaction {
      _ = try self.update(["note": "x"])(context)
      XCTAssertThrowsError(try conflict(context))
    }
    XCTAssertEqual(try open.rows(FetchSpecification(entityName: "Node", predicate: .compare("note", .equal, "x"))).count, 150)
    XCTAssertEqual(try open.count("Node"), 150)
    try open.close()
  }
}

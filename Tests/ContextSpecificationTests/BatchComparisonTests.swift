import Foundation
import ObjectContext
@_spi(Generated) import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// Runs random batch requests and saves, and logs the observable state.
private struct RandomBatches {
  /// Every delete rule, every kind of relationship, required values, defaults, inherited and compound constraints.
  static let model = ManagedObjectModel {
    Entity("Node") {
      Attribute("label", .string).required()
      Attribute("code", .string)
      Attribute("rank", .integer16).required().initially(5)
      Attribute("weight", .float)
      Attribute("price", .decimal)
      Attribute("note", .string).length(0...12)
      Relationship("parent", to: "Node", inverse: "children")
      Relationship("children", toMany: "Node", inverse: "parent").onDelete(.cascade)
      Relationship("partner", to: "Node", inverse: "partner")
      Relationship("friends", toMany: "Node", inverse: "friends")
      Relationship("items", toMany: "Item", inverse: "owner").ordered()
      Relationship("seals", toMany: "Seal", inverse: "node").onDelete(.deny)
      Relationship("marks", toMany: "Item")
      Unique("code")
    }
    Entity("Branch", parent: "Node") {
      Attribute("level", .integer32)
      Relationship("leads", toMany: "Item", inverse: "leader").onDelete(.cascade)
      Unique("level", "rank")
    }
    Entity("Item") {
      Attribute("label", .string).required()
      Attribute("code", .integer64)
      Attribute("flag", .boolean)
      Attribute("day", .date)
      Relationship("owner", to: "Node", inverse: "items")
      Relationship("leader", to: "Branch", inverse: "leads")
      Relationship("origin", to: "Item", inverse: "copies").onDelete(.nullify)
      Relationship("copies", toMany: "Item", inverse: "origin").onDelete(.noAction)
      Unique("code")
    }
    Entity("Seal") {
      Attribute("label", .string).required()
      Relationship("node", to: "Node", inverse: "seals").required()
    }
  }

  let open: OpenStore
  let context: ManagedObjectContext
  var generator: SeededGenerator
  var count = 0
  var log: [String] = []
  /// Has loaded the members of all objects, and merges all changes automatically.
  let reader: ManagedObjectContext
  private var held: [ObjectReference: ManagedObject] = [:]
  /// Also merges all changes, and has loaded each node's item and seal counts, but not the objects.
  let counter: ManagedObjectContext
  private var counted: [ObjectReference: ManagedObject] = [:]
  /// Members that are wrong in the reader.
  private(set) var stale: [String] = []

  init(_ store: any StoreUnderTest, folder: URL, seed: UInt64, model: CompiledModel) throws {
    open = try OpenStore(store.storeDescription(in: folder), model: model)
    context = open.newContext()
    (reader, counter) = (open.newContext(), open.newContext())
    for context in [reader, counter] { context.automaticallyMergesChangesFromParent = true }
    generator = SeededGenerator(seed: seed)
  }

  mutating func random(_ count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }

  mutating func run(steps: Int) throws {
    for step in 0..<steps {
      do {
        log.append("\(step): \(try self.step())")
      } catch let error as BatchError {
        log.append("\(step): \(error.code) \(error.entityName).\(error.key) \(error.row ?? -1) \(error.objectIDs.count)")
      } catch let error as StoreError {
        log.append("\(step): \(error.code)")
      }
      for context in [reader, counter] { context.processPendingChanges() }
      log.append(try state())
    }
    try open.close()
  }

  private mutating func step() throws -> String {
    switch random(10) {
    case 0...3: return try insert()
    case 4...6: return try update()
    case 7...8: return try delete()
    default: return try save()
    }
  }

  private mutating func label() -> String {
    count += 1
    return "l\(count)"
  }

  /// The ID of a random object of an entity, the same one with every store.
  private mutating func some(_ entity: String) throws -> ManagedObjectID? {
    let ids = try context.fetch(FetchRequest<ManagedObjectID>(entityName: entity).sorted(by: "label"))
    let number = random(1_000)
    return ids.isEmpty ? nil : ids[number % ids.count]
  }

  // MARK: Requests

  private mutating func insert() throws -> String {
    let entity = ["Node", "Branch", "Item", "Item", "Seal"][random(5)]
    var rows: [[String: Any]] = []
    for _ in 0..<(1 + random(6)) {
      var row: [String: Any] = ["label": label()]
      if random(40) == 0 { row["label"] = nil }
      switch entity {
      case "Item":
        if random(3) > 0 { row["code"] = random(12) }
        if random(2) == 0 { row["flag"] = random(2) == 0 }
        if random(3) == 0 { row["day"] = Date(timeIntervalSinceReferenceDate: Double(random(100))) }
        if random(2) == 0, let owner = try some("Node") { row["owner"] = owner }
        if random(4) == 0, let origin = try some("Item") { row["origin"] = origin }
        if random(4) == 0, let leader = try some("Branch") { row["leader"] = leader }
      case "Seal":
        if random(8) > 0, let node = try some("Node") { row["node"] = node }
      default:
        if random(2) == 0 { row["code"] = "c\(random(8))" }
        if random(2) == 0 { row["rank"] = random(6) }
        if random(3) == 0 { row["weight"] = Double(random(10)) / 3 }
        if random(3) == 0 { row["note"] = String(repeating: "x", count: random(14)) }
        if random(2) == 0, let parent = try some("Node") { row["parent"] = parent }
        if entity == "Branch", random(2) == 0 { row["level"] = random(4) }
      }
      rows.append(row)
    }
    let policies: [BatchConflictPolicy] = [.error, .ignore, .replace, .update(), .update(only: [entity == "Seal" ? "label" : "code"])]
    let policy = policies[random(policies.count)]
    var request = BatchInsertRequest(entityName: entity, objects: rows, onConflict: policy)
    request.resultType = .objectIDs
    let result = try context.execute(request)
    return "insert \(entity) \(policy) \(result.insertedCount) \(result.updatedCount)"
  }

  private mutating func condition(_ entity: String) throws -> FetchPredicate? {
    switch random(7) {
    case 0: return random(3) == 0 ? nil : .compare("label", .endsWith, "\(random(10))")
    case 1:
      return try FetchPredicate(format: entity == "Item" ? "owner.rank > %@" : "label BEGINSWITH %@", entity == "Item" ? random(6) : "l1")
    case 2: return try some(entity).map { .comparison(FetchComparison(left: .evaluatedObject, op: .equal, right: .constant(.object($0)))) }
    case 3 where entity != "Seal": return try FetchPredicate(format: "code == nil")
    case 4 where entity == "Node": return try FetchPredicate(format: "children.@count > 0 AND rank < 4")
    case 5 where entity == "Item": return try FetchPredicate(format: "ANY copies.code > 3 OR flag == TRUE")
    default: return try FetchPredicate(format: "label IN %@", (0..<4).map { _ in "l\(1 + random(max(count, 1)))" })
    }
  }

  private mutating func update() throws -> String {
    let entity = ["Node", "Branch", "Item", "Item"][random(4)]
    let predicate = try condition(entity)
    var values: [String: (any Sendable)?] = [:]
    func function(_ name: String, _ arguments: FetchExpression...) -> FetchExpression { .function(name, arguments) }
    if entity == "Item" {
      switch random(8) {
      case 0: values["code"] = function("add:to:", .keyPath("code"), .constant(.int(1)))
      case 1: values["code"] = .some(random(3) == 0 ? nil : random(12))
      case 2: values["flag"] = .some(random(3) == 0 ? nil : true)
      case 3: values["owner"] = .some(try random(3) == 0 ? nil : some("Node"))
      case 4: values["leader"] = .some(try random(3) == 0 ? nil : some("Branch"))
      case 5: values["code"] = function("add:to:", .keyPath("owner.rank"), .keyPath("origin.code"))
      case 6: values["day"] = function("add:to:", .keyPath("day"), .constant(.int(60)))
      default: values["label"] = function("uppercase:", .keyPath("label"))
      }
    } else {
      switch random(9) {
      case 0: values["rank"] = function("multiply:by:", .keyPath("rank"), .constant(.int(Int64(random(40)))))
      case 1: values["weight"] = function("divide:by:", .keyPath("rank"), .constant(.real(3)))
      case 2: values["note"] = FetchExpression.keyPath("parent.label")
      case 3: values["code"] = .some(random(2) == 0 ? nil : "c\(random(8))")
      case 4: values["parent"] = .some(nil)
      case 5: values["partner"] = .some(nil)
      case 6: values["price"] = FetchExpression.keyPath("weight")
      case 7: values["rank"] = FetchExpression.keyPath("items.@count")
      default: values["code"] = FetchExpression.keyPath("label")
      }
      if random(3) == 0 { values["note"] = .some("n\(random(3))") }
    }
    var request = BatchUpdateRequest(entityName: entity, predicate: predicate, propertiesToUpdate: values)
    request.includesSubentities = random(4) > 0
    let result = try context.execute(request)
    return "update \(entity) \(values.keys.sorted()) \(result.count)"
  }

  private mutating func delete() throws -> String {
    let entity = ["Node", "Branch", "Item", "Seal"][random(4)]
    if random(4) == 0 {
      let ids = try (0..<3).compactMap { _ in try some(entity) }
      return "delete \(try context.execute(BatchDeleteRequest(objectIDs: ids)).deletedCount)"
    }
    var fetch = FetchRequest<ManagedObjectID>(entityName: entity, predicate: try condition(entity)).sorted(
      by: "label", ascending: random(2) == 0)
    fetch.fetchLimit = 1 + random(4)
    fetch.fetchOffset = random(2)
    let result = try context.execute(BatchDeleteRequest(fetchRequest: fetch))
    return "delete \(entity) \(result.deletedCount) \(result.updatedCount)"
  }

  /// Changes relationships that batch requests cannot set.
  private mutating func save() throws -> String {
    guard let first = try some("Node"), let second = try some("Node"), let item = try some("Item") else { return "nothing" }
    let (node, other) = (try context.existingObject(with: first), try context.existingObject(with: second))
    let thing = try context.existingObject(with: item)
    switch random(4) {
    case 0: try node.setValue(node === other ? [] : [other], forKey: "friends")
    case 1 where node !== other: try node.setValue(other, forKey: "partner")
    case 2: try node.setValue(Array(node.list("items").reversed()) + (node.list("items").contains(thing) ? [] : [thing]), forKey: "items")
    default: try node.setValue(Set([thing]), forKey: "marks")
    }
    do { try context.save() } catch {
      context.rollback()
      return "not saved"
    }
    return "saved"
  }

  // MARK: Observable state

  /// Every row with its version and values, and every to-many relationship.
  private mutating func state() throws -> String {
    var labels: [ObjectReference: String] = [:]
    var rows: [RowImage] = []
    for entity in ["Node", "Item", "Seal"] {
      for row in try open.rows(FetchSpecification(entityName: entity)) {
        rows.append(row)
        if case .text(let label) = try open.value(row, "label") { labels[row.reference] = label }
      }
    }
    var lines: [String] = []
    for row in rows {
      let entity = open.model.entities[row.entityNumber]
      var line = "\(entity.name) v\(row.version)"
      for slot in entity.slots {
        let value = try row.slot(slot.index, kind: slot.kind)
        if slot.kind == .reference, case .int(let word) = value {
          line += " \(slot.name)=\(labels[ObjectReference(rawValue: word)] ?? "gone")"
        } else {
          line += " \(slot.name)=\(value)"
        }
      }
      let id = ManagedObjectID(space: open.scope.objectIDSpace.number, entityNumber: UInt32(row.entityNumber), key: row.key)
      let object = try held[row.reference] ?? reader.existingObject(with: id)
      held[row.reference] = object
      if entity.property(named: "items") != nil, counted[row.reference] == nil {
        counted[row.reference] = try counter.existingObject(with: id)
      }
      for relationship in entity.toManyRelationships {
        let references = try open.members(id, relationship.name)
        let known = relationship.isOrdered ? object.list(relationship.name) : Array(object.members(relationship.name))
        let (there, here) = (references.filter { labels[$0] != nil }, known.map(\.objectID.reference))
        if relationship.isOrdered ? there != here : Set(there) != Set(here) {
          stale.append("\(log.last ?? ""): \(entity.name).\(relationship.name)")
        }
        if let node = counted[row.reference], node.toManyCount(relationship.index) != there.count {
          stale.append("\(log.last ?? ""): count of \(entity.name).\(relationship.name)")
        }
        let members = references.map { labels[$0] ?? "gone" }
        if !members.isEmpty { line += " \(relationship.name)=\(relationship.isOrdered ? members : members.sorted())" }
      }
      lines.append(line)
    }
    return lines.sorted().joined(separator: "\n")
  }
}

/// The same random batch requests have the same results with every built-in store after each step, also in a context that merges them.
final class BatchComparisonTests: XCTestCase {
  func testRandomBatchRequestsHaveTheSameOutcomeOverEveryStore() throws {
    let model = try CompiledModel(RandomBatches.model)
    // The last store divides requests into chunks of one or two rows.
    let stores: [any StoreUnderTest] = [
      InMemoryStoreUnderTest(), SQLCipherStoreUnderTest(), SQLCipherStoreUnderTest(checksForeignKeys: true), SQLCipherStoreUnderTest(),
    ]
    for seed in UInt64(1)...12 {
      var logs: [[String]] = []
      for (position, store) in stores.enumerated() {
        let folder = try TemporaryFolder("BatchComparison")
        var work = try RandomBatches(store, folder: folder.url, seed: seed, model: model)
        let chunk = position == 3 ? 1 + Int(seed % 2) : BatchTransaction.chunkSize
        try BatchTransaction.$chunkSize.withValue(chunk) { try work.run(steps: 60) }
        logs.append(work.log)
        XCTAssertEqual(work.stale, [], "Seed \(seed), \(store.name)")
      }
      for (position, log) in logs.enumerated().dropFirst() {
        guard let first = zip(logs[0], log).enumerated().first(where: { $1.0 != $1.1 }) else {
          XCTAssertEqual(log.count, logs[0].count)
          continue
        }
        let number = first.offset
        XCTFail(
          "Seed \(seed), \(stores[position].name), entry \(number) after \(logs[0][max(0, number - 1)]):\n\(first.element.0)\n--\n\(first.element.1)"
        )
        return
      }
      let outcomes = Set(logs[0].filter { $0.first?.isNumber ?? false }.map { $0.split(separator: " ")[1] })
      XCTAssertTrue(outcomes.isSuperset(of: ["insert", "update", "delete"]), "\(outcomes)")
    }
  }
}

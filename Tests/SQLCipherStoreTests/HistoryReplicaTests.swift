import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// A copy of a store that applies nothing but its history, at the level of values, has the same objects, members and orders.
final class HistoryReplicaTests: XCTestCase {
  // MARK: The store

  /// Books with tags in an order, chapters in an order, an author, and recommended books without an inverse. Versions differ in what
  /// migrations change.
  private static func model(version: Int) throws -> CompiledModel {
    let isOdd = !version.isMultiple(of: 2)
    return try CompiledModel(
      ManagedObjectModel(version: "\(version)") {
        Entity("Author") {
          Attribute("name", .string)
          Relationship("books", toMany: "Book", inverse: "author")
        }
        Entity("Book") {
          Attribute("title", .string)
          if isOdd {
            Attribute("year", .double)
            Attribute("state", .string).required().initially("new")
            Attribute("pages", .integer64).required().initially(1)
          } else {
            Attribute("year", .integer64)
            Attribute("note", .string).initially("none")
            Attribute("pages", .integer64)
          }
          Relationship("author", to: "Author", inverse: "books")
          Relationship("tags", toMany: "Tag", inverse: "books").ordered()
          Relationship("chapters", toMany: "Chapter", inverse: "book").ordered().onDelete(.cascade)
          Relationship("related", toMany: "Book")
        }
        Entity("Tag") {
          Attribute("name", .string)
          Relationship("books", toMany: "Book", inverse: "tags")
        }
        Entity("Chapter") {
          Attribute("title", .string)
          Relationship("book", to: "Book", inverse: "chapters")
        }
        if isOdd { Entity("Log") { Attribute("line", .string) } }
      })
  }

  private func open(_ store: TestStore, version: Int) throws -> OpenStore {
    var description = store.description
    description.historyTracking = true
    description.historyLevel = .values
    return try OpenStore(description, model: Self.model(version: version))
  }

  private func write(in context: ManagedObjectContext, hasLog: Bool, _ random: inout SeededGenerator) throws {
    func pick(_ entity: String) throws -> ManagedObject? { try context.all(entity).randomElement(using: &random) }
    func some(_ entity: String, _ maximum: Int = 4) throws -> [ManagedObject] {
      Array(try context.all(entity).shuffled(using: &random).prefix(Int.random(in: 0...maximum, using: &random)))
    }
    switch Int.random(in: 0...11, using: &random) {
    case 0:
      try context.execute(
        BatchUpdateRequest(
          entityName: "Book", predicate: .compare("pages", .less, Int.random(in: 0...50, using: &random)),
          propertiesToUpdate: ["pages": Int64.random(in: 1...90, using: &random)]))
    case 1:
      try context.execute(
        BatchDeleteRequest(objectIDs: try some(["Author", "Tag", "Book"].randomElement(using: &random) ?? "Tag", 2).map(\.objectID)))
    case 2:
      try context.execute(
        BatchInsertRequest(
          entityName: "Book", objects: (0..<2).map { _ in ["pages": Int64.random(in: 1...90, using: &random), "title": "batch"] }))
    default:
      for _ in 0..<Int.random(in: 1...5, using: &random) {
        switch Int.random(in: 0...11, using: &random) {
        case 0: try context.insert("Author", ["name": "\(random.next())"])
        case 1:
          try context.insert(
            "Book", ["title": "\(random.next())", "pages": Int64.random(in: 1...90, using: &random), "author": try pick("Author")])
        case 2: try context.insert("Tag", ["name": "\(random.next())"])
        case 3: if let book = try pick("Book") { try book.setValue(try pick("Author"), forKey: "author") }
        case 4: if let book = try pick("Book") { try book.setValue(try some("Tag", 8), forKey: "tags") }
        case 5:
          if let object = try pick(["Book", "Author", "Tag", "Chapter"].randomElement(using: &random) ?? "Tag") { context.delete(object) }
        case 6: if let book = try pick("Book") { try context.insert("Chapter", ["title": "\(random.next())", "book": book]) }
        case 7:
          if let book = try pick("Book") {
            for name in ["chapters", "tags"] {
              try book.setValue(book.list(name).shuffled(using: &random) as [ManagedObject], forKey: name)
            }
          }
        case 8:
          // One member moves, or another one is inserted.
          if let book = try pick("Book") {
            var tags = book.list("tags")
            let tag = try pick("Tag")
            tags.removeAll { $0 == tag }
            if let tag { tags.insert(tag, at: Int.random(in: 0...tags.count, using: &random)) }
            try book.setValue(tags, forKey: "tags")
          }
        case 9: if let book = try pick("Book") { try book.setValue(Set(try some("Book")), forKey: "related") }
        case 10:
          if let book = try pick("Book") {
            try book.setValue(book.list("tags").filter { _ in Bool.random(using: &random) } as [ManagedObject], forKey: "tags")
          }
        default:
          if let book = try pick("Book") { try book.setValue(Bool.random(using: &random) ? nil : "\(random.next())", forKey: "title") }
        }
      }
      if hasLog { try context.insert("Log", ["line": "one"]) }
      try context.save()
    }
  }

  /// Keeps the store small, so that a long run compares many states instead of large ones.
  private func thin(_ open: OpenStore, _ random: inout SeededGenerator) throws {
    let context = open.newContext()
    for entity in ["Author", "Book", "Tag", "Chapter"] {
      let all = try context.all(entity)
      guard all.count > 25 else { continue }
      for object in all where Int.random(in: 0...2, using: &random) > 0 && object.managedObjectContext != nil && !object.isDeleted {
        context.delete(object)
      }
    }
    try context.save()
  }

  private func contents(of open: OpenStore) throws -> [String: [String: String]] {
    let context = open.newContext()
    var result: [String: [String: String]] = [:]
    for entity in open.model.entities {
      for object in try context.all(entity.name) {
        var values: [String: String] = [:]
        for slot in entity.slots {
          guard let value = object[slot.name] else { continue }
          values[slot.name] = (value as? ManagedObject).map { Replica.name($0.objectID) } ?? "\(value)"
        }
        for relationship in entity.toManyRelationships {
          let ids = relationship.isOrdered ? object.list(relationship.name) : Array(object.members(relationship.name))
          let names = ids.map { Replica.name($0.objectID) }
          if !names.isEmpty { values[relationship.name] = (relationship.isOrdered ? names : names.sorted()).joined(separator: " ") }
        }
        result[Replica.name(object.objectID)] = values
      }
    }
    return result
  }

  /// `CIPHERDATA_HISTORY_STEPS` sets the number of steps; 20,000 steps have passed.
  func testReplicaThatAppliesTheHistoryEqualsTheStore() throws {
    let steps = ProcessInfo.processInfo.environment["CIPHERDATA_HISTORY_STEPS"].flatMap(Int.init) ?? 1_000
    var random = SeededGenerator(seed: 11)
    let store = try TestStore()
    var (version, open) = (0, try open(store, version: 0))
    var replica = Replica()
    for step in 0..<steps {
      if step % 50 == 49 {
        try open.close()
        version += 1
        open = try self.open(store, version: version)
        replica.adopt(open)
      }
      try write(in: open.newContext(), hasLog: !version.isMultiple(of: 2), &random)
      try thin(open, &random)
      if step % 3 > 0 { continue }
      for transaction in try open.coordinator.execute(.fetchHistory(after: replica.token)).transactions {
        replica.apply(transaction, open.model)
      }
      let (found, expected) = (replica.contents(open.model), try contents(of: open))
      for name in Set(found.keys).union(expected.keys).sorted() where found[name] != expected[name] {
        XCTFail("step \(step), \(name): \(found[name] ?? [:]) instead of \(expected[name] ?? [:])")
      }
      if found != expected { return }
    }
    XCTAssertEqual(version, steps / 50)
  }
}

/// The objects of a store, from its history alone.
private struct Replica {
  typealias Values = PersistentHistoryChange.Values

  private var objects: [ManagedObjectID: [String: String]] = [:]
  /// The links of relationships without a to-one side, by the relationship that records them.
  private var links: [String: Set<[ManagedObjectID]>] = [:]
  private var orders: [[String]: [ManagedObjectID]] = [:]
  private(set) var token: PersistentHistoryToken?

  static func name(_ id: ManagedObjectID) -> String { "\(id.entityName)/\(id.key)" }

  private static func text(_ value: (any Sendable)?) -> String? {
    value.map { value in (value as? ManagedObjectID).map(name) ?? "\(value)" }
  }

  /// Replaces all IDs by those of the store under its newer model.
  mutating func adopt(_ open: OpenStore) {
    func present(_ id: ManagedObjectID) -> ManagedObjectID {
      guard let entity = open.model.entity(named: id.entityName) else { return id }
      return ManagedObjectID(space: open.persistentStore.space.number, entityNumber: UInt32(entity.number), key: id.key)
    }
    objects = Dictionary(objects.map { (present($0.key), $0.value) }, uniquingKeysWith: { one, _ in one })
    links = links.mapValues { Set($0.map { $0.map(present) }) }
    orders = orders.mapValues { $0.map(present) }
  }

  mutating func apply(_ transaction: PersistentHistoryTransaction, _ model: CompiledModel) {
    XCTAssertFalse(transaction.isWhole)
    token = transaction.token
    for change in transaction.schemaChanges { apply(change, model) }
    for change in transaction.changes ?? [] { apply(change) }
    for (name, list) in links {
      let left = list.filter { !$0.allSatisfy { objects[$0] != nil } }.map { $0.map(Self.name) }
      XCTAssertEqual(left, [], "links of deleted objects remain in \(name) after transaction \(transaction.transactionNumber)")
    }
  }

  private mutating func apply(_ change: PersistentHistoryTransaction.SchemaChange, _ model: CompiledModel) {
    let ids = objects.keys.filter { $0.entityName == change.entityName }
    guard let property = change.propertyName else {
      XCTAssertEqual(change.kind, .objectsRemoved)
      for id in ids { objects[id] = nil }
      return
    }
    for id in ids {
      switch change.kind {
      case .filled: objects[id]?[property] = Self.text(change.value)
      case .completed: if objects[id]?[property] == nil { objects[id]?[property] = Self.text(change.value) }
      case .propertyRemoved: objects[id]?[property] = nil
      case .converted:
        let entity = model.entity(named: change.entityName)
        guard case .attribute(let slot)? = entity?.property(named: property), let text = objects[id]?[property] else { continue }
        objects[id]?[property] = slot.attributeType == .double ? "\(Double(text) ?? .nan)" : "\(Int64(Double(text) ?? 0))"
      case .objectsRemoved, .computed, .moved, .rewritten: XCTFail("\(change)")
      }
    }
  }

  private mutating func apply(_ change: PersistentHistoryChange) {
    let id = change.changedObjectID
    switch change.changeType {
    case .insert:
      objects[id] = values(change.newValues)
    case .delete:
      objects[id] = nil
      orders = orders.filter { $0.key[0] != Self.name(id) }
    case .update:
      XCTAssertNotNil(objects[id], "\(change)")
      for name in change.newValues?.values.keys.sorted() ?? [] { objects[id]?[name] = Self.text(change.newValues?[name]) }
      for link in change.links {
        let pair = [id, link.destination]
        let name = "\(id.entityName).\(link.relationship)"
        if link.isAdded { links[name, default: []].insert(pair) } else { links[name]?.remove(pair) }
      }
      for name in change.orders.keys {
        let key = [Self.name(id), name]
        orders[key] = change.order(orders[key] ?? [], of: name)
      }
    }
  }

  private func values(_ values: Values?) -> [String: String] {
    var result: [String: String] = [:]
    for name in values?.names ?? [] { result[name] = Self.text(values?[name]) }
    return result
  }

  /// All objects with their members, as ``HistoryReplicaTests`` reads them from the store.
  func contents(_ model: CompiledModel) -> [String: [String: String]] {
    var members: [[String]: [ManagedObjectID]] = [:]
    func add(_ owner: ManagedObjectID, _ name: String, _ member: ManagedObjectID) {
      members[[Self.name(owner), name], default: []].append(member)
    }
    let ids = Dictionary(objects.keys.map { (Self.name($0), $0) }, uniquingKeysWith: { one, _ in one })
    for (id, values) in objects {
      guard let entity = model.entity(named: id.entityName) else { continue }
      for slot in entity.slots {
        guard let relationship = slot.relationship, let inverse = model.inverse(of: relationship), let value = values[slot.name] else {
          continue
        }
        if let owner = ids[value] { add(owner, inverse.name, id) }
      }
    }
    for (name, pairs) in links {
      let parts = name.split(separator: ".").map(String.init)
      guard case .toMany(let relationship)? = model.entity(named: parts[0])?.property(named: parts[1]) else { continue }
      for pair in pairs {
        add(pair[0], relationship.name, pair[1])
        if let inverse = model.inverse(of: relationship) { add(pair[1], inverse.name, pair[0]) }
      }
    }
    var result: [String: [String: String]] = [:]
    for (id, values) in objects {
      var line = values
      for relationship in model.entity(named: id.entityName)?.toManyRelationships ?? [] {
        let key = [Self.name(id), relationship.name]
        var names = Set((members[key] ?? []).map(Self.name))
        if relationship.isOrdered {
          let order = (orders[key] ?? []).map(Self.name).filter { names.remove($0) != nil }
          XCTAssertEqual(names, [], "members without a position in \(key)")
          if !order.isEmpty { line[relationship.name] = order.joined(separator: " ") }
        } else if !names.isEmpty {
          line[relationship.name] = names.sorted().joined(separator: " ")
        }
      }
      result[Self.name(id)] = line
    }
    return result
  }
}

import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// A copy of a store that applies nothing but its history at the level of values, or nothing but what a transaction observer sees, has the
/// same objects, members and orders.
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

  private static func descriptionWithHistory(_ store: TestStore) -> PersistentStoreDescription {
    var description = store.description
    description.historyTracking = true
    description.historyLevel = .values
    return description
  }

  /// A custom stage to a version, whose handlers change objects of the older and of the newer model.
  private static func stage(to version: Int) throws -> StagedMigrationManager {
    var stage = CustomMigrationStage(
      migratingFrom: ManagedObjectModelReference(try model(version: version - 1).model),
      to: ManagedObjectModelReference(try model(version: version).model)
    ) { migration in
      let context = migration.destination
      for book in try context.all("Book").prefix(3) { try book.setValue("stage \(version)", forKey: "title") }
      let tag = try context.insert("Tag", ["name": "stage"])
      try context.insert("Book", ["title": "made by stage \(version)", "tags": [tag] as [ManagedObject]])
      if let book = try context.all("Book").first { try book.setValue(Array(book.list("tags").reversed()), forKey: "tags") }
    }
    stage.willMigrateHandler = { context in
      if let author = try context.all("Author").first { context.delete(author) }
      if let book = try context.all("Book").last { try book.setValue(Int64(17), forKey: "pages") }
      if let book = try context.all("Book").first { try book.setValue(Set(try context.all("Book").prefix(2)), forKey: "related") }
    }
    return StagedMigrationManager([stage])
  }

  private func write(in context: ManagedObjectContext, hasLog: Bool, _ random: inout SeededGenerator) throws {
    func pick(_ entity: String) throws -> ManagedObject? { try context.all(entity).randomElement(using: &random) }
    func some(_ entity: String, _ maximum: Int = 4) throws -> [ManagedObject] {
      Array(try context.all(entity).shuffled(using: &random).prefix(Int.random(in: 0...maximum, using: &random)))
    }
    switch Int.random(in: 0...12, using: &random) {
    case 12:
      struct Stop: Error {}
      // The second of three saves is undone.
      try context.performTransaction {
        try context.insert("Tag", ["name": "kept"])
        try context.save()
        try? context.performTransaction {
          if let book = try pick("Book") { try book.setValue(try some("Tag"), forKey: "tags") }
          try context.insert("Tag", ["name": "undone"])
          try context.save()
          throw Stop()
        }
        context.rollback()
        if let book = try pick("Book") { try book.setValue("transaction", forKey: "title") }
        try context.save()
      }
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

  /// Writes batch requests over more rows than change sets list.
  private func writeLargeBatches(in context: ManagedObjectContext, _ random: inout SeededGenerator) throws {
    let count = PublishedChanges.maximumLinkedCount + 1
    let author = try context.all("Author").randomElement(using: &random)
    try context.execute(
      BatchInsertRequest(entityName: "Book", objects: (0..<count).map { ["pages": Int64(1_000 + $0), "title": "large"] }))
    if let author {
      try context.execute(
        BatchUpdateRequest(
          entityName: "Book", predicate: .compare("pages", .greater, Int64(1_000)), propertiesToUpdate: ["author": author.objectID]))
    }
    try context.execute(BatchDeleteRequest(entityName: "Book", predicate: .compare("pages", .greaterOrEqual, Int64(1_000))))
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

  /// `Scripts/test-replicas` sets the number of steps to 20,000.
  private static var steps: Int { ProcessInfo.processInfo.environment["CIPHERDATA_HISTORY_STEPS"].flatMap(Int.init) ?? 1_000 }

  func testReplicaThatAppliesTheHistoryEqualsTheStore() throws {
    let store = try TestStore()
    var replica = HistoryReplica()
    try run(seed: 11, Self.descriptionWithHistory(store), migrates: true) { open in
      for transaction in try open.coordinator.execute(.fetchHistory(after: replica.token)).transactions {
        replica.apply(transaction, open.model)
      }
      return replica.replica
    } adopt: {
      replica.replica.adopt(space: $0.persistentStore.space.number, $0.model)
    }
  }

  /// With a history, so that both consumers take the same changes, and without one.
  func testReplicaThatAppliesObservedChangesEqualsTheStore() throws {
    for (seed, hasHistory) in [(UInt64(12), false), (13, true)] {
      let store = try TestStore()
      let observer = ReplicaObserver()
      try run(
        seed: seed, hasHistory ? Self.descriptionWithHistory(store) : store.description, migrates: true, observer,
        replica: { _ in observer.replica })
    }
  }

  func testReplicaOfAnInMemoryStoreThatAppliesObservedChangesEqualsIt() throws {
    let observer = ReplicaObserver()
    try run(seed: 14, PersistentStoreDescription(type: .inMemory), migrates: false, observer, replica: { _ in observer.replica })
  }

  /// Writes to a store in random steps, and compares it with a replica.
  ///
  /// - Parameters:
  ///   - migrates: Whether the store is migrated every 50 steps.
  ///   - replica: Returns the replica with all changes so far.
  ///   - adopt: Called after a migration.
  private func run(
    seed: UInt64, _ description: PersistentStoreDescription, migrates: Bool, _ observer: ReplicaObserver? = nil,
    replica: (OpenStore) throws -> Replica, adopt: (OpenStore) -> Void = { _ in }
  ) throws {
    func open(_ description: PersistentStoreDescription, version: Int) throws -> OpenStore {
      try OpenStore(description, model: Self.model(version: version)) { coordinator in
        let options = TransactionObserverOptions(includesNewValues: true)
        guard let observer else { return }
        observer.model = coordinator.compiledModel
        try coordinator.addTransactionObserver(observer, options: options)
      }
    }
    var random = SeededGenerator(seed: seed)
    var (version, store) = (0, try open(description, version: 0))
    for step in 0..<Self.steps {
      if migrates, step % 50 == 49 {
        try store.close()
        version += 1
        var description = description
        if version % 3 == 2 { description.stagedMigrationManager = try Self.stage(to: version) }
        store = try open(description, version: version)
        adopt(store)
      }
      try write(in: store.newContext(), hasLog: !version.isMultiple(of: 2), &random)
      if step % 500 == 250 { try writeLargeBatches(in: store.newContext(), &random) }
      try thin(store, &random)
      if step % 3 > 0 { continue }
      let (found, expected) = (try replica(store).contents(store.model), try contents(of: store))
      for name in Set(found.keys).union(expected.keys).sorted() where found[name] != expected[name] {
        XCTFail("seed \(seed), step \(step), \(name): \(found[name] ?? [:]) instead of \(expected[name] ?? [:])")
      }
      if found != expected { return }
    }
    XCTAssertEqual(version, migrates ? Self.steps / 50 : 0)
  }
}

/// The objects of a store, from what is reported of them.
private struct Replica {
  private(set) var objects: [ManagedObjectID: [String: String]] = [:]
  /// The links of relationships without a to-one side, by the relationship that records them.
  private var links: [String: Set<[ManagedObjectID]>] = [:]
  private var orders: [[String]: [ManagedObjectID]] = [:]
  /// The ID space of the objects.
  private(set) var space: UInt32?

  static func name(_ id: ManagedObjectID) -> String { "\(id.entityName)/\(id.key)" }

  static func text(_ value: (any Sendable)?) -> String? {
    value.map { value in (value as? ManagedObjectID).map(name) ?? "\(value)" }
  }

  /// Replaces all IDs by those of the store under its newer model.
  mutating func adopt(space: UInt32, _ model: CompiledModel) {
    func present(_ id: ManagedObjectID) -> ManagedObjectID {
      guard let entity = model.entity(named: id.entityName) else { return id }
      return ManagedObjectID(space: space, entityNumber: UInt32(entity.number), key: id.key)
    }
    objects = Dictionary(objects.map { (present($0.key), $0.value) }, uniquingKeysWith: { one, _ in one })
    links = links.mapValues { Set($0.map { $0.map(present) }) }
    orders = orders.mapValues { $0.map(present) }
    self.space = space
  }

  // MARK: Changes

  mutating func insert(_ id: ManagedObjectID, _ values: [String: String]) { objects[id] = values }

  mutating func update(_ id: ManagedObjectID, _ name: String, _ value: String?) {
    XCTAssertNotNil(objects[id], "\(id)")
    objects[id]?[name] = value
  }

  mutating func delete(_ id: ManagedObjectID) {
    objects[id] = nil
    orders = orders.filter { $0.key[0] != Self.name(id) }
  }

  mutating func link(_ relationship: String, _ source: ManagedObjectID, _ member: ManagedObjectID, isAdded: Bool) {
    let name = "\(source.entityName).\(relationship)"
    if isAdded { links[name, default: []].insert([source, member]) } else { links[name]?.remove([source, member]) }
  }

  mutating func order(_ relationship: String, _ source: ManagedObjectID, _ change: ([ManagedObjectID]) -> [ManagedObjectID]?) {
    let key = [Self.name(source), relationship]
    orders[key] = change(orders[key] ?? [])
  }

  func checkLinks(after transaction: String) {
    for (name, list) in links {
      let left = list.filter { !$0.allSatisfy { objects[$0] != nil } }.map { $0.map(Self.name) }
      XCTAssertEqual(left, [], "links of deleted objects remain in \(name) after transaction \(transaction)")
    }
  }

  mutating func apply(_ change: PersistentHistoryTransaction.SchemaChange, _ model: CompiledModel) {
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

/// A replica from the history alone.
private struct HistoryReplica {
  var replica = Replica()
  private(set) var token: PersistentHistoryToken?

  mutating func apply(_ transaction: PersistentHistoryTransaction, _ model: CompiledModel) {
    XCTAssertFalse(transaction.isWhole)
    token = transaction.token
    for change in transaction.schemaChanges { replica.apply(change, model) }
    for change in transaction.changes ?? [] { apply(change) }
    replica.checkLinks(after: "\(transaction.transactionNumber)")
  }

  private mutating func apply(_ change: PersistentHistoryChange) {
    let id = change.changedObjectID
    switch change.changeType {
    case .insert:
      var values: [String: String] = [:]
      for name in change.newValues?.names ?? [] { values[name] = Replica.text(change.newValues?[name]) }
      replica.insert(id, values)
    case .delete: replica.delete(id)
    case .update:
      for name in change.newValues?.values.keys.sorted() ?? [] { replica.update(id, name, Replica.text(change.newValues?[name])) }
    }
    for link in change.links { replica.link(link.relationship, id, link.destination, isAdded: link.isAdded) }
    for name in change.orders.keys { replica.order(name, id) { change.order($0, of: name) } }
  }
}

/// A replica from what an observer sees.
private final class ReplicaObserver: TransactionObserver {
  private let state = Mutex<(pending: [RowChange], replica: Replica, model: CompiledModel?)>(([], Replica(), nil))
  var replica: Replica { state.withLock { $0.replica } }
  /// The model of the coordinator.
  var model: CompiledModel? {
    get { state.withLock { $0.model } }
    set { state.withLock { $0.model = newValue } }
  }

  func didChange(_ change: RowChange, in transaction: ObservedTransaction) { state.withLock { $0.pending.append(change) } }
  func willCommit(_ transaction: ObservedTransaction) throws {}
  func didUndoChanges(in transaction: ObservedTransaction, keeping count: Int) {
    state.withLock { $0.pending.removeSubrange(count...) }
  }
  func didRollback(_ transaction: ObservedTransaction) { state.withLock { $0.pending = [] } }

  func didCommit(_ transaction: ObservedTransaction) {
    state.withLock { state in
      for change in state.pending { Self.apply(change, to: &state.replica, state.model) }
      state.replica.checkLinks(after: "\(transaction.id)")
      state.pending = []
    }
  }

  private static func apply(_ change: RowChange, to replica: inout Replica, _ model: CompiledModel?) {
    guard let model else { return XCTFail("no model") }
    // The objects of a migration have the IDs of the newer model.
    func adopt(_ id: ManagedObjectID) { if replica.space != id.space { replica.adopt(space: id.space, model) } }
    switch change {
    case .insert(let row):
      adopt(row.objectID)
      var values: [String: String] = [:]
      for name in row.newValues?.names ?? [] { values[name] = Replica.text(row.newValues?[name]) }
      replica.insert(row.objectID, values)
    case .update(let row):
      adopt(row.objectID)
      for name in row.changedProperties { replica.update(row.objectID, name, Replica.text(row.newValues?[name])) }
    case .delete(let row):
      adopt(row.objectID)
      replica.delete(row.objectID)
    case .links(let links):
      adopt(links.objectID)
      for member in links.removed { replica.link(links.relationshipName, links.objectID, member, isAdded: false) }
      for member in links.added { replica.link(links.relationshipName, links.objectID, member, isAdded: true) }
    case .order(let order):
      adopt(order.objectID)
      replica.order(order.relationshipName, order.objectID) { _ in order.members }
    case .schema(let schema): replica.apply(schema, model)
    case .unspecified: XCTFail("unspecified")
    }
  }
}

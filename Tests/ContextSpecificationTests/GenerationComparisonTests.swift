import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

/// Random saves and batch requests on a graph that is also recorded in memory, and contexts pinned in between.
private struct PinnedContexts {
  static let model = ManagedObjectModel {
    Entity("Node") {
      Attribute("label", .string).required()
      Attribute("rank", .integer32)
      Relationship("parent", to: "Node", inverse: "children")
      Relationship("children", toMany: "Node", inverse: "parent")
      Relationship("friends", toMany: "Node", inverse: "friends")
      Relationship("items", toMany: "Item", inverse: "owner").ordered().onDelete(.cascade)
    }
    Entity("Branch", parent: "Node") { Attribute("level", .integer32) }
    Entity("Item") {
      Attribute("label", .string).required()
      Relationship("owner", to: "Node", inverse: "items")
    }
  }

  /// The recorded state of a node.
  struct Node: Equatable {
    var rank: Int64?
    var parent: String?
    var friends: Set<String> = []
    var items: [String] = []
  }

  /// A context, and the graph at the time when it was pinned.
  struct Pinned {
    let context: ManagedObjectContext
    let graph: [String: Node]
    /// Objects fetched when the context was pinned, with no values read yet.
    let held: [ManagedObject]
  }

  let open: OpenStore
  let writer: ManagedObjectContext
  var generator: SeededGenerator
  var graph: [String: Node] = [:]
  var pinned: [Pinned] = []
  var count = 0

  init(_ store: any StoreUnderTest, folder: URL, seed: UInt64, model: CompiledModel) throws {
    open = try OpenStore(store.storeDescription(in: folder), model: model)
    writer = open.newContext()
    generator = SeededGenerator(seed: seed)
  }

  mutating func random(_ count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }

  mutating func run(steps: Int) throws {
    for step in 0..<steps {
      try self.step()
      if random(3) == 0 { try pin() }
      if !pinned.isEmpty { try check(pinned[random(pinned.count)], step) }
      if step % 40 == 39 { for each in pinned { try check(each, step) } }
    }
    pinned = []
    XCTAssertEqual(open.persistentStore.queryGenerations, [])
    try open.close()
  }

  // MARK: Changes

  private mutating func step() throws {
    switch random(8) {
    case 0: try updateBatch()
    case 1: try deleteBatch()
    default: for _ in 0...random(4) { try change() }
    }
    try writer.save()
    if random(3) == 0 { writer.reset() }
  }

  private func object(_ label: String) throws -> ManagedObject {
    try XCTUnwrap(writer.fetch(FetchRequest<ManagedObject>(entityName: "Node", predicate: .compare("label", .equal, label))).first)
  }

  private mutating func some() -> String? {
    let labels = graph.keys.sorted()
    return labels.isEmpty ? nil : labels[random(labels.count)]
  }

  private mutating func change() throws {
    switch random(7) {
    case 0, 1: try insert()
    case 2:
      guard let label = some() else { return }
      let rank = Int64(random(100))
      try object(label).setValue(Int32(rank), forKey: "rank")
      graph[label]?.rank = rank
    case 3:
      guard let label = some(), let parent = some(), label != parent else { return }
      try object(label).setValue(object(parent), forKey: "parent")
      graph[label]?.parent = parent
    case 4:
      guard let one = some(), let other = some(), one != other else { return }
      let (first, second) = (try object(one), try object(other))
      var friends = first.members("friends")
      if friends.remove(second) == nil { friends.insert(second) }
      try first.setValue(friends, forKey: "friends")
      let isFriend = friends.contains(second)
      for (label, friend) in [(one, other), (other, one)] {
        if isFriend { graph[label]?.friends.insert(friend) } else { graph[label]?.friends.remove(friend) }
      }
    case 5:
      guard let label = some() else { return }
      let node = try object(label)
      count += 1
      let item = try writer.insert("Item", ["label": "i\(count)"])
      var items = node.list("items")
      items.insert(item, at: random(items.count + 1))
      try node.setValue(items, forKey: "items")
      graph[label]?.items = items.compactMap { $0.text("label") }
    default:
      guard graph.count > 8, let label = some() else { return }
      writer.delete(try object(label))
      try writer.save()
      forget(label)
    }
  }

  private mutating func insert() throws {
    count += 1
    let label = "n\(count)"
    try writer.insert(random(3) == 0 ? "Branch" : "Node", ["label": label])
    graph[label] = Node()
  }

  private mutating func forget(_ label: String) {
    graph[label] = nil
    for other in graph.keys {
      graph[other]?.friends.remove(label)
      if graph[other]?.parent == label { graph[other]?.parent = nil }
    }
  }

  private mutating func updateBatch() throws {
    let bound = Int64(random(60))
    try writer.execute(
      BatchUpdateRequest(
        entityName: "Node", predicate: .compare("rank", .greater, bound),
        propertiesToUpdate: ["rank": FetchExpression.function("add:to:", [.keyPath("rank"), .constant(.int(1))])]))
    for label in graph.keys { if let rank = graph[label]?.rank, rank > bound { graph[label]?.rank = rank + 1 } }
    writer.reset()
  }

  private mutating func deleteBatch() throws {
    guard graph.count > 12, let label = some() else { return }
    try writer.execute(
      BatchDeleteRequest(fetchRequest: FetchRequest<ManagedObject>(entityName: "Node", predicate: .compare("label", .equal, label))))
    forget(label)
    writer.reset()
  }

  // MARK: Pinned contexts

  private mutating func pin() throws {
    if pinned.count >= 10 { pinned.remove(at: random(pinned.count)) }
    let context = open.newContext()
    if let known = pinned.last, random(4) == 0 {
      try context.setQueryGeneration(from: known.context.queryGenerationToken)
      pinned.append(Pinned(context: context, graph: known.graph, held: []))
      return
    }
    try context.setQueryGeneration(from: .current)
    var request = FetchRequest<ManagedObject>(entityName: "Node")
    request.includesPropertyValues = random(2) == 0
    let held = try context.fetch(request)
    pinned.append(Pinned(context: context, graph: graph, held: random(2) == 0 ? held : []))
  }

  private mutating func check(_ pinned: Pinned, _ step: Int) throws {
    let context = pinned.context
    XCTAssertEqual(try context.count(for: FetchRequest<ManagedObject>(entityName: "Node")), pinned.graph.count, "\(step)")
    if random(3) == 0 { for object in pinned.held { context.refresh(object, mergeChanges: false) } }
    var request = FetchRequest<ManagedObject>(entityName: "Node")
    request.fetchBatchSize = random(2) * 5
    if random(3) == 0 { request.relationshipKeyPathsForPrefetching = ["friends", "items"] }
    let bound = Int64(random(80))
    let greater = FetchRequest<ManagedObject>(entityName: "Node", predicate: .compare("rank", .greater, bound))
    XCTAssertEqual(try context.count(for: greater), pinned.graph.values.count { ($0.rank ?? -1) > bound }, "\(step)")
    var found: [String: Node] = [:]
    for object in try context.fetch(request) {
      guard let label = object.text("label") else { return XCTFail("\(step): a node without a label") }
      found[label] = Node(
        rank: (object["rank"] as? Int32).map(Int64.init), parent: object.object("parent")?.text("label"),
        friends: Set(object.members("friends").compactMap { $0.text("label") }), items: object.list("items").compactMap { $0.text("label") }
      )
    }
    XCTAssertEqual(found, pinned.graph, "\(step)")
    XCTAssertNil(context.pendingError, "\(step)")
  }
}

/// Contexts pinned at random points keep seeing the graph of that time, with every built-in store.
final class GenerationComparisonTests: XCTestCase {
  func testPinnedContextsReadTheOriginalGraph() throws {
    let model = try CompiledModel(PinnedContexts.model)
    for store in [InMemoryStoreUnderTest(), SQLCipherStoreUnderTest()] as [any StoreUnderTest] {
      for seed in 1...3 {
        let folder = try TemporaryFolder("GenerationComparison")
        var contexts = try PinnedContexts(store, folder: folder.url, seed: UInt64(seed), model: model)
        try contexts.run(steps: 160)
      }
    }
  }
}

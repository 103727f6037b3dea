import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

/// The expected graph: values by name.
private struct NaiveGraph: Equatable {
  struct Node: Equatable {
    var value: Int64 = 0
    var parent: String?
    var tags: Set<String> = []
    var partner: String?
  }
  var nodes: [String: Node] = [:]
  /// The children of nodes in their known order, which is the order of attaching.
  var order: [String: [String]] = [:]

  mutating func setParent(_ parent: String?, of child: String) {
    guard let old = nodes[child]?.parent, old == parent else {
      if let old = nodes[child]?.parent { order[old]?.removeAll { $0 == child } }
      nodes[child]?.parent = parent
      if let parent { order[parent, default: []].append(child) }
      return
    }
  }

  mutating func setPartner(_ partner: String?, of name: String) {
    if let old = nodes[name]?.partner { nodes[old]?.partner = nil }
    if let partner, let other = nodes[partner]?.partner { nodes[other]?.partner = nil }
    nodes[name]?.partner = partner
    if let partner { nodes[partner]?.partner = name }
  }

  mutating func setTag(_ tag: String, of name: String, isOn: Bool) {
    if isOn {
      nodes[name]?.tags.insert(tag)
      nodes[tag]?.tags.insert(name)
    } else {
      nodes[name]?.tags.remove(tag)
      nodes[tag]?.tags.remove(name)
    }
  }

  /// Deletion cascades to children.
  mutating func delete(_ name: String) {
    var waiting = [name]
    while let next = waiting.popLast() {
      guard let node = nodes[next] else { continue }
      waiting.append(contentsOf: nodes.filter { $0.value.parent == next }.map(\.key))
      setParent(nil, of: next)
      setPartner(nil, of: next)
      for tag in node.tags { setTag(tag, of: next, isOn: false) }
      nodes[next] = nil
      order[next] = nil
    }
  }
}

/// Random operations on a graph, compared with a trivial model.
final class RandomGraphTests: XCTestCase {
  private let model = ManagedObjectModel {
    Entity("Node") {
      Attribute("name", .string).required()
      Attribute("value", .integer64)
      Relationship("parent", to: "Node", inverse: "children")
      Relationship("children", toMany: "Node", inverse: "parent").ordered().onDelete(.cascade)
      Relationship("tags", toMany: "Node", inverse: "tags")
      Relationship("partner", to: "Node", inverse: "partner")
    }
    Entity("Leaf", parent: "Node") { Attribute("colour", .string) }
  }

  /// Returns the graph that a context shows, after checking that every relationship has its inverse and every row one object.
  private func read(_ context: ManagedObjectContext, _ place: String) throws -> NaiveGraph {
    var graph = NaiveGraph()
    let objects = try context.objects("Node")
    XCTAssertEqual(Set(objects).count, objects.count, place)
    XCTAssertEqual(Set(objects.map(\.objectID)).count, objects.count, place)
    XCTAssertEqual(try context.count(for: FetchRequest<ManagedObject>(entityName: "Node")), objects.count, place)
    for object in objects {
      XCTAssertTrue(context.object(with: object.objectID) === object, place)
      let name = try XCTUnwrap(object.text("name"), place)
      var node = NaiveGraph.Node(value: object["value"] as? Int64 ?? 0)
      node.parent = object.one("parent")?.text("name")
      node.partner = object.one("partner")?.text("name")
      node.tags = Set(object.many("tags").compactMap { $0.text("name") })
      graph.nodes[name] = node
      let children = object.list("children")
      if !children.isEmpty { graph.order[name] = children.compactMap { $0.text("name") } }
      XCTAssertEqual(object.toManyCount(0), children.count, "children of \(name) \(place)")
      if let parent = object.one("parent") { XCTAssertTrue(parent.list("children").contains(object), "parent of \(name) \(place)") }
      for child in children { XCTAssertTrue(child.one("parent") === object, "child of \(name) \(place)") }
      for tag in object.many("tags") { XCTAssertTrue(tag.many("tags").contains(object), "tag of \(name) \(place)") }
      if let partner = object.one("partner") { XCTAssertTrue(partner.one("partner") === object, "partner of \(name) \(place)") }
    }
    return graph
  }

  private func normal(_ graph: NaiveGraph) -> NaiveGraph {
    var graph = graph
    graph.order = graph.order.filter { !$0.value.isEmpty }
    return graph
  }

  /// Reports the differences between two graphs.
  private func isEqual(_ found: NaiveGraph, _ expected: NaiveGraph, _ place: String) -> Bool {
    let (found, expected) = (normal(found), normal(expected))
    if found == expected { return true }
    for name in Set(found.nodes.keys).union(expected.nodes.keys).sorted() {
      if found.nodes[name] != expected.nodes[name] {
        XCTFail(
          "\(name): \(found.nodes[name].map { "\($0)" } ?? "none"), not \(expected.nodes[name].map { "\($0)" } ?? "none") at \(place)")
      }
      if found.order[name] != expected.order[name] {
        XCTFail("children of \(name): \(found.order[name] ?? []), not \(expected.order[name] ?? []) at \(place)")
      }
    }
    return false
  }

  private func run(_ stack: Stack, seed: UInt64, steps: Int) throws {
    var random = SeededGenerator(seed: seed)
    var context = stack.makeShortLivedContext()
    var (pending, saved) = (NaiveGraph(), NaiveGraph())
    var nextName = 0
    var held: [ManagedObject] = []
    var history: [String] = []
    for step in 0..<steps {
      let place = "\(stack.kind) seed \(seed) step \(step)"
      let names = pending.nodes.keys.sorted()
      func object(_ name: String) throws -> ManagedObject { try context.named(name, "Node") }
      func some() -> String? { names.randomElement(using: &random) }
      let choice = Int.random(in: 0..<100, using: &random)
      switch choice {
      case 0..<22:
        let name = "n\(nextName)"
        nextName += 1
        let made = try context.make(Bool.random(using: &random) ? "Node" : "Leaf", ["name": name])
        if Bool.random(using: &random) { held.append(made) }
        pending.nodes[name] = NaiveGraph.Node()
      case 22..<32:
        guard let name = some() else { continue }
        let value = Int64.random(in: 0..<5, using: &random)
        try object(name).setValue(value, forKey: "value")
        pending.nodes[name]?.value = value
      case 32..<48:
        guard let name = some() else { continue }
        let parent = Int.random(in: 0..<5, using: &random) == 0 ? nil : some()
        history.append("parent \(name) \(parent ?? "nil")")
        try object(name).setValue(try parent.map(object), forKey: "parent")
        pending.setParent(parent, of: name)
      case 48..<54:
        guard let name = some(), let child = some() else { continue }
        let members = try object(name).mutableOrderedSetValue(forKey: "children")
        history.append("child \(name) \(child)")
        if Bool.random(using: &random) {
          members.add(try object(child))
          pending.setParent(name, of: child)
        } else {
          let position = min(Int.random(in: 0..<3, using: &random), members.count)
          members.insert(try object(child), at: position)
          pending.setParent(name, of: child)
          var order = (pending.order[name] ?? []).filter { $0 != child }
          order.insert(child, at: min(position, order.count))
          pending.order[name] = order
        }
      case 54..<58:
        guard let name = some(), let child = some() else { continue }
        history.append("unchild \(name) \(child)")
        try object(name).mutableOrderedSetValue(forKey: "children").remove(try object(child))
        if pending.nodes[child]?.parent == name { pending.setParent(nil, of: child) }
      case 58..<70:
        guard let name = some(), let tag = some() else { continue }
        let isOn = Int.random(in: 0..<3, using: &random) > 0
        let members = try object(name).mutableSetValue(forKey: "tags")
        if isOn { members.add(try object(tag)) } else { members.remove(try object(tag)) }
        pending.setTag(tag, of: name, isOn: isOn)
      case 70..<76:
        guard let name = some() else { continue }
        let partner = Int.random(in: 0..<4, using: &random) == 0 ? nil : some()
        try object(name).setValue(try partner.map(object), forKey: "partner")
        pending.setPartner(partner, of: name)
      case 76..<81:
        guard let name = some() else { continue }
        context.delete(try object(name))
        context.processPendingChanges()
        pending.delete(name)
      case 81..<87:
        try context.save()
        saved = pending
      case 87..<89:
        context.rollback()
        pending = saved
      case 89..<92:
        guard let name = some() else { continue }
        context.refresh(try object(name), mergeChanges: true)
      case 92..<93: context.refreshAllObjects()
      case 93..<94:
        try context.obtainPermanentIDs(for: Array(context.insertedObjects))
      case 94..<95:
        context.reset()
        pending = saved
        held = []
      case 95..<96: stack.forgetRows()
      case 96..<97:
        context = stack.makeShortLivedContext()
        pending = saved
        held = []
      default: held = []
      }
      if step % 7 == 0 {
        let other = stack.makeShortLivedContext()
        guard isEqual(try read(context, place), pending, place), isEqual(try read(other, "stored \(place)"), saved, "stored \(place)")
        else { return XCTFail("what was done last: \(history.suffix(40).joined(separator: ", "))") }
      }
    }
    try context.save()
    let other = stack.makeShortLivedContext()
    XCTAssertTrue(isEqual(try read(other, "at the end"), pending, "\(stack.kind) at the end of seed \(seed)"))
    XCTAssertFalse(context.hasChanges)
  }

  func testRandomOperationsMatchTheReferenceModel() async throws {
    for seed in 1...20 as ClosedRange<UInt64> {
      try await onEachStore(model: model, classes: ManagedObjectClasses()) { stack in try run(stack, seed: seed, steps: 250) }
    }
  }
}

import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

/// Makes random changes in two contexts that do not merge each other's changes before they save.
final class RandomChanges {
  static let seeds: ClosedRange<UInt64> = 1...4
  static let stepCount = 50

  /// Relationships of every kind, between entities and their subentities.
  static let model: CompiledModel = {
    var children = RelationshipDescription(name: "children", destination: "Node", inverse: "parent", isToMany: true, isOrdered: true)
    children.deleteRule = .cascade
    var count = AttributeDescription(name: "childCount", type: .integer64, isOptional: true)
    count.derivationExpression = "children.@count"
    var upper = AttributeDescription(name: "upper", type: .string, isOptional: true)
    upper.derivationExpression = "uppercase:(name)"
    var total = AttributeDescription(name: "total", type: .integer64, isOptional: true)
    total.derivationExpression = "marked.score.@sum"
    return SpecificationModels.compile([
      SpecificationModels.entity(
        "Node",
        [
          SpecificationModels.text("name"), SpecificationModels.integer("score"), .attribute(count), .attribute(upper),
          .relationship(children), SpecificationModels.toOne("parent", "Node", "children"),
          SpecificationModels.toMany("friends", "Node", "friends"), SpecificationModels.toMany("related", "Node"),
          SpecificationModels.toMany("seq", "Node", "inSeq", ordered: true),
          SpecificationModels.toMany("inSeq", "Node", "seq", ordered: true), SpecificationModels.toMany("zeds", "Zed"),
          SpecificationModels.toMany("marks", "Zed", "marked"), SpecificationModels.toOne("mate", "Node", "mate"),
        ]),
      SpecificationModels.entity("Leaf", [SpecificationModels.text("color")], parent: "Node"),
      SpecificationModels.entity("Stem", [], parent: "Node"),
      SpecificationModels.entity(
        "Zed",
        [
          SpecificationModels.text("name"), .attribute(total), SpecificationModels.toMany("marked", "Node", "marks"),
          SpecificationModels.toMany("roots", "Node"),
        ]),
      SpecificationModels.entity("Yod", [], parent: "Zed"),
    ])
  }()

  struct Rejection: Error {}

  private let open: OpenStore
  private let contexts: [ManagedObjectContext]
  private let runsBatches: Bool
  private var random: SeededGenerator
  private var number = 0
  private var log: [String] = []
  private(set) var saveCount = 0

  init(_ open: OpenStore, seed: UInt64, runsBatches: Bool) {
    self.open = open
    self.runsBatches = runsBatches
    random = SeededGenerator(seed: seed)
    contexts = (0..<2).map { _ in open.newContext() }
    for context in contexts {
      context.automaticallyMergesChangesFromParent = false
      context.mergePolicy = .overwrite
    }
  }

  /// Makes some changes, and saves one of the contexts or rolls it back.
  ///
  /// - Parameter reject: Called with whether the following transactions are to be rejected.
  /// - Returns: A description of the changes.
  func run(_ reject: (Bool) -> Void) -> String {
    log = []
    let context = contexts[random.next(below: 2)]
    do {
      for _ in 0...random.next(below: 4) { try change(context) }
      if random.next(below: 5) == 0, context.hasChanges {
        reject(true)
        defer { reject(false) }
        do { try context.save() } catch is Rejection { log.append("rejected") }
      }
      if random.next(below: 3) > 0 {
        try context.save()
        saveCount += 1
        log.append("saved \(context === contexts[0])")
      }
      if random.next(below: 6) == 0 { context.reset() }
    } catch {
      log.append("failed: \(error)")
      context.rollback()
      context.reset()
    }
    return log.joined(separator: ", ")
  }

  private func any(_ entity: String, _ context: ManagedObjectContext) throws -> ManagedObject? {
    try context.all(entity).sorted { ($0.objectID.key, $0.objectID.entityNumber) < ($1.objectID.key, $1.objectID.entityNumber) }
      .randomElement(using: &random)
  }

  private func toggle(_ object: ManagedObject, _ key: String, _ member: ManagedObject) throws {
    var members = object.members(key)
    if members.remove(member) == nil { members.insert(member) }
    try object.setValue(members, forKey: key)
    log.append("\(object.objectID.entityName) \(object.objectID.key).\(key) \(member.objectID.entityName) \(member.objectID.key)")
  }

  private func isAncestor(_ node: ManagedObject, of other: ManagedObject) -> Bool {
    var current: ManagedObject? = other
    var depth = 0
    while let known = current, depth < 100 {
      if known === node { return true }
      current = known.object("parent")
      depth += 1
    }
    return depth == 100
  }

  private func change(_ context: ManagedObjectContext) throws {
    number += 1
    let (node, other, zed) = (try any("Node", context), try any("Node", context), try any("Zed", context))
    switch random.next(below: 20) {
    case 0...3:
      let new = try context.insert(["Node", "Leaf", "Stem"][random.next(below: 3)], ["name": "n\(number)", "score": number])
      log.append("new \(new.objectID.entityName)")
      if let node { try new.setValue(node, forKey: "parent") }
      guard let other else { break }
      try toggle(new, "friends", other)
      try toggle(other, "related", new)
      try new.setValue([other], forKey: "seq")
    case 4:
      let new = try context.insert(["Zed", "Yod"][random.next(below: 2)], ["name": "z\(number)"])
      if let node { try toggle(new, "marked", node) }
      if let other { try toggle(new, "roots", other) }
    case 5:
      try node?.setValue("x\(number)", forKey: "name")
      try node?.setValue(number, forKey: "score")
      log.append("update")
    case 6: if let node, let other { try toggle(node, "friends", other) }
    case 7: if let node, let other { try toggle(node, "related", other) }
    case 8: if let node, let zed { try toggle(node, "marks", zed) }
    case 9: if let node, let zed { try toggle(node, "zeds", zed) }
    case 10: if let node, let zed { try toggle(zed, "roots", node) }
    case 11:
      try node?.setValue(number % 4 == 0 ? nil : other, forKey: "mate")
      log.append("mate")
    case 12, 13:
      guard let node, let other else { break }
      var members = node.list("seq")
      if let position = members.firstIndex(of: other) { members.remove(at: position) } else { members.insert(other, at: 0) }
      try node.setValue(members.shuffled(using: &random), forKey: "seq")
      log.append("seq of \(node.objectID.key)")
    case 14:
      guard let node else { break }
      let key = ["children", "inSeq"][random.next(below: 2)]
      try node.setValue(node.list(key).shuffled(using: &random), forKey: key)
      log.append("\(key) of \(node.objectID.key)")
    case 15:
      guard let node, let other, !isAncestor(node, of: other) else { break }
      try node.setValue(other, forKey: "parent")
      log.append("parent of \(node.objectID.key)")
    case 16, 17:
      guard let object = random.next(below: 4) == 0 ? zed : node else { break }
      context.delete(object)
      log.append("delete \(object.objectID.entityName) \(object.objectID.key)")
    case 18: try runBatch(context, node, zed)
    default: try runTransaction(context)
    }
  }

  private func runBatch(_ context: ManagedObjectContext, _ node: ManagedObject?, _ zed: ManagedObject?) throws {
    guard runsBatches, let node, !node.objectID.isTemporaryID else { return }
    log.append("batch on \(node.objectID.key)")
    try context.save()
    switch random.next(below: 4) {
    case 0: _ = try context.execute(BatchDeleteRequest(objectIDs: [node.objectID]))
    case 1:
      _ = try context.execute(
        BatchInsertRequest(entityName: "Leaf", objects: [["name": "l\(number)", "parent": node.objectID], ["name": "k\(number)"]]))
    case 2:
      _ = try context.execute(
        BatchUpdateRequest(entityName: "Node", predicate: .compare("score", .greater, number - 10), propertiesToUpdate: ["score": 1]))
    default:
      if let zed, !zed.objectID.isTemporaryID { _ = try context.execute(BatchDeleteRequest(objectIDs: [zed.objectID, node.objectID])) }
    }
  }

  private func runTransaction(_ context: ManagedObjectContext) throws {
    log.append("transaction")
    try context.save()
    let fails = random.next(below: 3) == 0
    do {
      try context.performTransaction {
        try context.insert("Node", ["name": "t\(number)"])
        try context.save()
        do {
          try context.performTransaction {
            try context.insert("Stem", ["name": "u\(number)"])
            try any("Node", context)?.setValue("inner", forKey: "name")
            try context.save()
            if number % 2 == 0 { throw Rejection() }
          }
        } catch is Rejection {}
        try any("Node", context)?.setValue("outer\(number)", forKey: "name")
        try context.save()
        if fails { throw Rejection() }
      }
    } catch is Rejection {}
  }
}

extension SeededGenerator {
  fileprivate mutating func next(below bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }
}

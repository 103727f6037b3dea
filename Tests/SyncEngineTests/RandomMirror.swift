import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SyncCore
import XCTest
import _StoreSpecification
import _SyncSimulation
import _TestSupport

/// Stores with random saves and random synchronization.
final class RandomMirror {
  private var random: SeededGenerator
  let stores: [SyncedStore]
  private let checks = SyncChecks()
  /// The requests of each store that were not answered yet.
  private var requests: [[SyncClient.Action]]
  /// The last steps, for the message of a failure.
  private(set) var steps: [String] = []

  init(seed: UInt64, model: CompiledModel = MirrorModel.model) throws {
    var random = SeededGenerator(seed: seed)
    let scenario = Scenario(deviceCount: 0)
    var stores: [SyncedStore] = []
    for number in 0..<Int.random(in: 2...4, using: &random) {
      let hasObjects = Int.random(in: 0..<3, using: &random) == 0
      stores.append(
        try SyncedStore(scenario, UInt64(number + 1), model: model) { open in
          guard hasObjects else { return }
          let context = open.newContext()
          for _ in 0..<8 { try RandomEdit.edit(context, isFirst: number == 0, &random) }
          try? context.save()
        })
    }
    (self.stores, self.random) = (stores, random)
    requests = Array(repeating: [], count: stores.count)
    for number in stores.indices { try restart(number) }
  }

  private func chance(_ denominator: Int) -> Bool { Int.random(in: 0..<denominator, using: &random) == 0 }

  // MARK: Running

  /// - Parameter verifies: Whether to verify the files at the end.
  func run(stepCount: Int, verifies: Bool) throws {
    for _ in 0..<stepCount {
      let number = Int.random(in: 0..<stores.count, using: &random)
      try step(number)
      try checks.check(stores[number], number)
    }
    try becomeQuiet()
    try checks.checkEnd(stores)
    guard verifies else { return }
    for (number, store) in stores.enumerated() {
      let findings = try store.verify()
      if !findings.isEmpty { throw SyncViolation(description: "store \(number): \(findings)") }
    }
  }

  private func step(_ number: Int) throws {
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<7: try save(number)
    case 7..<9: try handle(.remoteChange, number, "remote change")
    case 9..<10: try handle(.save, number, "save noticed")
    case 10..<18: try answer(number)
    case 18: try restart(number)
    default:
      steps.append("\(number) synchronizes")
      requests[number] = []
      try restart(number)
      try stores[number].synchronize { try self.checks.check(self.stores[number], number) }
    }
  }

  private func handle(_ event: SyncClient.Event, _ number: Int, _ step: String) throws {
    steps.append("\(number) \(step)")
    requests[number] += try stores[number].handle(event)
  }

  /// Sends the oldest request, which may be lost before or after the hub has it.
  private func answer(_ number: Int) throws {
    if requests[number].isEmpty { return try handle(.remoteChange, number, "remote change") }
    let request = requests[number].removeFirst()
    let isLostBefore = chance(6)
    let answer = isLostBefore ? nil : try stores[number].answer(request)
    if let answer, !chance(6) { return try handle(answer, number, "answer") }
    let step = "message lost \(isLostBefore ? "before" : "after") the hub"
    switch request {
    case .pull: try handle(.pullFailed, number, step)
    case .push: try handle(.pushFailed, number, step)
    case .verify: try handle(.verificationFailed, number, step)
    }
  }

  private func restart(_ number: Int) throws {
    steps.append("\(number) restarts")
    requests[number] = []
    stores[number].limits.changesInCommit = Int.random(in: 1...12, using: &random)
    stores[number].limits.recordsInPage = Int.random(in: 1...12, using: &random)
    stores[number].limits.recordsInBatch = Int.random(in: 1...6, using: &random)
    try stores[number].reopenReplica()
  }

  private func becomeQuiet() throws {
    for _ in 0..<20 {
      for number in stores.indices {
        steps.append("\(number) synchronizes at the end")
        requests[number] = []
        stores[number].restart()
        try stores[number].synchronize { try self.checks.check(self.stores[number], number) }
      }
      let count = stores[0].scenario.commitCount
      for number in stores.indices { try stores[number].synchronize() }
      if stores[0].scenario.commitCount == count, try stores.allSatisfy({ try $0.isIdle }) { return }
    }
    throw SyncViolation(description: "the stores do not become quiet")
  }

  // MARK: Saves

  private func save(_ number: Int) throws {
    let open = stores[number].open
    switch Int.random(in: 0..<10, using: &random) {
    case 0..<6:
      steps.append("\(number) saves")
      try edit(open, number)
    case 6..<7:
      steps.append("\(number) saves in a context that merges")
      let context = stores[number].context
      context.undoManager = ContextUndoManager()
      defer { context.undoManager = nil }
      try edit(in: context, number)
      // Only the first store assigns covers, also when it undoes a deletion.
      if number > 0 || chance(2) { return }
      steps.append("\(number) undoes that")
      try context.undo()
      try context.save()
    case 7..<8:
      steps.append("\(number) saves several times in a transaction")
      try open.persistentStore.performTransaction {
        for _ in 0..<Int.random(in: 2...3, using: &random) { if chance(3) { try executeBatch(open) } else { try edit(open, number) } }
      }
    default:
      steps.append("\(number) executes a batch request")
      try executeBatch(open)
    }
  }

  private func edit(_ open: OpenStore, _ number: Int) throws { try edit(in: open.newContext(), number) }

  private func edit(in context: ManagedObjectContext, _ number: Int) throws {
    for _ in 0..<Int.random(in: 1...4, using: &random) { try RandomEdit.edit(context, isFirst: number == 0, &random) }
    do { try context.save() } catch {
      context.rollback()
      // A member of a relationship without an inverse was inserted and deleted.
      if (error as? StoreError)?.code != .invalidRequest { throw error }
    }
  }

  private func executeBatch(_ open: OpenStore) throws {
    let context = open.newContext()
    let limit = Int64.random(in: 0..<20, using: &random)
    switch Int.random(in: 0..<6, using: &random) {
    case 0..<3:
      let objects: [[String: any Sendable]] = (0..<Int.random(in: 1...5, using: &random)).map { _ in
        ["title": random.word(length: 1...4), "size": Int64.random(in: 0..<100, using: &random)]
      }
      try context.execute(BatchInsertRequest(entityName: "Folder", objects: objects))
    case 3:
      let predicate = try FetchPredicate(format: "size < \(limit * 2)")
      try context.execute(
        BatchUpdateRequest(entityName: "Folder", predicate: predicate, propertiesToUpdate: ["size": limit, "title": "batch \(limit)"]))
    case 4:
      try context.execute(
        BatchUpdateRequest(
          entityName: "Note", predicate: try FetchPredicate(format: "rating > \(limit)"),
          propertiesToUpdate: ["rating": Double(limit), "isRead": true, "data": nil]))
    default:
      let (entity, format) = chance(2) ? ("Note", "rating > \(limit * 4)") : ("Folder", "size > \(limit * 4 + 20)")
      try context.execute(BatchDeleteRequest(entityName: entity, predicate: try FetchPredicate(format: format)))
    }
  }
}

/// A random change in a context.
enum RandomEdit {
  /// - Parameter isFirst: Whether the store is the one that assigns covers: the same cover of two folders would be a conflict.
  static func edit(_ context: ManagedObjectContext, isFirst: Bool, _ random: inout SeededGenerator) throws {
    func objects(_ entity: String) throws -> [ManagedObject] {
      try context.all(entity).sorted { $0.objectID.uriRepresentation().absoluteString < $1.objectID.uriRepresentation().absoluteString }
    }
    let folders = try objects("Folder")
    if context.persistentStoreCoordinator.compiledModel.entity(named: "Tag") != nil, Int.random(in: 0..<3, using: &random) == 0 {
      return try editLinks(context, objects, &random)
    }
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<4:
      try context.insert(
        "Folder",
        [
          "title": random.word(length: 0...5), "size": Int64.random(in: 0..<100, using: &random),
          "parent": folders.randomElement(using: &random),
        ])
    case 4..<9:
      let folder = try folders.randomElement(using: &random) ?? context.insert("Folder", ["title": "first"])
      let note = try context.insert("Note", ["folder": folder])
      for _ in 0..<3 { try setAttribute(of: note, &random) }
    case 9..<10: try context.insert("Cover", ["color": random.word(length: 1...3)])
    case 10..<14:
      guard let object = try objects(["Note", "Folder"].randomElement(using: &random) ?? "Note").randomElement(using: &random) else {
        return
      }
      for _ in 0..<Int.random(in: 1...3, using: &random) { try setAttribute(of: object, &random) }
    case 14..<15:
      guard let note = try objects("Note").randomElement(using: &random), let folder = folders.randomElement(using: &random) else { return }
      try note.setValue(folder, forKey: "folder")
    case 15..<16:
      guard let folder = folders.randomElement(using: &random) else { return }
      try folder.setValue(Bool.random(using: &random) ? folders.randomElement(using: &random) : nil, forKey: "parent")
    case 16..<18:
      // Of folders with a cover, one is chosen more often.
      let covered = folders.filter { $0.object("cover") != nil }
      guard isFirst, let folder = (covered + folders).randomElement(using: &random) else { return }
      let cover: ManagedObject? =
        switch Int.random(in: 0..<3, using: &random) {
        case 0: nil
        case 1: try context.insert("Cover", ["color": random.word(length: 1...3)])
        default: try objects("Cover").randomElement(using: &random)
        }
      try folder.setValue(cover, forKey: "cover")
    default:
      guard
        let object = try objects(["Note", "Note", "Folder", "Cover"].randomElement(using: &random) ?? "Note").randomElement(using: &random)
      else { return }
      context.delete(object)
    }
  }

  /// Adds or removes a link.
  private static func editLinks(
    _ context: ManagedObjectContext, _ objects: (String) throws -> [ManagedObject], _ random: inout SeededGenerator
  ) throws {
    let (entity, name, members) =
      [
        ("Folder", "tags", "Tag"), ("Note", "tags", "Tag"), ("Tag", "items", "Note"), ("Folder", "friends", "Folder"),
        ("Folder", "pinned", "Note"),
      ].randomElement(using: &random) ?? ("Folder", "friends", "Folder")
    if Int.random(in: 0..<5, using: &random) == 0 { try context.insert("Tag", ["name": random.word(length: 1...3)]) }
    guard let object = try objects(entity).randomElement(using: &random) else { return }
    if case .toMany(let relationship)? = object.compiledEntity.property(named: name), relationship.isOrdered {
      return try editList(object, name, try objects(members), &random)
    }
    let linked = try XCTUnwrap(object[name] as? Set<ManagedObject>)
    if Bool.random(using: &random), let removed = try objects(members).filter(linked.contains).randomElement(using: &random) {
      try object.mutableSetValue(forKey: name).remove(removed)
    } else if let added = try objects(members).randomElement(using: &random) {
      try object.mutableSetValue(forKey: name).add(added)
    }
  }

  /// Adds, removes or moves members of an ordered relationship.
  private static func editList(
    _ object: ManagedObject, _ name: String, _ candidates: [ManagedObject], _ random: inout SeededGenerator
  ) throws {
    let members = try object.mutableOrderedSetValue(forKey: name)
    switch Int.random(in: 0..<5, using: &random) {
    case 0 where !members.isEmpty: members.remove(at: Int.random(in: 0..<members.count, using: &random))
    case 1..<3 where members.count > 1:
      var objects = members.objects
      let start = Int.random(in: 0..<objects.count, using: &random)
      let run = Array(objects[start..<min(objects.count, start + Int.random(in: 1...3, using: &random))])
      objects.removeAll { run.contains($0) }
      objects.insert(contentsOf: run, at: Int.random(in: 0...objects.count, using: &random))
      try object.setValue(objects, forKey: name)
    default:
      guard let added = candidates.filter({ !members.contains($0) }).randomElement(using: &random) else { return }
      members.insert(added, at: Int.random(in: 0...members.count, using: &random))
    }
  }

  private static func setAttribute(of object: ManagedObject, _ random: inout SeededGenerator) throws {
    let isNull = Int.random(in: 0..<5, using: &random) == 0
    let number = Int64.random(in: -3..<100, using: &random)
    func set(_ value: Any?, _ name: String) throws { try object.setValue(isNull ? nil : value, forKey: name) }
    if object.entity.name == "Folder" {
      switch Int.random(in: 0..<3, using: &random) {
      case 0: try set(random.word(length: 0...4), "title")
      case 1: try set(number == 0 ? Int64.min : number, "size")
      default: try set(Date(timeIntervalSinceReferenceDate: Double(number) / 7), "made")
      }
      return
    }
    switch Int.random(in: 0..<7, using: &random) {
    case 0: try set(["\u{e9}", "e\u{301}", "", "\0", "🧑‍🚀"].randomElement(using: &random) ?? "", "title")
    case 1: try set(random.word(length: 0...300), "text")
    case 2:
      try set(
        [Double(number), 0.0, -0.0, .infinity, -.infinity, Double.leastNonzeroMagnitude].randomElement(using: &random) ?? 0, "rating")
    case 3: try set(Data((0..<max(number, 0)).map { UInt8($0) }), "data")
    case 4: try set(Decimal(number) / 8, "price")
    case 5: try set(UUID(uuidString: "00000000-0000-4000-8000-0000000000\(10 + max(number, 0) % 90)"), "key")
    default: try set(number % 2 == 0, "isRead")
    }
  }
}

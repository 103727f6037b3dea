import CipherData
import Foundation
import _ProofStore
import _TestSupport

/// Performs random operations, and records them.
struct OperationActor {
  private let order: OperationOrder
  private let log: OperationLog
  private let container: PersistentContainer
  private var random: SeededGenerator
  private var lastValue: Int32
  /// A context that keeps its objects as they were when they were read, until a save fails.
  private let longContext: ManagedObjectContext

  init(_ order: OperationOrder, _ log: OperationLog, _ container: PersistentContainer) {
    (self.order, self.log, self.container) = (order, log, container)
    random = SeededGenerator(seed: order.seed)
    lastValue = Int32(order.process) * 1_000_000
    longContext = container.newBackgroundContext()
    longContext.retainsRegisteredObjects = true
  }

  /// The store lacks an object that it was created with.
  private struct MissingObject: Error {}

  /// An operation that is undone on purpose.
  private struct Abandoned: Error {}

  mutating func perform(_ number: Int) throws {
    var objects = order.keys(for: number).flatMap { [Target(entity: "List", key: $0), Target(entity: "Register", key: $0)] }
    objects.shuffle(using: &random)
    let context = container.newBackgroundContext()
    switch Int.random(in: 0..<100, using: &random) {
    case ..<30: try save(Array(objects.prefix(Int.random(in: 1...2, using: &random))), in: random.next() % 2 == 0 ? longContext : context)
    case ..<50: try saveFromSnapshot(Array(objects.prefix(3)), in: context)
    case ..<70: try saveInTransaction(Array(objects.prefix(Int.random(in: 1...3, using: &random))), in: context)
    case ..<80: if let register = objects.first(where: { !$0.isList }) { try exchange(register, in: context) }
    case ..<95: try read(Array(objects.prefix(4)), in: context)
    default: try readInTransaction(Array(objects.prefix(4)), in: context)
    }
  }

  // MARK: Objects

  private struct Target {
    var entity: String
    var key: Int
    var isList: Bool { entity == "List" }
  }

  private func object(_ target: Target, in context: ManagedObjectContext) throws -> ManagedObject {
    let request = FetchRequest<ManagedObject>(entityName: target.entity, predicate: .compare("key", .equal, Int64(target.key)))
    guard let object = try context.fetch(request).first else { throw MissingObject() }
    return object
  }

  private func read(_ object: ManagedObject, _ target: Target) -> RecordedOperation.Step {
    target.isList ? .readList(object.key, object.items) : .readRegister(object.key, object.number)
  }

  private mutating func write(_ object: ManagedObject, _ target: Target) throws -> RecordedOperation.Step {
    lastValue += 1
    guard target.isList else {
      try object.setValue(Int64(lastValue), forKey: "value")
      return .write(object.key, lastValue)
    }
    let items = object["items"] as? String ?? ""
    try object.setValue(items.isEmpty ? "\(lastValue)" : "\(items),\(lastValue)", forKey: "items")
    return .append(object.key, lastValue)
  }

  /// Commits an operation between the lines that record it.
  private func commit(
    _ kind: RecordedOperation.Kind, _ begin: UInt64, _ steps: [RecordedOperation.Step], in context: ManagedObjectContext,
    _ body: () throws -> Bool
  ) throws {
    log.begin(kind, at: begin, steps)
    do {
      log.end(try body() ? .committed : .aborted)
    } catch {
      guard Self.isRefusal(error) else { throw error }
      log.end(.aborted)
      context.rollback()
      context.refreshAllObjects()
    }
  }

  /// Whether another process was first.
  private static func isRefusal(_ error: any Error) -> Bool {
    guard let error = error as? StoreError else { return false }
    return error.code == .mergeConflict || error.code == .busy
  }

  // MARK: Operations

  /// Changes all objects that it has read. The save fails if one of them has changed meanwhile.
  private mutating func save(_ targets: [Target], in context: ManagedObjectContext) throws {
    let begin = RecordedOperation.now
    try context.perform {
      var steps: [RecordedOperation.Step] = []
      for target in targets {
        let object = try object(target, in: context)
        steps.append(read(object, target))
        steps.append(try write(object, target))
      }
      try commit(.serial, begin, steps, in: context) {
        try context.save()
        return true
      }
    }
  }

  /// Reads one state, and changes some of the objects.
  private mutating func saveFromSnapshot(_ targets: [Target], in context: ManagedObjectContext) throws {
    let begin = RecordedOperation.now
    try context.perform {
      try context.setQueryGeneration(from: .current)
      let objects = try targets.map { try object($0, in: context) }
      var steps = zip(objects, targets).map(read)
      for index in 0..<Int.random(in: 1..<targets.count, using: &random) { steps.append(try write(objects[index], targets[index])) }
      try commit(.snapshot, begin, steps, in: context) {
        try context.save()
        return true
      }
    }
  }

  /// Saves once or twice in a transaction, which is sometimes undone.
  private mutating func saveInTransaction(_ targets: [Target], in context: ManagedObjectContext) throws {
    let begin = RecordedOperation.now
    var isBegun = false
    try context.perform {
      do {
        try context.performTransaction {
          let objects = try targets.map { try object($0, in: context) }
          var steps = zip(objects, targets).map(read)
          for _ in 0..<Int.random(in: 1...2, using: &random) {
            for (object, target) in zip(objects, targets) where random.next() % 4 > 0 { steps.append(try write(object, target)) }
            try context.save()
            context.refreshAllObjects()
            steps += try targets.map { read(try self.object($0, in: context), $0) }
          }
          log.begin(.serial, at: begin, steps)
          isBegun = true
          if random.next() % 6 == 0 { throw Abandoned() }
        }
        log.end(.committed)
      } catch {
        guard error is Abandoned || Self.isRefusal(error) else { throw error }
        if isBegun { log.end(.aborted) }
      }
    }
  }

  /// Replaces the number of a register if it is still the one that was read.
  private mutating func exchange(_ target: Target, in context: ManagedObjectContext) throws {
    let begin = RecordedOperation.now
    lastValue += 1
    try context.perform {
      let object = try object(target, in: context)
      let former = Int64(object.number)
      let request = BatchUpdateRequest(
        entityName: "Register", predicate: try FetchPredicate(format: "key == %@ AND value == %@", Int64(target.key), former),
        propertiesToUpdate: ["value": Int64(lastValue)])
      try commit(.serial, begin, [read(object, target), .write(object.key, lastValue)], in: context) {
        try context.execute(request).updatedCount == 1
      }
    }
  }

  private func read(_ targets: [Target], in context: ManagedObjectContext) throws {
    let begin = RecordedOperation.now
    try context.perform {
      try context.setQueryGeneration(from: .current)
      let steps = try targets.map { read(try object($0, in: context), $0) }
      try commit(.read, begin, steps, in: context) { true }
    }
  }

  private func readInTransaction(_ targets: [Target], in context: ManagedObjectContext) throws {
    let begin = RecordedOperation.now
    try context.perform {
      try context.performTransaction {
        let steps = try targets.map { read(try object($0, in: context), $0) }
        try commit(.serial, begin, steps, in: context) { true }
      }
    }
  }
}

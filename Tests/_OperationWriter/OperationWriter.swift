// A process that uses a store at the same time as others. It reads its order from its argument, and records what it does.
import CipherData
import Foundation
import _ProofStore

@main
enum OperationWriter {
  static func main() async {
    guard CommandLine.arguments.count == 2,
      let order = try? JSONDecoder().decode(OperationOrder.self, from: Data(CommandLine.arguments[1].utf8))
    else {
      print("usage: _OperationWriter ORDER")
      exit(64)
    }
    let log = OperationLog(order.log)
    do {
      let container = try await OperationStore.open(order)
      switch order.task {
      case .create: try OperationStore.create(order, in: container)
      case .operate:
        var actor = OperationActor(order, log, container)
        for number in 0..<order.operations { try actor.perform(number) }
      case .read: try OperationStore.readAll(order, log, in: container)
      }
      try container.close()
    } catch {
      log.fail("\(error)")
      exit(3)
    }
  }
}

/// The store that the processes share.
enum OperationStore {
  static let model = ManagedObjectModel {
    Entity("List") {
      Attribute("key", .integer64).required()
      // The numbers that were appended, separated by commas.
      Attribute("items", .string).required().initially("")
      Index("byKey", on: "key")
    }
    Entity("Register") {
      Attribute("key", .integer64).required()
      Attribute("value", .integer64).required().initially(0)
      Index("byKey", on: "key")
    }
  }

  static func open(_ order: OperationOrder) async throws -> PersistentContainer {
    var description = PersistentStoreDescription(url: order.store, key: .databaseKey(SecretBytes([UInt8](repeating: 5, count: 32))))
    // The processes wait for each other.
    description.busyTimeout = 60
    // Processes are killed, not the system.
    description.durability = .fast
    description.historyTracking = order.hasHistory
    let container = try PersistentContainer(name: "shared", managedObjectModel: model, persistentStoreDescriptions: [description])
    try await container.loadPersistentStores()
    return container
  }

  static func create(_ order: OperationOrder, in container: PersistentContainer) throws {
    let context = container.newBackgroundContext()
    try context.perform {
      for key in order.keys {
        for entity in ["List", "Register"] { try context.insertObject(entityName: entity).setValue(Int64(key), forKey: "key") }
      }
      try context.save()
    }
  }

  static func readAll(_ order: OperationOrder, _ log: OperationLog, in container: PersistentContainer) throws {
    let (context, begin) = (container.newBackgroundContext(), RecordedOperation.now)
    try context.perform {
      var steps: [RecordedOperation.Step] = []
      for list in try context.fetch(FetchRequest<ManagedObject>(entityName: "List")) { steps.append(.readList(list.key, list.items)) }
      for register in try context.fetch(FetchRequest<ManagedObject>(entityName: "Register")) {
        steps.append(.readRegister(register.key, register.number))
      }
      log.begin(.serial, at: begin, steps)
      log.end(.committed)
    }
  }
}

extension ManagedObject {
  var key: Int32 { Int32(self["key"] as? Int64 ?? -1) }
  var items: [Int32] { (self["items"] as? String ?? "?").split(separator: ",").map { Int32($0) ?? -1 } }
  var number: Int32 { Int32(self["value"] as? Int64 ?? -1) }
}

import CipherData
import CipherDataSync
import Foundation
import _ProofStore

/// How the stores of the clients are opened.
struct SyncSetting: Sendable {
  let world: SyncWorld

  init(_ world: SyncWorld) { self.world = world }

  /// Folders in folders, notes that require a folder, and covers, of which a folder has at most one.
  static let model = ManagedObjectModel {
    Entity("Item", abstract: true) {
      Attribute("key", .string).required()
      // The number of the last save that changed the object, twice.
      Attribute("value", .integer64).required()
      Attribute("text", .string).required()
      // The number of the last save that moved the object.
      Attribute("place", .integer64).required()
      Index("byKey", on: "key")
    }
    Entity("Folder", parent: "Item") {
      Relationship("container", to: "Folder", inverse: "folders")
      Relationship("folders", toMany: "Folder", inverse: "container")
      Relationship("notes", toMany: "Note", inverse: "container").onDelete(.cascade)
      Relationship("cover", to: "Cover", inverse: "container")
    }
    Entity("Note", parent: "Item") { Relationship("container", to: "Folder", inverse: "notes").required() }
    Entity("Cover", parent: "Item") { Relationship("container", to: "Folder", inverse: "cover") }
  }

  private static let key = StoreKey.databaseKey(SecretBytes([UInt8](repeating: 5, count: 32)))
  /// The time for which processes wait for locks, in seconds: stopped processes may hold them.
  private static let patience = 60.0

  private func description(at url: URL) -> PersistentStoreDescription {
    var description = PersistentStoreDescription(url: url, key: Self.key)
    description.busyTimeout = Self.patience
    return description
  }

  /// Opens the store of a device.
  func open(_ device: SyncDevice) async throws -> PersistentCloudContainer {
    var description = description(at: world.store(device))
    description.cloudOptions = CloudOptions(hubURL: world.hub, deviceName: "\(device)")
    let container = try PersistentCloudContainer(
      name: "\(device)", managedObjectModel: Self.model, persistentStoreDescriptions: [description])
    try await container.loadPersistentStores()
    return container
  }

  /// Opens the store of a device, and makes it a member of the account unless it is.
  func openMember(_ device: SyncDevice) async throws -> PersistentCloudContainer {
    let recoveryKey = try String(contentsOf: world.recoveryKey(account: device.account), encoding: .utf8)
    while true {
      let container = try await open(device)
      if try await container.isSynchronized { return container }
      do {
        try await container.joinAccount(recoveryKey: recoveryKey)
        return container
      } catch let error as SyncError where error.code == .alreadySynchronized || error.code == .busy {
        // Another process of the device joins at the same time.
        try container.close()
        try await Task.sleep(for: .milliseconds(20))
      }
    }
  }

  func backUp(_ device: SyncDevice, to name: String) async throws {
    try await SQLCipherStoreFile.unlock(at: world.store(device), key: Self.key).backUp(to: world.backup(name))
  }

  func restore(_ device: SyncDevice, from name: String) async throws {
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: Self.model)
    try await coordinator.replacePersistentStore(
      with: description(at: world.store(device)), withPersistentStoreFrom: description(at: world.backup(name)))
  }
}

extension PersistentCloudContainer {
  /// Returns the values of all objects by their keys.
  func contents() async throws -> [String: SyncedObjectState] {
    try await performBackgroundTask { context in
      var contents: [String: SyncedObjectState] = [:]
      for object in try context.fetch(FetchRequest<ManagedObject>(entityName: "Item")) {
        contents[object.key] = SyncedObjectState(
          entity: object.objectID.entityName, stableID: try object.stableID?.uuidString, value: object.number("value"),
          text: object["text"] as? String ?? "", place: object.number("place"), container: object.container?.key)
      }
      return contents
    }
  }
}

extension ManagedObject {
  var key: String { self["key"] as? String ?? "?" }
  var container: ManagedObject? { self["container"] as? ManagedObject }
  func number(_ name: String) -> Int64 { self[name] as? Int64 ?? 0 }
}

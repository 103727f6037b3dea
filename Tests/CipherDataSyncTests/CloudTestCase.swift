import CipherData
import CipherDataSync
import Foundation
import Synchronization
import XCTest
import _TestSupport

/// Containers of devices that synchronize through a hub's file.
class CloudTestCase: XCTestCase {
  private(set) var folder: TemporaryFolder?
  override func setUpWithError() throws { folder = try TemporaryFolder("CipherDataSyncTests") }
  override func tearDown() { folder = nil }

  static let model = ManagedObjectModel {
    Entity("Folder") {
      Attribute("title", .string)
      Relationship("notes", toMany: "Note", inverse: "folder").onDelete(.cascade)
    }
    Entity("Note") {
      Attribute("text", .string)
      Attribute("rating", .integer32)
      Relationship("folder", to: "Folder", inverse: "notes").required()
    }
    Entity("Setting") { Attribute("value", .string) }
    Configuration("Synchronized", entities: "Folder", "Note")
    Configuration("Local", entities: "Setting")
  }

  func file(_ name: String) throws -> URL { try XCTUnwrap(folder).file(name) }

  func description(_ name: String, hub: String? = "hub.store", configuration: String? = nil) throws -> PersistentStoreDescription {
    var description = PersistentStoreDescription(
      url: try file("\(name).store"), key: .databaseKey(SecretBytes([UInt8](repeating: 3, count: 32))))
    description.configuration = configuration
    if let hub { description.cloudOptions = CloudOptions(hubURL: try file(hub), deviceName: name) }
    return description
  }

  func container(_ name: String, model: ManagedObjectModel = model, hub: String = "hub.store") async throws -> PersistentCloudContainer {
    try await container([try description(name, hub: hub)], model: model)
  }

  func container(
    _ descriptions: [PersistentStoreDescription], model: ManagedObjectModel = model
  ) async throws -> PersistentCloudContainer {
    let container = try PersistentCloudContainer(
      name: "Notes", managedObjectModel: model, persistentStoreDescriptions: descriptions)
    try await container.loadPersistentStores()
    return container
  }

  func count(_ entity: String, in container: PersistentContainer) async throws -> Int {
    try await container.performBackgroundTask { try $0.count(for: FetchRequest<ManagedObject>(entityName: entity)) }
  }

  /// Inserts notes into a new folder.
  @discardableResult
  func insertNotes(_ count: Int, in container: PersistentContainer) async throws -> [ManagedObjectID] {
    try await Self.insertNotes(count, in: container)
  }

  @discardableResult
  static func insertNotes(_ count: Int, in container: PersistentContainer) async throws -> [ManagedObjectID] {
    try await container.performBackgroundTask { context in
      let folder = try context.insertObject(entityName: "Folder")
      try folder.setValue("folder", forKey: "title")
      var notes: [ManagedObject] = []
      for number in 0..<count {
        let note = try context.insertObject(entityName: "Note")
        try note.setValue("note \(number)", forKey: "text")
        try note.setValue(number, forKey: "rating")
        try note.setValue(folder, forKey: "folder")
        notes.append(note)
      }
      try context.save()
      return notes.map(\.objectID)
    }
  }

  /// Inserts a note at a time until the task is canceled.
  static func insertUntilCancelled(_ container: PersistentContainer) async throws {
    while !Task.isCancelled { try await insertNotes(1, in: container) }
  }

  func setText(_ text: String, of note: ManagedObjectID, in container: PersistentContainer) async throws {
    try await container.performBackgroundTask { context in
      try context.object(with: note).setValue(text, forKey: "text")
      try context.save()
    }
  }

  func stableID(of object: ManagedObjectID, in container: PersistentContainer) async throws -> UUID? {
    try await container.performBackgroundTask { try $0.object(with: object).stableID }
  }

  /// Moves the hub with its companion files.
  func moveHub(from source: String = "hub.store", to target: String) throws {
    for suffix in ["", ".keys", ".key", "-wal", "-shm", "-changes"] {
      let url = try file(source + suffix)
      if FileManager.default.fileExists(atPath: url.path) {
        try FileManager.default.moveItem(at: url, to: try file(target + suffix))
      }
    }
  }
}

extension PersistentCloudContainer {
  /// Creates an account, and returns its recovery key.
  func createAccount() async throws -> String {
    let kept = Mutex("")
    try await createAccount { recoveryKey in kept.withLock { $0 = recoveryKey } }
    return kept.withLock { $0 }
  }
}

/// The events that a container posts as notifications.
final class PostedEvents: Sendable {
  private let posted = Mutex<[CloudEvent]>([])

  /// The events so far.
  var events: [CloudEvent] { posted.withLock { $0 } }

  /// Collects the events of a container while the object lives.
  init(of container: PersistentCloudContainer) {
    // It is never removed: the container ends before the process.
    _ = NotificationCenter.default.addObserver(
      forName: PersistentCloudContainer.eventChangedNotification, object: container, queue: nil
    ) { [weak self] notification in
      guard let event = notification.userInfo?[PersistentCloudContainer.eventNotificationUserInfoKey] as? CloudEvent else { return }
      self?.posted.withLock { $0.append(event) }
    }
  }
}

import Dispatch
public import Foundation
package import ObjectContext
public import ObjectModel
package import ObjectStore
import SQLCipherStore
import Synchronization

/// The open stores of a model.
open class NSPersistentStoreCoordinator: NSObject, @unchecked Sendable {  // subclasses are responsible for their own state
  /// The model.
  public let managedObjectModel: NSManagedObjectModel
  package let coordinator: PersistentStoreCoordinator
  package let classes: ManagedObjectClasses
  private let storeChanges = StoreChangeNotifications()
  private let queue = DispatchQueue(label: "CipherData.NSPersistentStoreCoordinator")
  private let givenName = Mutex<String?>(nil)

  /// A name for debugging.
  open var name: String? {
    get { givenName.withLock { $0 } }
    set { givenName.withLock { $0 = newValue } }
  }

  /// Creates a coordinator of a model. If the model is invalid, adding a store throws the error.
  public init(managedObjectModel model: NSManagedObjectModel) {
    managedObjectModel = model
    let value = model.model
    do {
      coordinator = try PersistentStoreCoordinator(managedObjectModel: value)
      classes = EntityClassRegistry.classes(of: value.entities.map { ($0.name, $0.managedObjectClassName) })
      issue = nil
    } catch {
      (coordinator, classes) = (Self.withoutStores.coordinator, ManagedObjectClasses())
      issue = error
    }
    super.init()
    model.registerUse(by: coordinator)
  }

  /// Creates a coordinator of an empty model. Failable initializers of applications create one before they return nil.
  public override convenience init() { self.init(managedObjectModel: NSManagedObjectModel()) }

  /// The error of an invalid model.
  private let issue: (any Error)?

  private init(withoutStores coordinator: PersistentStoreCoordinator) {
    self.coordinator = coordinator
    managedObjectModel = NSManagedObjectModel()
    classes = ManagedObjectClasses()
    issue = nil
  }

  /// Creates a coordinator for a migration. Its objects have no classes of their own.
  package init(adopting coordinator: PersistentStoreCoordinator, model: NSManagedObjectModel? = nil) {
    self.coordinator = coordinator
    managedObjectModel = model ?? NSManagedObjectModel(coordinator.managedObjectModel)
    classes = EntityClassRegistry.classes(of: coordinator.managedObjectModel.entities.map { ($0.name, nil) })
    issue = nil
  }

  /// The coordinator of contexts that have none: without entities and stores.
  static let withoutStores: NSPersistentStoreCoordinator = {
    guard let coordinator = try? PersistentStoreCoordinator(managedObjectModel: ManagedObjectModel()) else {
      // A model without entities is always valid.
      preconditionFailure("a model without entities is refused")
    }
    return NSPersistentStoreCoordinator(withoutStores: coordinator)
  }()

  /// The open stores.
  open var persistentStores: [NSPersistentStore] { coordinator.persistentStores.map { NSPersistentStore.of($0, of: self) } }

  /// Returns the open store at a URL; nil if there is none.
  open func persistentStore(for url: URL) -> NSPersistentStore? {
    persistentStores.first { $0.url?.standardizedFileURL == url.standardizedFileURL }
  }

  /// Returns the ID for a URI; nil if its store is not open.
  open func managedObjectID(forURIRepresentation url: URL) -> NSManagedObjectID? {
    coordinator.managedObjectID(forURIRepresentation: url)
  }

  /// Opens a store and passes the result to a completion handler.
  open func addPersistentStore(
    with description: NSPersistentStoreDescription, completionHandler: @escaping (NSPersistentStoreDescription, (any Error)?) -> Void
  ) {
    let failure: (any Error)?
    do {
      let value = try description.value()
      _ = try open(value, description)
      failure = nil
    } catch {
      failure = CoreDataError.make(error)
    }
    completionHandler(description, failure)
  }

  /// Opens a store.
  ///
  /// - Parameters:
  ///   - storeType: The store type.
  ///   - configuration: The model configuration of the store; nil for all entities.
  ///   - storeURL: The store's URL.
  ///   - options: The store options.
  /// - Returns: The store.
  /// - Throws: `NSError`.
  @discardableResult open func addPersistentStore(
    ofType storeType: String, configurationName configuration: String?, at storeURL: URL?, options: [AnyHashable: Any]? = nil
  ) throws -> NSPersistentStore {
    let description = NSPersistentStoreDescription(storeType, storeURL, options)
    description.configuration = configuration
    return try CoreDataError.translating {
      try open(try description.value(), description)
    }
  }

  private func open(_ value: PersistentStoreDescription, _ description: NSPersistentStoreDescription) throws -> NSPersistentStore {
    if value.url != nil, let url = description.url { StoreLocation.prepare(url) }
    // A custom store is created with the options.
    let options = SendableBox<[AnyHashable: Any]?>(value: description.options.isEmpty ? nil : description.options)
    return try BlockingTask.run { [self] in
      if let issue { throw issue }
      let store = try await StoreClasses.$opening.withValue((self, options)) { try await coordinator.addPersistentStore(with: value) }
      return didOpen(store)
    }
  }

  private func didOpen(_ store: PersistentStore) -> NSPersistentStore {
    let shown = NSPersistentStore.of(store, of: self)
    if shown is NSIncrementalStore { shown.didOpen(store) }
    shown.didAdd(to: self)
    if store.storeDescription.postsRemoteChangeNotifications { storeChanges.begin(store, of: self) }
    post(.NSPersistentStoreCoordinatorStoresDidChange, [NSAddedPersistentStoresKey: [shown]])
    return shown
  }

  private func post(_ name: Notification.Name, _ info: [AnyHashable: Any]) {
    NotificationCenter.default.post(name: name, object: self, userInfo: info)
  }

  /// Runs a block on the coordinator's queue asynchronously.
  @preconcurrency
  open func perform(_ block: @escaping @Sendable () -> Void) { queue.async(execute: block) }

  /// Runs a block on the coordinator's queue and waits for it.
  ///
  /// - Throws: The block's error.
  open func performAndWait<Result>(_ block: () throws -> Result) rethrows -> Result { try queue.sync(execute: block) }

  /// Closes a store.
  ///
  /// - Throws: `NSError`.
  open func remove(_ store: NSPersistentStore) throws {
    post(.NSPersistentStoreCoordinatorWillRemoveStore, [NSRemovedPersistentStoresKey: [store]])
    store.willRemove(from: self)
    try CoreDataError.translating {
      guard let open = store.store else { throw IncrementalStoreError.notOpen("\(type(of: store))") }
      try coordinator.remove(open)
    }
    post(.NSPersistentStoreCoordinatorStoresDidChange, [NSRemovedPersistentStoresKey: [store]])
  }

  // MARK: Stores as files

  /// Returns the metadata of an open store.
  open func metadata(for store: NSPersistentStore) -> [String: Any] { store.metadata ?? [:] }

  /// Sets the metadata of an open store. Only strings under the application's own names are set. The next save throws any error.
  open func setMetadata(_ metadata: [String: Any]?, for store: NSPersistentStore) {
    store.metadata = metadata
  }

  /// Runs all deferred tasks of a migration.
  ///
  /// - Throws: `NSError`.
  open func finishDeferredLightweightMigration() throws {
    try CoreDataError.translating { try coordinator.finishDeferredLightweightMigration() }
  }

  /// Runs one deferred task of a migration.
  ///
  /// - Throws: `NSError`.
  open func finishDeferredLightweightMigrationTask() throws {
    _ = try CoreDataError.translating { try coordinator.finishDeferredLightweightMigrationTask() }
  }

  /// Returns the URL of a store.
  open func url(for store: NSPersistentStore) -> URL { store.url ?? URL(fileURLWithPath: "/dev/null") }

  /// Deletes a store's files. A store that is open in this coordinator is removed first; it must not be open elsewhere.
  ///
  /// If there is no store at the URL, the method does nothing, as Core Data does.
  ///
  /// - Parameters:
  ///   - url: The store's URL.
  ///   - storeType: The store type.
  ///   - options: The store options.
  /// - Throws: `NSError`.
  open func destroyPersistentStore(at url: URL, ofType storeType: String, options: [AnyHashable: Any]? = nil) throws {
    if let store = persistentStore(for: url) { try remove(store) }
    try CoreDataError.translating {
      let description = try NSPersistentStoreDescription(storeType, url, options).value(needsKey: false)
      try BlockingTask.run { [coordinator] in
        do { try await coordinator.destroyPersistentStore(with: description) } catch let error as StoreError
          where error.code == .storeNotFound
        {}
      }
    }
  }

  /// Replaces a store, which must not be open, with the files of another one.
  ///
  /// - Parameters:
  ///   - destinationURL: The URL of the store to replace.
  ///   - destinationOptions: The options of the store to replace.
  ///   - sourceURL: The URL of the source store.
  ///   - sourceOptions: The options of the source store.
  ///   - storeType: The store type.
  /// - Throws: `NSError`.
  open func replacePersistentStore(
    at destinationURL: URL, destinationOptions: [AnyHashable: Any]? = nil, withPersistentStoreFrom sourceURL: URL,
    sourceOptions: [AnyHashable: Any]? = nil, ofType storeType: String
  ) throws {
    try CoreDataError.translating {
      var target = try NSPersistentStoreDescription(storeType, destinationURL, destinationOptions).value(needsKey: false)
      // Without a key option, the copy opens with the source's keys.
      if destinationOptions?[NSPersistentStoreEncryptionKeyOption] == nil { target.key = nil }
      let destination = target
      let source = try NSPersistentStoreDescription(storeType, sourceURL, sourceOptions).value(needsKey: false)
      try BlockingTask.run { [coordinator] in
        try await coordinator.replacePersistentStore(with: destination, withPersistentStoreFrom: source)
      }
    }
  }

  /// Moves an open store to another URL, where it stays open.
  ///
  /// - Parameters:
  ///   - store: The store.
  ///   - url: The new URL.
  ///   - options: The store options, such as another key.
  ///   - storeType: The store type.
  /// - Returns: The store at its new URL.
  /// - Throws: `NSError`.
  @discardableResult open func migratePersistentStore(
    _ store: NSPersistentStore, to url: URL, options: [AnyHashable: Any]? = nil, withType storeType: String
  ) throws -> NSPersistentStore {
    try CoreDataError.translating {
      let description = NSPersistentStoreDescription(storeType, url, options)
      let value = try description.value()
      guard let open = store.store else { throw IncrementalStoreError.notOpen("\(type(of: store))") }
      let options = SendableBox<[AnyHashable: Any]?>(value: options)
      return try BlockingTask.run { [self] in
        try await StoreClasses.$opening.withValue((self, options)) {
          NSPersistentStore.of(try await coordinator.migratePersistentStore(open, to: value), of: self)
        }
      }
    }
  }

  // MARK: History

  /// Returns a token for the latest transactions of the stores; nil if none of them tracks its history.
  ///
  /// - Parameter stores: The stores; nil for all.
  open func currentPersistentHistoryToken(fromStores stores: [Any]?) -> NSPersistentHistoryToken? {
    let asked = stores.map { $0.compactMap { ($0 as? NSPersistentStore)?.store } }
    // If a history cannot be read, the result is nil, and the next history request throws the error.
    return ((try? coordinator.currentPersistentHistoryToken(fromStores: asked)) ?? nil).map(NSPersistentHistoryToken.init)
  }
}

// MARK: - Keys and metadata of stores

/// The option of a store's key, a `StoreKey`, where options are passed instead of a description.
public let NSPersistentStoreEncryptionKeyOption = "CipherData.EncryptionKey"
/// The metadata key of the model's version identifiers.
public let NSStoreModelVersionIdentifiersKey = "NSStoreModelVersionIdentifiers"

extension NSPersistentStoreCoordinator {
  /// Returns a store's metadata without adding it to a coordinator.
  ///
  /// - Parameters:
  ///   - storeType: The store type.
  ///   - url: The store's URL.
  ///   - options: The store options, such as its key.
  /// - Throws: `NSError`.
  public class func metadataForPersistentStore(
    ofType storeType: String, at url: URL, options: [AnyHashable: Any]? = nil
  ) throws -> [String: Any] {
    try CoreDataError.translating {
      let description = try NSPersistentStoreDescription(storeType, url, options).value()
      return StoreMetadataDictionary.make(
        try BlockingTask.run { try await PersistentStoreCoordinator.metadataForPersistentStore(with: description) })
    }
  }

  /// Sets a store's metadata without adding it to a coordinator. Only strings under the application's own names are set.
  ///
  /// - Parameters:
  ///   - metadata: The metadata.
  ///   - storeType: The store type.
  ///   - url: The store's URL.
  ///   - options: The store options, such as its key.
  /// - Throws: `NSError`.
  public class func setMetadata(
    _ metadata: [String: Any]?, forPersistentStoreOfType storeType: String, at url: URL, options: [AnyHashable: Any]? = nil
  ) throws {
    try CoreDataError.translating {
      let description = try NSPersistentStoreDescription(storeType, url, options).value()
      let notes = StoreMetadataDictionary.notes(metadata ?? [:])
      try BlockingTask.run { try await PersistentStoreCoordinator.setUserMetadata(notes, forPersistentStoreWith: description) }
    }
  }
}

extension NSPersistentStoreDescription {
  /// Creates a description from an options dictionary.
  convenience init(_ type: String, _ url: URL?, _ options: [AnyHashable: Any]?) {
    self.init()
    (self.type, self.url) = (type, url)
    for (key, option) in options ?? [:] {
      if let pragmas = option as? [String: Any] {
        setOption(NSDictionary(dictionary: pragmas), forKey: "\(key)")
        continue
      }
      if key == AnyHashable(NSPersistentStoreEncryptionKeyOption) {
        encryptionKey = option as? StoreKey
      } else {
        setOption(option as? NSObject ?? (option as? Bool).map { NSNumber(value: $0) }, forKey: "\(key)")
      }
    }
  }
}

/// Converts metadata to and from dictionaries.
enum StoreMetadataDictionary {
  static func make(_ metadata: StoreMetadata) -> [String: Any] {
    var values: [String: Any] = metadata.userMetadata
    values[NSStoreUUIDKey] = metadata.storeIdentifier
    values[NSStoreTypeKey] = NSPersistentStore.name(of: ObjectStore.StoreType(rawValue: metadata.storeType))
    values[NSStoreModelVersionHashesKey] = metadata.modelHashes
    values[NSStoreModelVersionIdentifiersKey] = metadata.versionIdentifiers.sorted()
    return values
  }

  /// Returns the metadata under the application's own names.
  static func notes(_ metadata: [String: Any]) -> [String: String] {
    let own: Set<String> = [NSStoreUUIDKey, NSStoreTypeKey, NSStoreModelVersionHashesKey, NSStoreModelVersionIdentifiersKey]
    return metadata.filter { !own.contains($0.key) }.mapValues { "\($0)" }
  }
}

/// Prepares the location of a store's file as Apple's systems do.
enum StoreLocation {
  /// Prepares a location for a store. Failures are reported when the store is opened.
  static func prepare(_ file: URL) {
    makeUserFolder(of: file)
    renameLeftovers(of: file)
  }

  /// Creates the user directory that directly contains a file. On Apple's systems, the directories for documents, data and caches always
  /// exist.
  private static func makeUserFolder(of file: URL) {
    let files = FileManager.default
    let folder = file.deletingLastPathComponent().standardizedFileURL.path
    let places: [FileManager.SearchPathDirectory] = [.documentDirectory, .applicationSupportDirectory, .cachesDirectory, .libraryDirectory]
    for place in places.flatMap({ files.urls(for: $0, in: .userDomainMask) }) where place.standardizedFileURL.path == folder {
      try? files.createDirectory(at: place, withIntermediateDirectories: true)
    }
  }

  /// Renames the leftover files of a store whose database file was deleted.
  ///
  /// Core Data stacks delete SQLite files by name, sometimes only the database file, and a store cannot be created next to an existing key
  /// file or log.
  ///
  /// A store's database file exists before its key file, so no other process is creating the store. The files are kept because the store
  /// may be restored from a backup.
  private static func renameLeftovers(of file: URL) {
    let files = FileManager.default
    let (name, folder) = (file.lastPathComponent, file.deletingLastPathComponent())
    guard !files.fileExists(atPath: file.path), files.fileExists(atPath: file.path + ".keys") else { return }
    let names = (try? files.contentsOfDirectory(atPath: folder.path)) ?? []
    let endings = Set(names.filter { $0.hasPrefix(name) }.map { String($0.dropFirst(name.count)) })
    // Files that were set aside earlier end with a number.
    func number(_ ending: String) -> Int? { ending.split(separator: ".").last.flatMap { Int($0) } }
    let left = endings.filter { number($0) == nil }
    // A file of a key change or a copy means that another process is using the store. Other names, such as a backup's, belong to the
    // application.
    guard left.isDisjoint(with: Self.inWork) else { return }
    let next = (endings.compactMap(number).max() ?? 0) + 1
    // The key file is renamed last: without it, a second attempt would not look for the other files.
    for ending in leftovers where left.contains(ending) {
      try? files.moveItem(atPath: file.path + ending, toPath: "\(file.path)\(ending).\(next)")
    }
  }

  /// The suffixes of the files that remain after a manual deletion.
  private static let leftovers = ["-wal", "-shm", "-changes", ".keys"]
  /// The suffixes of files that exist while the whole store is being rewritten.
  private static let inWork: Set<String> = ["-journal", ".new", ".new-wal", ".new-shm", ".new-journal", ".keys.lock", ".keys.new"]
}

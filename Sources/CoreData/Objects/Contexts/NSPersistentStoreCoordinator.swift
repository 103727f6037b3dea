// NSPersistentStoreCoordinator: the open stores of a model, as objects.
import Dispatch
public import Foundation
package import ObjectContext
public import ObjectModel
package import ObjectStore
import SQLCipherStore
import Synchronization

/// The open stores of a model.
open class NSPersistentStoreCoordinator: NSObject, @unchecked Sendable {  // subclasses answer for what they add
  /// The model.
  public let managedObjectModel: NSManagedObjectModel
  package let coordinator: PersistentStoreCoordinator
  package let classes: ManagedObjectClasses
  private let storeChanges = StoreChangeNotifications()
  private let queue = DispatchQueue(label: "CipherData.NSPersistentStoreCoordinator")
  private let givenName = Mutex<String?>(nil)

  /// A name for who debugs.
  open var name: String? {
    get { givenName.withLock { $0 } }
    set { givenName.withLock { $0 = newValue } }
  }

  /// A coordinator of a model. A model with mistakes has one with no entities: adding a store throws what is wrong.
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
    model.noteUse(by: coordinator)
  }

  /// A coordinator of a model without entities, as failing initializers of applications make one before they return nil.
  public override convenience init() { self.init(managedObjectModel: NSManagedObjectModel()) }

  /// What is wrong with the model.
  private let issue: (any Error)?

  private init(withoutStores coordinator: PersistentStoreCoordinator) {
    self.coordinator = coordinator
    managedObjectModel = NSManagedObjectModel()
    classes = ManagedObjectClasses()
    issue = nil
  }

  /// A coordinator as a migration has it, whose objects are of no class of their own.
  package init(adopting coordinator: PersistentStoreCoordinator, model: NSManagedObjectModel? = nil) {
    self.coordinator = coordinator
    managedObjectModel = model ?? NSManagedObjectModel(coordinator.managedObjectModel)
    classes = EntityClassRegistry.classes(of: coordinator.managedObjectModel.entities.map { ($0.name, nil) })
    issue = nil
  }

  /// A coordinator without entities and stores: what a context has that was given none.
  static let withoutStores: NSPersistentStoreCoordinator = {
    guard let coordinator = try? PersistentStoreCoordinator(managedObjectModel: ManagedObjectModel()) else {
      // A model without entities has no mistakes.
      preconditionFailure("a model without entities is refused")
    }
    return NSPersistentStoreCoordinator(withoutStores: coordinator)
  }()

  /// The open stores.
  open var persistentStores: [NSPersistentStore] { coordinator.persistentStores.map { NSPersistentStore.of($0, of: self) } }

  /// The store at a place, if it is open.
  open func persistentStore(for url: URL) -> NSPersistentStore? {
    persistentStores.first { $0.url?.standardizedFileURL == url.standardizedFileURL }
  }

  /// The ID that a URI stands for; nil where its store is not open.
  open func managedObjectID(forURIRepresentation url: URL) -> NSManagedObjectID? {
    coordinator.managedObjectID(forURIRepresentation: url)
  }

  /// Opens a store, and tells what came of it.
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
  ///   - storeType: The kind of store.
  ///   - configuration: The configuration of the model whose entities it holds; nil for all.
  ///   - storeURL: Where it lies.
  ///   - options: What else there is to say.
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
    if value.url != nil, let url = description.url { StorePlace.prepare(url) }
    // A store of the application's own is made with the options.
    let options = Lent<[AnyHashable: Any]?>(value: description.options.isEmpty ? nil : description.options)
    return try Waiting.run { [self] in
      if let issue { throw issue }
      let store = try await StoreClasses.$opening.withValue((self, options)) { try await coordinator.addPersistentStore(with: value) }
      return noteOpened(store)
    }
  }

  private func noteOpened(_ store: PersistentStore) -> NSPersistentStore {
    let shown = NSPersistentStore.of(store, of: self)
    if shown is NSIncrementalStore { shown.noteOpened(store) }
    shown.didAdd(to: self)
    if store.storeDescription.postsRemoteChangeNotifications { storeChanges.begin(store, of: self) }
    post(.NSPersistentStoreCoordinatorStoresDidChange, [NSAddedPersistentStoresKey: [shown]])
    return shown
  }

  private func post(_ name: Notification.Name, _ info: [AnyHashable: Any]) {
    NotificationCenter.default.post(name: name, object: self, userInfo: info)
  }

  /// Does work on a queue of the coordinator's, some time.
  @preconcurrency
  open func perform(_ block: @escaping @Sendable () -> Void) { queue.async(execute: block) }

  /// Does work on a queue of the coordinator's, and waits for it.
  ///
  /// - Throws: What the work throws.
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

  /// What an open store says of itself.
  open func metadata(for store: NSPersistentStore) -> [String: Any] { store.metadata ?? [:] }

  /// Changes what an open store says of itself: texts under names of the application's own. What goes wrong is thrown by the next save.
  open func setMetadata(_ metadata: [String: Any]?, for store: NSPersistentStore) {
    store.metadata = metadata
  }

  /// Does all that a migration has left for later.
  ///
  /// - Throws: `NSError`.
  open func finishDeferredLightweightMigration() throws {
    try CoreDataError.translating { try coordinator.finishDeferredLightweightMigration() }
  }

  /// Does one of the things that a migration has left for later.
  ///
  /// - Throws: `NSError`.
  open func finishDeferredLightweightMigrationTask() throws {
    _ = try CoreDataError.translating { try coordinator.finishDeferredLightweightMigrationTask() }
  }

  /// Where a store lies.
  open func url(for store: NSPersistentStore) -> URL { store.url ?? URL(fileURLWithPath: "/dev/null") }

  /// Deletes a store's files. A store that is open in this coordinator is removed first; it must not be open elsewhere.
  ///
  /// If there is no store at the URL, the method does nothing, as Core Data does.
  ///
  /// - Parameters:
  ///   - url: Where it lies.
  ///   - storeType: The kind of store.
  ///   - options: What else there is to say.
  /// - Throws: `NSError`.
  open func destroyPersistentStore(at url: URL, ofType storeType: String, options: [AnyHashable: Any]? = nil) throws {
    if let store = persistentStore(for: url) { try remove(store) }
    try CoreDataError.translating {
      let description = try NSPersistentStoreDescription(storeType, url, options).value(needsKey: false)
      try Waiting.run { [coordinator] in
        do { try await coordinator.destroyPersistentStore(with: description) } catch let error as StoreError
          where error.code == .storeNotFound
        {}
      }
    }
  }

  /// Puts a store's files in the place of another one's, which must not be open.
  ///
  /// - Parameters:
  ///   - destinationURL: Where the store will lie.
  ///   - destinationOptions: What else there is to say of the store that is replaced.
  ///   - sourceURL: Where it lies.
  ///   - sourceOptions: What else there is to say of it.
  ///   - storeType: The kind of store.
  /// - Throws: `NSError`.
  open func replacePersistentStore(
    at destinationURL: URL, destinationOptions: [AnyHashable: Any]? = nil, withPersistentStoreFrom sourceURL: URL,
    sourceOptions: [AnyHashable: Any]? = nil, ofType storeType: String
  ) throws {
    try CoreDataError.translating {
      var target = try NSPersistentStoreDescription(storeType, destinationURL, destinationOptions).value(needsKey: false)
      // Without a key among the options the copy opens with the keys of the source.
      if destinationOptions?[NSPersistentStoreEncryptionKeyOption] == nil { target.key = nil }
      let destination = target
      let source = try NSPersistentStoreDescription(storeType, sourceURL, sourceOptions).value(needsKey: false)
      try Waiting.run { [coordinator] in try await coordinator.replacePersistentStore(with: destination, withPersistentStoreFrom: source) }
    }
  }

  /// Moves what is in an open store to another place, where it stays open.
  ///
  /// - Parameters:
  ///   - store: The store.
  ///   - url: The new place.
  ///   - options: What else there is to say, such as another key.
  ///   - storeType: The kind of store.
  /// - Returns: The store in its new place.
  /// - Throws: `NSError`.
  @discardableResult open func migratePersistentStore(
    _ store: NSPersistentStore, to url: URL, options: [AnyHashable: Any]? = nil, withType storeType: String
  ) throws -> NSPersistentStore {
    try CoreDataError.translating {
      let description = NSPersistentStoreDescription(storeType, url, options)
      let value = try description.value()
      guard let open = store.store else { throw IncrementalStoreError.notOpen("\(type(of: store))") }
      let options = Lent<[AnyHashable: Any]?>(value: options)
      return try Waiting.run { [self] in
        try await StoreClasses.$opening.withValue((self, options)) {
          NSPersistentStore.of(try await coordinator.migratePersistentStore(open, to: value), of: self)
        }
      }
    }
  }

  // MARK: History

  /// The place behind all that was written to stores; nil where none keeps a history.
  ///
  /// - Parameter stores: The stores; all where it is nil.
  open func currentPersistentHistoryToken(fromStores stores: [Any]?) -> NSPersistentHistoryToken? {
    let asked = stores.map { $0.compactMap { ($0 as? NSPersistentStore)?.store } }
    // A history that cannot be read has no place, and the next request for it says why.
    return ((try? coordinator.currentPersistentHistoryToken(fromStores: asked)) ?? nil).map(NSPersistentHistoryToken.init)
  }
}

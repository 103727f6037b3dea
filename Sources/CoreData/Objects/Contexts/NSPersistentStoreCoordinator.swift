// NSPersistentStoreCoordinator: the open stores of a model, as objects.
import Dispatch
public import Foundation
package import ObjectContext
public import ObjectModel
package import ObjectStore
import Synchronization

/// The open stores of a model.
public final class NSPersistentStoreCoordinator: NSObject, Sendable {
  /// The model.
  public let managedObjectModel: NSManagedObjectModel
  package let coordinator: PersistentStoreCoordinator
  package let classes: ManagedObjectClasses
  private let storeChanges = StoreChangeNotifications()
  private let queue = DispatchQueue(label: "CipherData.NSPersistentStoreCoordinator")
  private let givenName = Mutex<String?>(nil)

  /// A name for who debugs.
  public var name: String? {
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
  public var persistentStores: [NSPersistentStore] { coordinator.persistentStores.map { NSPersistentStore.of($0, of: self) } }

  /// The store at a place, if it is open.
  public func persistentStore(for url: URL) -> NSPersistentStore? {
    persistentStores.first { $0.url?.standardizedFileURL == url.standardizedFileURL }
  }

  /// The ID that a URI stands for; nil where its store is not open.
  public func managedObjectID(forURIRepresentation url: URL) -> NSManagedObjectID? {
    coordinator.managedObjectID(forURIRepresentation: url)
  }

  /// Opens a store, and tells what came of it.
  public func addPersistentStore(
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
  @discardableResult public func addPersistentStore(
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
  public func perform(_ block: @escaping @Sendable () -> Void) { queue.async(execute: block) }

  /// Does work on a queue of the coordinator's, and waits for it.
  ///
  /// - Throws: What the work throws.
  public func performAndWait<Result>(_ block: () throws -> Result) rethrows -> Result { try queue.sync(execute: block) }

  /// Closes a store.
  ///
  /// - Throws: `NSError`.
  public func remove(_ store: NSPersistentStore) throws {
    post(.NSPersistentStoreCoordinatorWillRemoveStore, [NSRemovedPersistentStoresKey: [store]])
    store.willRemove(from: self)
    try CoreDataError.translating {
      guard let open = store.store else { throw IncrementalStoreError.notOpen("\(type(of: store))") }
      try coordinator.remove(open)
    }
    post(.NSPersistentStoreCoordinatorStoresDidChange, [NSRemovedPersistentStoresKey: [store]])
  }
}

/// Waits for asynchronous work, which runs on threads of its own.
enum Waiting {
  static func run<Result: Sendable>(_ work: @escaping @Sendable () async throws -> Result) throws -> Result {
    let outcome = Outcome<Result>()
    let done = DispatchSemaphore(value: 0)
    Task.detached(executorPreference: QueueExecutor(label: "CipherData.CoreData.Waiting")) {
      do { outcome.set(.success(try await work())) } catch { outcome.set(.failure(error)) }
      done.signal()
    }
    done.wait()
    return try outcome.get()
  }

  private final class Outcome<Result: Sendable>: Sendable {
    private let value = Mutex<Swift.Result<Result, any Error>>(.failure(CancellationError()))
    func set(_ new: Swift.Result<Result, any Error>) { value.withLock { $0 = new } }
    func get() throws -> Result { try value.withLock { $0 }.get() }
  }
}

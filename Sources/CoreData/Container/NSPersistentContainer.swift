import Dispatch
public import Foundation
import ObjectContext
import ObjectModel
public import StoreKeys

/// A model with its stores and contexts: the Core Data stack of an application.
open class NSPersistentContainer: NSObject, @unchecked Sendable {  // the lock guards the mutable state
  private let ownName: String
  private let ownCoordinator: NSPersistentStoreCoordinator
  private let ownViewContext: NSManagedObjectContext
  // The lock guards the mutable state. Descriptions are objects, which a `Mutex` cannot return.
  private let lock = NSLock()
  private var descriptions: [NSPersistentStoreDescription]

  /// The key for stores whose descriptions have no key of their own.
  public static var defaultEncryptionKey: StoreKey? {
    get { DefaultEncryptionKey.key }
    set { DefaultEncryptionKey.key = newValue }
  }

  /// Creates a container with the model of the same name in the program's resources. If there is no such model, loading the stores reports
  /// the error.
  public convenience init(name: String) {
    let model = ModelBundles.model(named: name).flatMap { NSManagedObjectModel(contentsOf: $0) }
    self.init(name: name, managedObjectModel: model ?? NSManagedObjectModel())
  }

  /// Creates a container of a model. Without other descriptions, it has one store in ``defaultDirectoryURL()``.
  public init(name: String, managedObjectModel model: NSManagedObjectModel) {
    ownName = name
    ownCoordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    ownViewContext = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    let place = Self.defaultDirectoryURL().appendingPathComponent("\(name).sqlite")
    descriptions = [NSPersistentStoreDescription(url: place)]
    super.init()
    ownViewContext.persistentStoreCoordinator = ownCoordinator
  }

  /// Creates a container of a coordinator whose stores are open.
  init(name: String, coordinator: NSPersistentStoreCoordinator, viewContext: NSManagedObjectContext) {
    (ownName, ownCoordinator, ownViewContext, descriptions) = (name, coordinator, viewContext, [])
  }

  /// Returns the directory of stores whose descriptions do not specify a URL.
  open class func defaultDirectoryURL() -> URL {
    let folder =
      FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first ?? URL(fileURLWithPath: NSHomeDirectory())
    let program = ProcessInfo.processInfo.processName
    let own = folder.appendingPathComponent(program)
    // If the directory cannot be created, opening the store reports the error.
    try? FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
    return own
  }

  /// The container's name.
  open var name: String { ownName }
  /// The coordinator of the stores.
  open var persistentStoreCoordinator: NSPersistentStoreCoordinator { ownCoordinator }
  /// The context on the main queue.
  open var viewContext: NSManagedObjectContext { ownViewContext }
  /// The model.
  open var managedObjectModel: NSManagedObjectModel { persistentStoreCoordinator.managedObjectModel }

  /// The stores to open.
  open var persistentStoreDescriptions: [NSPersistentStoreDescription] {
    get { lock.withLock { descriptions } }
    set { lock.withLock { descriptions = newValue } }
  }

  /// Opens the stores and calls the handler for each, before the method returns unless a description requests asynchronous loading.
  open func loadPersistentStores(completionHandler: @escaping (NSPersistentStoreDescription, (any Error)?) -> Void) {
    for description in persistentStoreDescriptions {
      guard !managedObjectModel.model.entities.isEmpty else {
        completionHandler(description, CoreDataError.make(MissingModelError(name: name)))
        continue
      }
      persistentStoreCoordinator.addPersistentStore(with: description, completionHandler: completionHandler)
    }
  }

  /// Returns a new context with a private queue.
  open func newBackgroundContext() -> NSManagedObjectContext {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = persistentStoreCoordinator
    return context
  }

  /// Executes a block with a new context on a private queue.
  @preconcurrency
  open func performBackgroundTask(_ block: @escaping @Sendable (NSManagedObjectContext) -> Void) {
    let context = newBackgroundContext()
    context.perform { block(context) }
  }

  /// Executes a block with a new context on a private queue and returns the block's result.
  ///
  /// - Throws: The block's error.
  @preconcurrency
  public func performBackgroundTask<Result: Sendable>(
    _ block: @escaping @Sendable (NSManagedObjectContext) throws -> Result
  ) async rethrows -> Result {
    let context = newBackgroundContext()
    return try await context.perform { try block(context) }
  }
}

/// The error that a container's name matches no model.
struct MissingModelError: LocalizedError {
  let name: String
  var errorDescription: String? {
    "there is no model \(name).xcdatamodeld among the program's resources, or it has no entities; give its target .copy(\"\(name).xcdatamodeld\")"
  }
}

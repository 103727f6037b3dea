// NSPersistentContainer: a model, its stores and their contexts.
import Dispatch
public import Foundation
import ObjectContext
import ObjectModel
public import StoreKeys

/// A model with its stores and contexts: the stack that an application sets up once.
open class NSPersistentContainer: NSObject, @unchecked Sendable {  // the lock guards what changes
  private let ownName: String
  private let ownCoordinator: NSPersistentStoreCoordinator
  private let ownViewContext: NSManagedObjectContext
  // The lock guards what changes: descriptions are objects, which a `Mutex` does not give out.
  private let lock = NSLock()
  private var descriptions: [NSPersistentStoreDescription]

  /// The key of stores whose descriptions have none of their own.
  public static var defaultEncryptionKey: StoreKey? {
    get { DefaultEncryptionKey.key }
    set { DefaultEncryptionKey.key = newValue }
  }

  /// A container of the model of its name among the program's resources. Where there is none, loading its stores tells so.
  public convenience init(name: String) {
    let model = ModelBundles.model(named: name).flatMap { NSManagedObjectModel(contentsOf: $0) }
    self.init(name: name, managedObjectModel: model ?? NSManagedObjectModel())
  }

  /// A container of a model. Its one store lies in ``defaultDirectoryURL()``, unless it is given other descriptions.
  public init(name: String, managedObjectModel model: NSManagedObjectModel) {
    ownName = name
    ownCoordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    ownViewContext = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    let place = Self.defaultDirectoryURL().appendingPathComponent("\(name).sqlite")
    descriptions = [NSPersistentStoreDescription(url: place)]
    super.init()
    ownViewContext.persistentStoreCoordinator = ownCoordinator
  }

  /// A container of a coordinator whose stores are open.
  init(name: String, coordinator: NSPersistentStoreCoordinator, viewContext: NSManagedObjectContext) {
    (ownName, ownCoordinator, ownViewContext, descriptions) = (name, coordinator, viewContext, [])
  }

  /// Where stores lie whose descriptions say no other place.
  open class func defaultDirectoryURL() -> URL {
    let folder =
      FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first ?? URL(fileURLWithPath: NSHomeDirectory())
    let program = ProcessInfo.processInfo.processName
    let own = folder.appendingPathComponent(program)
    // Where the folder cannot be made the store says so when it is opened.
    try? FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
    return own
  }

  /// The container's name.
  open var name: String { ownName }
  /// The coordinator of the stores.
  open var persistentStoreCoordinator: NSPersistentStoreCoordinator { ownCoordinator }
  /// The main thread's context.
  open var viewContext: NSManagedObjectContext { ownViewContext }
  /// The model.
  open var managedObjectModel: NSManagedObjectModel { persistentStoreCoordinator.managedObjectModel }

  /// The stores to open.
  open var persistentStoreDescriptions: [NSPersistentStoreDescription] {
    get { lock.withLock { descriptions } }
    set { lock.withLock { descriptions = newValue } }
  }

  /// Opens the stores, and tells of each what came of it: before it returns, unless a description says otherwise.
  open func loadPersistentStores(completionHandler: @escaping (NSPersistentStoreDescription, (any Error)?) -> Void) {
    for description in persistentStoreDescriptions {
      guard !managedObjectModel.model.entities.isEmpty else {
        completionHandler(description, CoreDataError.make(MissingModelError(name: name)))
        continue
      }
      persistentStoreCoordinator.addPersistentStore(with: description, completionHandler: completionHandler)
    }
  }

  /// A new context on a queue of its own.
  open func newBackgroundContext() -> NSManagedObjectContext {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = persistentStoreCoordinator
    return context
  }

  /// Does work with a context of its own, on a queue of its own.
  @preconcurrency
  open func performBackgroundTask(_ block: @escaping @Sendable (NSManagedObjectContext) -> Void) {
    let context = newBackgroundContext()
    context.perform { block(context) }
  }

  /// Does work with a context of its own, on a queue of its own, and gives what it gives.
  ///
  /// - Throws: What the work throws.
  @preconcurrency
  public func performBackgroundTask<Result: Sendable>(
    _ block: @escaping @Sendable (NSManagedObjectContext) throws -> Result
  ) async rethrows -> Result {
    let context = newBackgroundContext()
    return try await context.perform { try block(context) }
  }
}

/// There is no model of a container's name.
struct MissingModelError: LocalizedError {
  let name: String
  var errorDescription: String? {
    "there is no model \(name).xcdatamodeld among the program's resources, or it has no entities; give its target .copy(\"\(name).xcdatamodeld\")"
  }
}

public import Foundation
import ObjectContext
public import ObjectModel

/// The results of a fetch request, sorted and divided into sections. The controller keeps them up to date and reports changes to its
/// delegate.
///
/// Results change at the end of an event: at the end of the main thread's current event, with
/// ``NSManagedObjectContext/processPendingChanges()``, with a save, or at the end of a block.
open class NSFetchedResultsController<ResultType>: NSObject {
  /// The fetch request. Changes of it take effect at the next ``performFetch()``.
  public let fetchRequest: NSFetchRequest<ResultType>
  private let core: ResultsCore

  /// Creates a controller without results.
  ///
  /// - Parameters:
  ///   - fetchRequest: The fetch request, which must have a sort order.
  ///   - context: The context.
  ///   - sectionNameKeyPath: The key path of the section name, which must be the first sort key; nil for no sections.
  ///   - name: Has no effect: results are not cached outside of the store.
  public init(
    fetchRequest: NSFetchRequest<ResultType>, managedObjectContext context: NSManagedObjectContext, sectionNameKeyPath: String?,
    cacheName name: String?
  ) {
    self.fetchRequest = fetchRequest
    core = ResultsCore(fetchRequest.contents, context, sectionNameKeyPath, name)
  }

  /// Creates a controller for the same results with another result type.
  init(_ core: ResultsCore) {
    fetchRequest = NSFetchRequest(sharing: core.contents)
    self.core = core
  }

  /// The context.
  open var managedObjectContext: NSManagedObjectContext { core.context }
  /// The key path of the section name.
  open var sectionNameKeyPath: String? { core.sectionNameKeyPath }
  /// The cache name.
  open var cacheName: String? { core.cacheName }
  /// The delegate that is notified of changes. It is not retained.
  open weak var delegate: (any NSFetchedResultsControllerDelegate)? {
    get { core.delegate }
    set { core.delegate = newValue }
  }

  /// Does nothing: results are not cached outside of the store.
  open class func deleteCache(withName name: String?) {}

  /// Fetches the results and keeps them up to date from then on.
  ///
  /// - Throws: `NSError`.
  open func performFetch() throws { try CoreDataError.translating { try core.performFetch(fetchRequest.storeIdentifiers) } }

  /// The results; nil before the first fetch. They are faults that are read in batches.
  open var fetchedObjects: [ResultType]? { core.objects.map(typed) }

  private func typed(_ objects: [ManagedObject]) -> [ResultType] { objects.compactMap { $0 as? ResultType } }

  /// Returns the result at an index path. If there is none, the result is an object without values and context, and an error is recorded as
  /// the context's pending error.
  open func object(at indexPath: IndexPath) -> ResultType {
    if let object = core.object(at: indexPath) as? ResultType { return object }
    if let object = core.recordMissingObject(at: indexPath) as? ResultType { return object }
    // A result type that does not match the fetched class is a programming error, as on Apple's systems.
    preconditionFailure("the results of “\(fetchRequest.entityName ?? "")” are not objects of \(ResultType.self)")
  }

  /// Returns the index path of an object; nil if it is not a result.
  open func indexPath(forObject object: ResultType) -> IndexPath? { (object as? ManagedObject).flatMap(core.indexPath) }

  /// The sections; nil before the first fetch. Without a section key path, there is one section.
  open var sections: [any NSFetchedResultsSectionInfo]? { core.sections }
  /// The index titles of the sections.
  open var sectionIndexTitles: [String] { core.sectionIndexTitles }
  /// Returns the index title of a section: the uppercase first letter of its name.
  open func sectionIndexTitle(forSectionName sectionName: String) -> String? { sectionName.first.map { String($0).uppercased() } }
  /// Returns the section for an index title; 0 if there is none.
  ///
  /// - Parameters:
  ///   - title: The index title.
  ///   - sectionIndex: The position of the title among the index titles.
  open func section(forSectionIndexTitle title: String, at sectionIndex: Int) -> Int { core.section(forIndexTitle: title) }

  /// Returns whether both are the same controller, regardless of the result type.
  open override func isEqual(_ object: Any?) -> Bool { (object as? any ResultsController)?.identity == identity }
  /// A hash of the controller's identity.
  open override var hash: Int { identity.hashValue }
}

/// A controller of any result type.
private protocol ResultsController {
  var identity: ObjectIdentifier { get }
}

extension NSFetchedResultsController: ResultsController {
  fileprivate var identity: ObjectIdentifier { ObjectIdentifier(core) }

  /// Returns whether both are the same controller. Delegates receive the controller with another result type, which is a different type in
  /// Swift.
  public static func === <Other>(one: NSFetchedResultsController<ResultType>, other: NSFetchedResultsController<Other>?) -> Bool {
    one.identity == other?.identity
  }
  /// Returns whether the controllers are different.
  public static func !== <Other>(one: NSFetchedResultsController<ResultType>, other: NSFetchedResultsController<Other>?) -> Bool {
    one.identity != other?.identity
  }
  /// Returns whether both are the same controller.
  public static func == <Other>(one: NSFetchedResultsController<ResultType>, other: NSFetchedResultsController<Other>?) -> Bool {
    one.identity == other?.identity
  }
  /// Returns whether the controllers are different.
  public static func != <Other>(one: NSFetchedResultsController<ResultType>, other: NSFetchedResultsController<Other>?) -> Bool {
    one.identity != other?.identity
  }
}

/// The kind of a change to an object or a section.
public enum NSFetchedResultsChangeType: UInt, Sendable {
  /// It was inserted.
  case insert = 1
  /// It was deleted.
  case delete = 2
  /// It was moved.
  case move = 3
  /// Its values changed.
  case update = 4
}

/// A section of results.
public protocol NSFetchedResultsSectionInfo {
  /// The section's name: the common value of its objects.
  var name: String { get }
  /// The section's title in the index of a list.
  var indexTitle: String? { get }
  /// The number of objects in the section.
  var numberOfObjects: Int { get }
  /// The objects.
  var objects: [Any]? { get }
}

/// An observer of changes to a controller's results. All methods have default implementations that do nothing, except for the section index
/// title.
///
/// The controller passed to the methods equals the one that was created (`==`, `===`).
public protocol NSFetchedResultsControllerDelegate: AnyObject {
  /// Called after an object was inserted, deleted, moved or changed.
  ///
  /// - Parameters:
  ///   - controller: The controller.
  ///   - anObject: The object.
  ///   - indexPath: The previous index path; nil for an insertion.
  ///   - type: The kind of change.
  ///   - newIndexPath: The new index path; nil for a deletion.
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange anObject: Any, at indexPath: IndexPath?,
    for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?)

  /// Called after a section was inserted or deleted.
  ///
  /// - Parameters:
  ///   - controller: The controller.
  ///   - sectionInfo: The section.
  ///   - sectionIndex: The index of the section; for a deletion, the previous one.
  ///   - type: The kind of change.
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange sectionInfo: any NSFetchedResultsSectionInfo,
    atSectionIndex sectionIndex: Int, for type: NSFetchedResultsChangeType)

  /// Called before the results change.
  func controllerWillChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>)

  /// Called after the results changed.
  func controllerDidChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>)

  /// Called after the results changed, with the difference between the old and new object IDs, regardless of sections.
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChangeContentWith diff: CollectionDifference<NSManagedObjectID>)

  /// Returns the index title of a section. The default implementation returns the uppercase first letter of its name.
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>, sectionIndexTitleForSectionName sectionName: String
  ) -> String?
}

extension NSFetchedResultsControllerDelegate {
  /// Does nothing.
  ///
  /// - Parameters:
  ///   - controller: The controller.
  ///   - anObject: The object.
  ///   - indexPath: The previous index path.
  ///   - type: The kind of change.
  ///   - newIndexPath: The new index path.
  public func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange anObject: Any, at indexPath: IndexPath?,
    for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
  ) {}
  /// Does nothing.
  ///
  /// - Parameters:
  ///   - controller: The controller.
  ///   - sectionInfo: The section.
  ///   - sectionIndex: The index of the section.
  ///   - type: The kind of change.
  public func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange sectionInfo: any NSFetchedResultsSectionInfo,
    atSectionIndex sectionIndex: Int, for type: NSFetchedResultsChangeType
  ) {}
  /// Does nothing.
  public func controllerWillChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>) {}
  /// Does nothing.
  public func controllerDidChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>) {}
  /// Does nothing.
  public func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChangeContentWith diff: CollectionDifference<NSManagedObjectID>
  ) {}
  /// Returns the uppercase first letter of the name.
  public func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>, sectionIndexTitleForSectionName sectionName: String
  ) -> String? { controller.sectionIndexTitle(forSectionName: sectionName) }
}

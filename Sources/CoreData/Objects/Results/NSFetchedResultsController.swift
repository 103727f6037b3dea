// NSFetchedResultsController: results that are kept up to date, as an object.
public import Foundation
import ObjectContext
import ObjectModel

/// The results of a request, in order and in sections, which stay what a fetch would find, and tell how they change.
///
/// Results change at the end of an event: with the turn of the main thread, with ``NSManagedObjectContext/processPendingChanges()``, a save or the end of a block.
open class NSFetchedResultsController<ResultType>: NSObject {
  /// What is fetched. What is changed of it is heeded by the next ``performFetch()``.
  public let fetchRequest: NSFetchRequest<ResultType>
  private let core: ResultsCore

  /// A controller that has fetched nothing yet.
  ///
  /// - Parameters:
  ///   - fetchRequest: What is fetched. It needs an order.
  ///   - context: The context.
  ///   - sectionNameKeyPath: The path of what names the sections, by which the order has to begin; nil for none.
  ///   - name: Accepted, and of no effect: nothing is cached outside of the store.
  public init(
    fetchRequest: NSFetchRequest<ResultType>, managedObjectContext context: NSManagedObjectContext, sectionNameKeyPath: String?,
    cacheName name: String?
  ) {
    self.fetchRequest = fetchRequest
    core = ResultsCore(fetchRequest.question, context, sectionNameKeyPath, name)
  }

  /// The same controller for results of another type.
  init(_ core: ResultsCore) {
    fetchRequest = NSFetchRequest(sharing: core.question)
    self.core = core
  }

  /// The context.
  open var managedObjectContext: NSManagedObjectContext { core.context }
  /// The path of what names the sections.
  open var sectionNameKeyPath: String? { core.sectionNameKeyPath }
  /// The name that was given.
  open var cacheName: String? { core.cacheName }
  /// Who is told how results change. It is not held.
  open weak var delegate: (any NSFetchedResultsControllerDelegate)? {
    get { core.delegate }
    set { core.delegate = newValue }
  }

  /// Does nothing: nothing is cached outside of the store.
  open class func deleteCache(withName name: String?) {}

  /// Fetches, and keeps the results up to date from then on.
  ///
  /// - Throws: `NSError`.
  open func performFetch() throws { try CoreDataError.translating { try core.performFetch(fetchRequest.storeIdentifiers) } }

  /// The results; nil until they are fetched. They are faults, read together.
  open var fetchedObjects: [ResultType]? { core.objects.map(typed) }

  private func typed(_ objects: [ManagedObject]) -> [ResultType] { objects.compactMap { $0 as? ResultType } }

  /// The result at a place. Where there is none it is an object without values that is in no context, and the context's pending error tells.
  open func object(at indexPath: IndexPath) -> ResultType {
    if let object = core.object(at: indexPath) as? ResultType { return object }
    if let object = core.noObject(at: indexPath) as? ResultType { return object }
    // A result of another class than the controller is of is a mistake of the program, as on Apple's systems.
    preconditionFailure("the results of “\(fetchRequest.entityName ?? "")” are no objects of \(ResultType.self)")
  }

  /// Where an object stands; nil for one that is no result.
  open func indexPath(forObject object: ResultType) -> IndexPath? { (object as? ManagedObject).flatMap(core.indexPath) }

  /// The sections; nil until they are fetched. Results without sections are in one.
  open var sections: [any NSFetchedResultsSectionInfo]? { core.sections }
  /// What stands for the sections in an index.
  open var sectionIndexTitles: [String] { core.sectionIndexTitles }
  /// What stands for a section in an index: the first letter of its name, in upper case.
  open func sectionIndexTitle(forSectionName sectionName: String) -> String? { sectionName.first.map { String($0).uppercased() } }
  /// The section that an index title stands for; 0 where there is none.
  ///
  /// - Parameters:
  ///   - title: The title.
  ///   - sectionIndex: Its place among the titles.
  open func section(forSectionIndexTitle title: String, at sectionIndex: Int) -> Int { core.section(forIndexTitle: title) }

  /// Whether it is the same controller, of whatever type its results are shown to be.
  open override func isEqual(_ object: Any?) -> Bool { (object as? any ResultsController)?.identity == identity }
  /// The hash of the identity.
  open override var hash: Int { identity.hashValue }
}

/// A controller of results of any type.
private protocol ResultsController {
  var identity: ObjectIdentifier { get }
}

extension NSFetchedResultsController: ResultsController {
  fileprivate var identity: ObjectIdentifier { ObjectIdentifier(core) }

  /// Whether two are the same controller. A delegate gets its controller as one of results of any type, which in Swift is another type.
  public static func === <Other>(one: NSFetchedResultsController<ResultType>, other: NSFetchedResultsController<Other>?) -> Bool {
    one.identity == other?.identity
  }
  /// Whether two are other controllers.
  public static func !== <Other>(one: NSFetchedResultsController<ResultType>, other: NSFetchedResultsController<Other>?) -> Bool {
    one.identity != other?.identity
  }
  /// Whether two are the same controller.
  public static func == <Other>(one: NSFetchedResultsController<ResultType>, other: NSFetchedResultsController<Other>?) -> Bool {
    one.identity == other?.identity
  }
  /// Whether two are other controllers.
  public static func != <Other>(one: NSFetchedResultsController<ResultType>, other: NSFetchedResultsController<Other>?) -> Bool {
    one.identity != other?.identity
  }
}

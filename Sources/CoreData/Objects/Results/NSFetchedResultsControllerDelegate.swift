// NSFetchedResultsControllerDelegate: who is told how results change.
public import Foundation
public import ObjectModel

/// What has become of an object or a section.
public enum NSFetchedResultsChangeType: UInt, Sendable {
  /// It has come.
  case insert = 1
  /// It has gone.
  case delete = 2
  /// It stands elsewhere.
  case move = 3
  /// Its values were changed.
  case update = 4
}

/// A section of results.
public protocol NSFetchedResultsSectionInfo {
  /// What the objects of the section have in common.
  var name: String { get }
  /// What stands for the section in an index beside a list.
  var indexTitle: String? { get }
  /// How many objects there are in the section.
  var numberOfObjects: Int { get }
  /// The objects.
  var objects: [Any]? { get }
}

/// Who is told how results change. All functions have implementations that do nothing.
///
/// The controller that they get equals the one that was made (`==`, `===`).
public protocol NSFetchedResultsControllerDelegate: AnyObject {
  /// An object has come, gone, moved or changed.
  ///
  /// - Parameters:
  ///   - controller: The controller.
  ///   - anObject: The object.
  ///   - indexPath: Where it stood; nil for one that has come.
  ///   - type: What has become of it.
  ///   - newIndexPath: Where it stands now; nil for one that has gone.
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange anObject: Any, at indexPath: IndexPath?,
    for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?)

  /// A section has come or gone.
  ///
  /// - Parameters:
  ///   - controller: The controller.
  ///   - sectionInfo: The section.
  ///   - sectionIndex: Where it stands, or stood.
  ///   - type: What has become of it.
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange sectionInfo: any NSFetchedResultsSectionInfo,
    atSectionIndex sectionIndex: Int, for type: NSFetchedResultsChangeType)

  /// Results are about to change.
  func controllerWillChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>)

  /// Results have changed.
  func controllerDidChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>)

  /// Results have changed: what takes the IDs of the objects before to those after, whatever their sections are.
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChangeContentWith diff: CollectionDifference<NSManagedObjectID>)

  /// What stands for a section in an index. The implementation that there is gives the first letter of the name.
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
  ///   - indexPath: Where it stood.
  ///   - type: What has become of it.
  ///   - newIndexPath: Where it stands now.
  public func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange anObject: Any, at indexPath: IndexPath?,
    for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
  ) {}
  /// Does nothing.
  ///
  /// - Parameters:
  ///   - controller: The controller.
  ///   - sectionInfo: The section.
  ///   - sectionIndex: Where it stands.
  ///   - type: What has become of it.
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
  /// The first letter of the name, in upper case.
  public func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>, sectionIndexTitleForSectionName sectionName: String
  ) -> String? { controller.sectionIndexTitle(forSectionName: sectionName) }
}

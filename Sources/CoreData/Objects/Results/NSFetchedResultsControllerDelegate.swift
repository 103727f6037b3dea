public import Foundation
public import ObjectModel

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

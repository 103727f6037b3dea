// FetchedResultsControllerDelegate: who is told step by step how results change.
public import Foundation

/// What has become of an object or a section of a ``FetchedResultsController``, with Core Data's values.
public enum FetchedResultsChangeType: UInt, Sendable, Hashable, CaseIterable {
  /// It has come.
  case insert = 1
  /// It has gone.
  case delete = 2
  /// It stands elsewhere.
  case move = 3
  /// It stands where it stood, and its values were changed.
  case update = 4
}

/// Who is told step by step how the results of a ``FetchedResultsController`` change, in the context's isolation, at the end of the event that changes them.
///
/// All methods have defaults that do nothing. A change is told by ``controllerWillChangeContent(_:)``, while the controller has the results before; then, when it has those after, by sections
/// that have gone and come, by objects that have gone, come, moved and been updated; then by `controller(_:didChangeContentWith:)` for a ``ResultsChange``, which has all of it as one value, and by
/// ``controllerDidChangeContent(_:)``. Methods may fetch, change objects and save: what changes by that is told next.
///
/// A delegate that has `controller(_:didChangeContentWith:)` for a ``ResultsSnapshot`` is told by it alone, as by Core Data: once when the results are fetched, and once after each event
/// that changes them; of the other methods only those about index titles and failures are called. Each of these snapshots takes time by the number of the results.
///
/// A class of the main actor conforms by `@MainActor FetchedResultsControllerDelegate`.
public protocol FetchedResultsControllerDelegate<Object>: AnyObject {
  /// The class of the results.
  associatedtype Object: ManagedObject
  /// What the method for snapshots returns: nothing where the delegate has it, ``_NoSnapshots`` where it has the default.
  associatedtype _SnapshotAnswer

  /// Results are about to change.
  func controllerWillChangeContent(_ controller: FetchedResultsController<Object>)

  /// A section has gone or come.
  ///
  /// - Parameters:
  ///   - controller: The controller.
  ///   - section: The section. One that has gone has no objects.
  ///   - sectionIndex: Its place: before, if it has gone, otherwise after.
  ///   - type: ``FetchedResultsChangeType/delete`` or ``FetchedResultsChangeType/insert``.
  func controller(
    _ controller: FetchedResultsController<Object>, didChange section: FetchedResultsSectionInfo<Object>, atSectionIndex sectionIndex: Int,
    for type: FetchedResultsChangeType)

  /// An object has gone, come, moved or been updated.
  ///
  /// - Parameters:
  ///   - controller: The controller.
  ///   - object: The object. One that others have deleted has no values.
  ///   - indexPath: Its place before; nil if it has come.
  ///   - type: What has become of it.
  ///   - newIndexPath: Its place after; nil if it has gone.
  func controller(
    _ controller: FetchedResultsController<Object>, didChange object: Object, at indexPath: IndexPath?, for type: FetchedResultsChangeType,
    newIndexPath: IndexPath?)

  /// What stands for a section in an index beside a list. The default is the first letter of its name, in upper case.
  func controller(_ controller: FetchedResultsController<Object>, sectionIndexTitleForSectionName sectionName: String) -> String?

  /// Results have changed, in the ways that one value tells.
  func controller(_ controller: FetchedResultsController<Object>, didChangeContentWith change: ResultsChange)

  /// Results have been fetched, or have changed: the IDs of all of them, as diffable lists take them. A method of this name that returns nothing takes the place of those
  /// that tell changes.
  ///
  /// ```swift
  /// func controller(_ controller: FetchedResultsController<Book>, didChangeContentWith snapshot: ResultsSnapshot) {
  ///   show(snapshot)
  /// }
  /// ```
  func controller(_ controller: FetchedResultsController<Object>, didChangeContentWith snapshot: ResultsSnapshot) -> _SnapshotAnswer

  /// Results have changed.
  func controllerDidChangeContent(_ controller: FetchedResultsController<Object>)

  /// The results are kept up to date no more, until they are fetched again: their order has come to tear sections apart.
  func controller(_ controller: FetchedResultsController<Object>, didFailWith error: ResultsError)
}

extension FetchedResultsControllerDelegate {
  /// Does nothing.
  public func controllerWillChangeContent(_ controller: FetchedResultsController<Object>) {}
  /// Does nothing.
  ///
  /// - Parameters:
  ///   - controller: The controller.
  ///   - section: The section.
  ///   - sectionIndex: Its place.
  ///   - type: What has become of it.
  public func controller(
    _ controller: FetchedResultsController<Object>, didChange section: FetchedResultsSectionInfo<Object>, atSectionIndex sectionIndex: Int,
    for type: FetchedResultsChangeType
  ) {}
  /// Does nothing.
  ///
  /// - Parameters:
  ///   - controller: The controller.
  ///   - object: The object.
  ///   - indexPath: Its place before.
  ///   - type: What has become of it.
  ///   - newIndexPath: Its place after.
  public func controller(
    _ controller: FetchedResultsController<Object>, didChange object: Object, at indexPath: IndexPath?, for type: FetchedResultsChangeType,
    newIndexPath: IndexPath?
  ) {}
  /// The first letter of the name, in upper case.
  public func controller(_ controller: FetchedResultsController<Object>, sectionIndexTitleForSectionName sectionName: String) -> String? {
    controller.defaultIndexTitle(ofSection: sectionName)
  }
  /// Does nothing.
  public func controller(_ controller: FetchedResultsController<Object>, didChangeContentWith change: ResultsChange) {}
  /// Is never called: it says that the delegate takes no snapshots.
  public func controller(_ controller: FetchedResultsController<Object>, didChangeContentWith snapshot: ResultsSnapshot) -> _NoSnapshots {
    _NoSnapshots()
  }
  /// Does nothing.
  public func controllerDidChangeContent(_ controller: FetchedResultsController<Object>) {}
  /// Does nothing.
  public func controller(_ controller: FetchedResultsController<Object>, didFailWith error: ResultsError) {}
}

/// What a ``FetchedResultsControllerDelegate`` answers that takes no snapshots.
public struct _NoSnapshots {
  fileprivate init() {}
}

extension FetchedResultsControllerDelegate {
  /// Whether the delegate has a method for snapshots of its own.
  static var takesSnapshots: Bool { _SnapshotAnswer.self == Void.self }
}

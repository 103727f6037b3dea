public import Foundation
import ObjectModel

/// The kind of a change of an object or a section in a ``FetchedResultsController``, with Core Data's raw values.
public enum FetchedResultsChangeType: UInt, Sendable, Hashable, CaseIterable {
  /// The object or section was inserted.
  case insert = 1
  /// The object or section was removed.
  case delete = 2
  /// The object was moved.
  case move = 3
  /// The object kept its position, and its values changed.
  case update = 4
}

/// A delegate that is notified of the changes of a ``FetchedResultsController``, in the context's isolation, at the end of the event that
/// causes them.
///
/// All methods have default implementations. For each change, the controller calls the methods in this order:
///
/// 1. ``controllerWillChangeContent(_:)``, while it still has the old results;
/// 2. the method for sections: removed ones, then inserted ones;
/// 3. the method for objects: removed, inserted, moved, and updated ones;
/// 4. `controller(_:didChangeContentWith:)` for a ``ResultsChange``, which contains the complete change as one value;
/// 5. ``controllerDidChangeContent(_:)``.
///
/// The methods can fetch, change objects, and save. Changes of the results that they cause are reported next.
///
/// A delegate that implements `controller(_:didChangeContentWith:)` for a ``ResultsSnapshot`` receives snapshots instead, as in Core Data:
/// one after the fetch, and one after each event that changes the results. Of the other methods, only those for index titles and failures
/// are called. Creating a snapshot takes O(*n*) in the number of results.
///
/// A main-actor class conforms with `@MainActor FetchedResultsControllerDelegate`.
public protocol FetchedResultsControllerDelegate<Object>: AnyObject {
  /// The class of the results.
  associatedtype Object: ManagedObject
  /// The result type of the snapshot method: `Void` if the delegate implements it, ``NoSnapshots`` for the default implementation.
  associatedtype SnapshotAnswer

  /// Notifies the delegate that the results are about to change.
  func controllerWillChangeContent(_ controller: FetchedResultsController<Object>)

  /// Notifies the delegate that a section was removed or inserted.
  ///
  /// - Parameters:
  ///   - controller: The controller.
  ///   - section: The section. A removed section has no objects.
  ///   - sectionIndex: The index of the section: in the old results if it was removed, otherwise in the new ones.
  ///   - type: ``FetchedResultsChangeType/delete`` or ``FetchedResultsChangeType/insert``.
  func controller(
    _ controller: FetchedResultsController<Object>, didChange section: FetchedResultsSectionInfo<Object>, atSectionIndex sectionIndex: Int,
    for type: FetchedResultsChangeType)

  /// Notifies the delegate that an object was removed, inserted, moved, or updated.
  ///
  /// - Parameters:
  ///   - controller: The controller.
  ///   - object: The object. An object deleted by another context or process has no values.
  ///   - indexPath: The index path in the old results; nil for an inserted object.
  ///   - type: The kind of change.
  ///   - newIndexPath: The index path in the new results; nil for a removed object.
  func controller(
    _ controller: FetchedResultsController<Object>, didChange object: Object, at indexPath: IndexPath?, for type: FetchedResultsChangeType,
    newIndexPath: IndexPath?)

  /// Returns the title of a section in the section index of a list. The default is the uppercase first letter of its name.
  func controller(_ controller: FetchedResultsController<Object>, sectionIndexTitleForSectionName sectionName: String) -> String?

  /// Notifies the delegate that the results have changed, with the complete change as one value.
  func controller(_ controller: FetchedResultsController<Object>, didChangeContentWith change: ResultsChange)

  /// Notifies the delegate that the results were fetched or have changed, with the IDs of all results for a diffable data source.
  ///
  /// If the delegate implements a method with this name that returns nothing, it replaces the methods that report individual changes.
  ///
  /// ```swift
  /// func controller(_ controller: FetchedResultsController<Book>, didChangeContentWith snapshot: ResultsSnapshot) {
  ///   show(snapshot)
  /// }
  /// ```
  func controller(_ controller: FetchedResultsController<Object>, didChangeContentWith snapshot: ResultsSnapshot) -> SnapshotAnswer

  /// Notifies the delegate that the results have changed.
  func controllerDidChangeContent(_ controller: FetchedResultsController<Object>)

  /// Notifies the delegate that the results are no longer kept up to date until they are fetched again: their order no longer keeps the
  /// sections together.
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
  ///   - sectionIndex: The index of the section.
  ///   - type: The kind of change.
  public func controller(
    _ controller: FetchedResultsController<Object>, didChange section: FetchedResultsSectionInfo<Object>, atSectionIndex sectionIndex: Int,
    for type: FetchedResultsChangeType
  ) {}
  /// Does nothing.
  ///
  /// - Parameters:
  ///   - controller: The controller.
  ///   - object: The object.
  ///   - indexPath: The index path in the old results.
  ///   - type: The kind of change.
  ///   - newIndexPath: The index path in the new results.
  public func controller(
    _ controller: FetchedResultsController<Object>, didChange object: Object, at indexPath: IndexPath?, for type: FetchedResultsChangeType,
    newIndexPath: IndexPath?
  ) {}
  /// Returns the uppercase first letter of the name.
  public func controller(_ controller: FetchedResultsController<Object>, sectionIndexTitleForSectionName sectionName: String) -> String? {
    controller.defaultIndexTitle(ofSection: sectionName)
  }
  /// Does nothing.
  public func controller(_ controller: FetchedResultsController<Object>, didChangeContentWith change: ResultsChange) {}
  /// Never called. Its result type marks a delegate that does not receive snapshots.
  public func controller(_ controller: FetchedResultsController<Object>, didChangeContentWith snapshot: ResultsSnapshot) -> NoSnapshots {
    NoSnapshots()
  }
  /// Does nothing.
  public func controllerDidChangeContent(_ controller: FetchedResultsController<Object>) {}
  /// Does nothing.
  public func controller(_ controller: FetchedResultsController<Object>, didFailWith error: ResultsError) {}
}

/// The result type that marks a ``FetchedResultsControllerDelegate`` that does not receive snapshots.
public struct NoSnapshots {
  fileprivate init() {}
}

extension FetchedResultsControllerDelegate {
  /// Whether the delegate implements the snapshot method.
  static var takesSnapshots: Bool { SnapshotAnswer.self == Void.self }
}

/// A section of the results of a ``FetchedResultsController``. It belongs to the isolation of the controller's context and retains no
/// objects.
public struct FetchedResultsSectionInfo<Object: ManagedObject> {
  /// The name of the section: its value as text, or an empty string if there is no value.
  public let name: String
  /// The title in the section index of a list; nil for none.
  public let indexTitle: String?
  /// The number of objects in the section when this value was created.
  public let numberOfObjects: Int
  private weak var controller: FetchedResultsController<Object>?

  init(name: String, indexTitle: String?, numberOfObjects: Int, controller: FetchedResultsController<Object>) {
    (self.name, self.indexTitle, self.numberOfObjects) = (name, indexTitle, numberOfObjects)
    self.controller = controller
  }

  /// The objects that are in the section with this name now, in order. Objects that are not in memory are faults that are loaded together.
  public var objects: [Object] { controller?.objects(inSection: name) ?? [] }
}

// MARK: - Index paths of items

#if !canImport(Darwin)
  public import Foundation

  // On Darwin, UIKit and AppKit declare these members.
  extension IndexPath {
    /// Creates the index path of an item in a section.
    ///
    /// - Parameters:
    ///   - item: The index of the item in its section.
    ///   - section: The index of the section.
    public init(item: Int, section: Int) { self.init(indexes: [section, item]) }

    /// Creates the index path of a row in a section.
    ///
    /// - Parameters:
    ///   - row: The index of the row in its section.
    ///   - section: The index of the section.
    public init(row: Int, section: Int) { self.init(indexes: [section, row]) }

    /// The index of the section. The index path must have at least one index.
    public var section: Int { self[0] }
    /// The index of the item in its section. The index path must have at least two indexes.
    public var item: Int { self[1] }
    /// The index of the row in its section; the same as ``item``.
    public var row: Int { self[1] }
  }
#endif

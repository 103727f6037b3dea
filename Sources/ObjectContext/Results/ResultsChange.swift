public import Foundation
public import ObjectModel

/// The difference between an old and a new list of results.
///
/// Removed sections and objects have positions in the old list, inserted ones have positions in the new list, and moved and updated objects
/// have both. To transform the old list into the new one, apply the change in this order:
///
/// 1. Remove the objects in ``removed`` and ``moved`` at their old positions, from last to first.
/// 2. Remove ``removedSections``, from last to first. They are empty at this point.
/// 3. Insert ``insertedSections`` at their new positions, from first to last.
/// 4. Insert the objects in ``inserted`` and ``moved`` at their new positions, from first to last.
///
/// Table views apply changes in the same way. ``ResultsSnapshot/applying(_:)`` applies a change to a list of IDs. Objects whose positions
/// shift only because of other insertions and removals are not included. All arrays are in the order of positions; ``moved`` and
/// ``updated`` are in the order of the new positions. An index path consists of a section and a position in the section.
public struct ResultsChange: Sendable, Hashable {
  /// A section that was removed or inserted.
  public struct Section: Sendable, Hashable {
    /// The index of the section.
    public let index: Int
    /// The name of the section.
    public let name: String

    init(index: Int, name: String) { (self.index, self.name) = (index, name) }
  }

  /// An object that was removed or inserted.
  public struct Item: Sendable, Hashable {
    /// The index path of the object.
    public let indexPath: IndexPath
    /// The ID of the object.
    public let objectID: ManagedObjectID

    init(indexPath: IndexPath, objectID: ManagedObjectID) { (self.indexPath, self.objectID) = (indexPath, objectID) }
  }

  /// An object that is in both the old and the new results.
  public struct ChangedItem: Sendable, Hashable {
    /// The index path in the old results.
    public let oldIndexPath: IndexPath
    /// The index path in the new results.
    public let newIndexPath: IndexPath
    /// The ID of the object.
    public let objectID: ManagedObjectID
    /// Whether the object's own values changed. For a moved object, whether values other than its own sort values and section name changed.
    public let isUpdated: Bool

    init(oldIndexPath: IndexPath, newIndexPath: IndexPath, objectID: ManagedObjectID, isUpdated: Bool) {
      (self.oldIndexPath, self.newIndexPath) = (oldIndexPath, newIndexPath)
      (self.objectID, self.isUpdated) = (objectID, isUpdated)
    }
  }

  /// The removed sections, by their old indexes.
  public internal(set) var removedSections: [Section] = []
  /// The inserted sections, by their new indexes.
  public internal(set) var insertedSections: [Section] = []
  /// The objects that are no longer results, by their old index paths.
  public internal(set) var removed: [Item] = []
  /// The objects that have become results, by their new index paths.
  public internal(set) var inserted: [Item] = []
  /// The objects that have moved relative to other results, or into another section.
  public internal(set) var moved: [ChangedItem] = []
  /// The objects that have kept their positions and whose own values, or whose sort values from related objects, have changed.
  public internal(set) var updated: [ChangedItem] = []

  init() {}

  /// Whether the lists are equal.
  public var isEmpty: Bool {
    removedSections.isEmpty && insertedSections.isEmpty && removed.isEmpty && inserted.isEmpty && moved.isEmpty && updated.isEmpty
  }
}

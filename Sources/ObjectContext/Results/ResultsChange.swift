// ResultsChange: how a list of results has become another one, with the places of all that has come, gone, moved and changed.
public import Foundation
public import ObjectModel

/// How a list of results has become another one.
///
/// Removed sections and objects are told by their places in the list before, inserted ones by those in the list after, moved and updated ones by both. Applied in this order a
/// change makes of the old list the new one, always:
///
/// 1. remove the objects ``removed`` and ``moved`` from their places before, from the last to the first;
/// 2. remove ``removedSections``, from the last to the first: nothing is left in them;
/// 3. insert ``insertedSections`` at their places after, from the first to the last;
/// 4. insert the objects ``inserted`` and ``moved`` at their places after, from the first to the last.
///
/// That is what table views do too; ``ResultsSnapshot/applying(_:)`` does it with lists of IDs. Objects that only make room for others are not told of. All lists are in the order of
/// the places, those of ``moved`` and ``updated`` in that of the places after. An index path has two indexes: the section, and the place in it.
public struct ResultsChange: Sendable, Hashable {
  /// A section that has come or gone.
  public struct Section: Sendable, Hashable {
    /// Its place.
    public let index: Int
    /// Its name.
    public let name: String

    init(index: Int, name: String) { (self.index, self.name) = (index, name) }
  }

  /// An object that has come or gone.
  public struct Item: Sendable, Hashable {
    /// Its place.
    public let indexPath: IndexPath
    /// The object.
    public let objectID: ManagedObjectID

    init(indexPath: IndexPath, objectID: ManagedObjectID) { (self.indexPath, self.objectID) = (indexPath, objectID) }
  }

  /// An object that was a result before, and is one after.
  public struct Kept: Sendable, Hashable {
    /// Its place before.
    public let oldIndexPath: IndexPath
    /// Its place after.
    public let newIndexPath: IndexPath
    /// The object.
    public let objectID: ManagedObjectID
    /// Whether values of its own were changed; of a moved object, such that it is not sorted by.
    public let isUpdated: Bool

    init(oldIndexPath: IndexPath, newIndexPath: IndexPath, objectID: ManagedObjectID, isUpdated: Bool) {
      (self.oldIndexPath, self.newIndexPath) = (oldIndexPath, newIndexPath)
      (self.objectID, self.isUpdated) = (objectID, isUpdated)
    }
  }

  /// The sections that have gone, by their places before.
  public internal(set) var removedSections: [Section] = []
  /// The sections that have come, by their places after.
  public internal(set) var insertedSections: [Section] = []
  /// The objects that are results no more, by their places before.
  public internal(set) var removed: [Item] = []
  /// The objects that have become results, by their places after.
  public internal(set) var inserted: [Item] = []
  /// The objects that stand elsewhere among the others, or in another section.
  public internal(set) var moved: [Kept] = []
  /// The objects that stand where they stood, and whose values were changed: their own, or what they are sorted by.
  public internal(set) var updated: [Kept] = []

  init() {}

  /// Whether nothing has changed.
  public var isEmpty: Bool {
    removedSections.isEmpty && insertedSections.isEmpty && removed.isEmpty && inserted.isEmpty && moved.isEmpty && updated.isEmpty
  }
}

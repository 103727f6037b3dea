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

/// The results of a ``FetchedResultsController`` at one point in time: IDs in sections, as diffable data sources use them.
///
/// ```swift
/// let controller = FetchedResultsController(fetchRequest: Book.all.sorted { $0.title }, context: context)
/// try controller.performFetch()
/// let before = controller.snapshot
/// book.title = "Ulysses"
/// context.processPendingChanges()
/// print(controller.snapshot.difference(from: before).insertions)
/// ```
public struct ResultsSnapshot: Sendable, Hashable {
  /// A section with the IDs of its objects.
  public struct Section: Sendable, Hashable {
    /// The name of the section; empty if the results have no sections.
    public let name: String
    /// The IDs of the section's objects, in order.
    public internal(set) var itemIdentifiers: [ManagedObjectID]

    init(name: String, itemIdentifiers: [ManagedObjectID]) { (self.name, self.itemIdentifiers) = (name, itemIdentifiers) }
  }

  /// The sections, in order. Results without section names form one section.
  public internal(set) var sections: [Section]

  init(sections: [Section]) { self.sections = sections }

  /// The names of the sections, in order.
  public var sectionIdentifiers: [String] { sections.map(\.name) }
  /// The IDs of all objects, in order.
  public var itemIdentifiers: [ManagedObjectID] { sections.flatMap(\.itemIdentifiers) }
  /// The number of objects.
  public var numberOfItems: Int { sections.reduce(0) { $0 + $1.itemIdentifiers.count } }
  /// The number of sections.
  public var numberOfSections: Int { sections.count }

  /// Returns the IDs of a section's objects; empty if there is no section with the name.
  public func itemIdentifiers(inSection name: String) -> [ManagedObjectID] {
    sections.first { $0.name == name }?.itemIdentifiers ?? []
  }

  /// Returns the difference between the objects of another snapshot and those of this one, regardless of their sections. A move is a
  /// removal and an insertion that are associated with each other.
  ///
  /// - Complexity: That of `difference(from:)` for arrays.
  public func difference(from other: ResultsSnapshot) -> CollectionDifference<ManagedObjectID> {
    itemIdentifiers.difference(from: other.itemIdentifiers).inferringMoves()
  }

  /// Applies a change to this snapshot.
  ///
  /// - Parameter change: The change. This snapshot must be the one before it.
  /// - Returns: The snapshot after the change; nil if the change does not fit this snapshot.
  /// - Complexity: O(*n*) in the number of objects and changes.
  public func applying(_ change: ResultsChange) -> ResultsSnapshot? {
    var leaving: [Int: [Int]] = [:]
    for path in change.removed.map(\.indexPath) + change.moved.map(\.oldIndexPath) { leaving[path[0], default: []].append(path[1]) }
    var result = sections
    for (section, items) in leaving {
      guard result.indices.contains(section) else { return nil }
      let removedOffsets = Set(items)
      let kept = result[section].itemIdentifiers.enumerated().filter { !removedOffsets.contains($0.offset) }.map(\.element)
      guard kept.count + removedOffsets.count == result[section].itemIdentifiers.count, removedOffsets.count == items.count else {
        return nil
      }
      result[section].itemIdentifiers = kept
    }
    for section in change.removedSections.reversed() {
      guard result.indices.contains(section.index), result[section.index].itemIdentifiers.isEmpty else { return nil }
      result.remove(at: section.index)
    }
    for section in change.insertedSections {
      guard section.index <= result.count else { return nil }
      result.insert(Section(name: section.name, itemIdentifiers: []), at: section.index)
    }
    var arriving: [Int: [(item: Int, id: ManagedObjectID)]] = [:]
    for (path, id) in change.inserted.map({ ($0.indexPath, $0.objectID) }) + change.moved.map({ ($0.newIndexPath, $0.objectID) }) {
      arriving[path[0], default: []].append((path[1], id))
    }
    for (section, items) in arriving {
      guard result.indices.contains(section) else { return nil }
      guard let merged = Self.inserting(items.sorted { $0.item < $1.item }, into: result[section].itemIdentifiers) else { return nil }
      result[section].itemIdentifiers = merged
    }
    return ResultsSnapshot(sections: result)
  }

  /// Inserts items at their positions, in ascending order.
  private static func inserting(_ items: [(item: Int, id: ManagedObjectID)], into ids: [ManagedObjectID]) -> [ManagedObjectID]? {
    var result: [ManagedObjectID] = []
    result.reserveCapacity(ids.count + items.count)
    var rest = ids[...]
    for (item, id) in items {
      let missing = item - result.count
      guard missing >= 0, missing <= rest.count else { return nil }
      result += rest.prefix(missing)
      rest = rest.dropFirst(missing)
      result.append(id)
    }
    return result + rest
  }
}

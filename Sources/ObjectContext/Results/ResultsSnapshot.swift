import Foundation
public import ObjectModel

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

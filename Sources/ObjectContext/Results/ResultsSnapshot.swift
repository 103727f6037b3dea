// ResultsSnapshot: the IDs of results at one moment, section by section, as a value that may go anywhere.
import Foundation
public import ObjectModel

/// The results of a ``FetchedResultsController`` at one moment: IDs in sections, as diffable lists take them.
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
  /// A section and what is in it.
  public struct Section: Sendable, Hashable {
    /// The section's name; empty where results have no sections.
    public let name: String
    /// The objects, in order.
    public internal(set) var itemIdentifiers: [ManagedObjectID]

    init(name: String, itemIdentifiers: [ManagedObjectID]) { (self.name, self.itemIdentifiers) = (name, itemIdentifiers) }
  }

  /// The sections, in order. Results without sections are one.
  public internal(set) var sections: [Section]

  init(sections: [Section]) { self.sections = sections }

  /// The names of the sections, in order.
  public var sectionIdentifiers: [String] { sections.map(\.name) }
  /// The objects, in order.
  public var itemIdentifiers: [ManagedObjectID] { sections.flatMap(\.itemIdentifiers) }
  /// How many objects there are.
  public var numberOfItems: Int { sections.reduce(0) { $0 + $1.itemIdentifiers.count } }
  /// How many sections there are.
  public var numberOfSections: Int { sections.count }

  /// The objects of a section; empty where there is none of the name.
  public func itemIdentifiers(inSection name: String) -> [ManagedObjectID] {
    sections.first { $0.name == name }?.itemIdentifiers ?? []
  }

  /// What takes the objects of another snapshot to those of this one, whatever their sections are; moves are told as removals and insertions that belong together.
  /// Complexity: as that of `difference(from:)` of arrays.
  public func difference(from other: ResultsSnapshot) -> CollectionDifference<ManagedObjectID> {
    itemIdentifiers.difference(from: other.itemIdentifiers).inferringMoves()
  }

  /// The snapshot that a change makes of this one, which is the one before the change; nil where it is not. Linear in the number of objects and changes.
  public func applying(_ change: ResultsChange) -> ResultsSnapshot? {
    var leaving: [Int: [Int]] = [:]
    for path in change.removed.map(\.indexPath) + change.moved.map(\.oldIndexPath) { leaving[path[0], default: []].append(path[1]) }
    var result = sections
    for (section, items) in leaving {
      guard result.indices.contains(section) else { return nil }
      let gone = Set(items)
      let kept = result[section].itemIdentifiers.enumerated().filter { !gone.contains($0.offset) }.map(\.element)
      guard kept.count + gone.count == result[section].itemIdentifiers.count, gone.count == items.count else { return nil }
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

  /// Puts items at their places, from the first to the last.
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

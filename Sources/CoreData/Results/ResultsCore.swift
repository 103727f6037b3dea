import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore

/// The implementation of a fetched results controller, independent of its result type.
final class ResultsCore {
  let contents: FetchContents
  let context: NSManagedObjectContext
  let sectionNameKeyPath: String?
  let cacheName: String?
  weak var delegate: (any NSFetchedResultsControllerDelegate)?
  private var specification: FetchSpecification?
  private var controller: FetchedResultsController<ManagedObject>?
  /// The first indexes of the sections before a change.
  private var previousStarts: [Int] = []

  init(_ contents: FetchContents, _ context: NSManagedObjectContext, _ sectionNameKeyPath: String?, _ cacheName: String?) {
    (self.contents, self.context, self.sectionNameKeyPath, self.cacheName) = (contents, context, sectionNameKeyPath, cacheName)
  }

  func performFetch(_ stores: [String]?) throws {
    var asked = try contents.specification()
    asked.affectedStores = stores
    asked.resultType = .objects
    if asked != specification || controller == nil {
      let fresh = FetchedResultsController(
        fetchRequest: FetchRequest<ManagedObject>(asking: asked), context: context.context, sectionNameKeyPath: sectionNameKeyPath)
      try fresh.performFetch()
      fresh.delegate = self
      (controller, specification) = (fresh, asked)
    } else {
      try controller?.performFetch()
    }
  }

  // MARK: Results

  var objects: [ManagedObject]? { controller?.fetchedObjects }
  func object(at indexPath: IndexPath) -> ManagedObject? { indexPath.count == 2 ? controller?.object(at: indexPath) : nil }
  func indexPath(of object: ManagedObject) -> IndexPath? { controller?.indexPath(of: object) }

  /// Returns an empty object in place of a missing one, and records an error in the context.
  func recordMissingObject(at indexPath: IndexPath) -> ManagedObject? {
    context.context.recordError(MissingResultError(entity: contents.entityName ?? "", place: "\(Array(indexPath))"))
    return contents.entityName.flatMap { context.context.persistentStoreCoordinator.compiledModel.entity(named: $0) }.map {
      context.context.makeEmptyObject(ofEntity: $0.number)
    }
  }

  // MARK: Sections

  var sections: [Section]? { controller?.sections.map { $0.map(Section.init) } }
  var sectionIndexTitles: [String] { controller?.sectionIndexTitles ?? [] }
  func section(forIndexTitle title: String) -> Int { controller?.section(forIndexTitle: title) ?? 0 }

  struct Section: NSFetchedResultsSectionInfo {
    let info: FetchedResultsSectionInfo<ManagedObject>
    var name: String { info.name }
    var indexTitle: String? { info.indexTitle }
    var numberOfObjects: Int { info.numberOfObjects }
    var objects: [Any]? { info.objects }
  }

  private var starts: [Int] {
    var (starts, start) = ([Int](), 0)
    for section in controller?.sections ?? [] {
      starts.append(start)
      start += section.numberOfObjects
    }
    return starts
  }

  /// The controller that delegates receive.
  private var shown: NSFetchedResultsController<any NSFetchRequestResult> { NSFetchedResultsController(self) }
}

extension ResultsCore: FetchedResultsControllerDelegate {
  func controllerWillChangeContent(_ controller: FetchedResultsController<ManagedObject>) {
    guard let delegate else { return }
    previousStarts = starts
    delegate.controllerWillChangeContent(shown)
  }

  func controller(
    _ controller: FetchedResultsController<ManagedObject>, didChange section: FetchedResultsSectionInfo<ManagedObject>,
    atSectionIndex sectionIndex: Int, for type: FetchedResultsChangeType
  ) {
    delegate?.controller(shown, didChange: Section(info: section), atSectionIndex: sectionIndex, for: Self.type(type))
  }

  func controller(
    _ controller: FetchedResultsController<ManagedObject>, didChange object: ManagedObject, at indexPath: IndexPath?,
    for type: FetchedResultsChangeType, newIndexPath: IndexPath?
  ) {
    delegate?.controller(shown, didChange: object, at: indexPath, for: Self.type(type), newIndexPath: newIndexPath)
  }

  private static func type(_ type: FetchedResultsChangeType) -> NSFetchedResultsChangeType {
    switch type {
    case .insert: .insert
    case .delete: .delete
    case .move: .move
    case .update: .update
    }
  }

  func controller(_ controller: FetchedResultsController<ManagedObject>, sectionIndexTitleForSectionName sectionName: String) -> String? {
    guard let delegate else { return shown.sectionIndexTitle(forSectionName: sectionName) }
    return delegate.controller(shown, sectionIndexTitleForSectionName: sectionName)
  }

  func controller(_ controller: FetchedResultsController<ManagedObject>, didChangeContentWith change: ResultsChange) {
    guard let delegate, let difference = difference(change) else { return }
    delegate.controller(shown, didChangeContentWith: difference)
  }

  /// Returns a change as a difference of the positions among all results.
  private func difference(_ change: ResultsChange) -> CollectionDifference<NSManagedObjectID>? {
    let (former, present) = (previousStarts, starts)
    func place(_ path: IndexPath, _ starts: [Int]) -> Int? { starts.indices.contains(path[0]) ? starts[path[0]] + path[1] : nil }
    var steps: [CollectionDifference<NSManagedObjectID>.Change] = []
    for item in change.removed {
      guard let old = place(item.indexPath, former) else { return nil }
      steps.append(.remove(offset: old, element: item.objectID, associatedWith: nil))
    }
    for item in change.inserted {
      guard let new = place(item.indexPath, present) else { return nil }
      steps.append(.insert(offset: new, element: item.objectID, associatedWith: nil))
    }
    for item in change.moved {
      guard let old = place(item.oldIndexPath, former), let new = place(item.newIndexPath, present) else { return nil }
      steps.append(.remove(offset: old, element: item.objectID, associatedWith: new))
      steps.append(.insert(offset: new, element: item.objectID, associatedWith: old))
    }
    return CollectionDifference(steps)
  }

  func controllerDidChangeContent(_ controller: FetchedResultsController<ManagedObject>) { delegate?.controllerDidChangeContent(shown) }

  func controller(_ controller: FetchedResultsController<ManagedObject>, didFailWith error: ResultsError) {
    context.context.recordError(error)
  }
}

/// The error that there is no result at an index path.
struct MissingResultError: LocalizedError {
  let entity: String
  let place: String
  var errorDescription: String? { "there is no result of “\(entity)” at \(place); see the sections for the valid indexes" }
}

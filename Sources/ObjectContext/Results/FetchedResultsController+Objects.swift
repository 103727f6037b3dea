// FetchedResultsController+Objects: results as objects and as IDs, by their places.
public import Foundation
public import ObjectModel

extension FetchedResultsController {
  /// How many results there are; 0 until they are fetched.
  public var numberOfObjects: Int { results?.list.count ?? 0 }

  /// The results, in order; nil until they are fetched. Those that are not in memory are faults, which are read together. Linear in their number.
  public var fetchedObjects: [Object]? { results.map { objects(in: 0..<$0.list.count) } }

  /// The IDs of the results, in order; nil until they are fetched. Linear in their number.
  public var fetchedObjectIDs: [ManagedObjectID]? { results.map { $0.list.ids(in: 0..<$0.list.count) } }

  /// The IDs of the results, section by section; empty until they are fetched. Linear in their number.
  public var snapshot: ResultsSnapshot {
    guard let results else { return ResultsSnapshot(sections: []) }
    let list = results.list
    return ResultsSnapshot(
      sections: (0..<list.sectionCount).map { section in
        ResultsSnapshot.Section(
          name: results.name(ofSection: list.name(ofSection: section)), itemIdentifiers: list.ids(in: list.range(ofSection: section)))
      })
  }

  // MARK: By place

  /// The result at a place; nil where there is none. One that is not in memory is a fault, which is read with those around it.
  ///
  /// - Parameter indexPath: A section, and a place in it.
  public func object(at indexPath: IndexPath) -> Object? {
    guard let position = position(of: indexPath), let results else { return nil }
    let id = results.list.id(at: position)
    if let object = managedObjectContext.registeredObject(for: id) { return object as? Object }
    if page?.range.contains(position) != true {
      let start = position / FaultGroups.faultBatch * FaultGroups.faultBatch
      let range = start..<min(start + FaultGroups.faultBatch, results.list.count)
      page = (range, managedObjectContext.faultGroup(of: results.list.ids(in: range)))
    }
    let object = object(with: id, known: nil)
    if let page { object.join(page.group, at: position - page.range.lowerBound) }
    return object
  }

  /// The ID of the result at a place; nil where there is none.
  public func objectID(at indexPath: IndexPath) -> ManagedObjectID? { position(of: indexPath).flatMap { results?.list.id(at: $0) } }

  /// The place of a result; nil for an object that is none.
  public func indexPath(of object: Object) -> IndexPath? { indexPath(of: object.objectID) }

  /// The place of the result of an ID; nil where it is none.
  public func indexPath(of objectID: ManagedObjectID) -> IndexPath? {
    guard let list = results?.list, let position = list.position(of: objectID) else { return nil }
    let (section, item) = list.path(ofPosition: position)
    return IndexPath(indexes: [section, item])
  }

  private func position(of indexPath: IndexPath) -> Int? {
    guard let list = results?.list, indexPath.count == 2, (0..<list.sectionCount).contains(indexPath[0]) else { return nil }
    let range = list.range(ofSection: indexPath[0])
    return range.indices.contains(range.lowerBound + indexPath[1]) && indexPath[1] >= 0 ? range.lowerBound + indexPath[1] : nil
  }

  // MARK: Objects

  /// The objects of a section.
  func objects(inSection name: String) -> [Object] {
    guard let list = results?.list, let section = sections?.firstIndex(where: { $0.name == name }) else { return [] }
    return objects(in: list.range(ofSection: section))
  }

  private func objects(in range: Range<Int>) -> [Object] {
    guard let list = results?.list else { return [] }
    let ids = list.ids(in: range)
    let group = managedObjectContext.faultGroup(of: ids)
    return ids.enumerated().map { position, id in
      let object = object(with: id, known: nil)
      object.join(group, at: position)
      return object
    }
  }

  /// The object of an ID.
  ///
  /// - Parameter known: The object, where it is known: one that was deleted is found no more.
  func object(with id: ManagedObjectID, known: ManagedObject?) -> Object {
    let object = known ?? managedObjectContext.object(with: id)
    // Every result's class was checked; an ID that is of no use any more has a plain object.
    return object as? Object ?? managedObjectContext.goneObject(Object.self, id)
  }
}

extension ManagedObjectContext {
  /// A group of objects that are read together where they are faults; 0 for none.
  func faultGroup(of ids: [ManagedObjectID]) -> UInt32 {
    guard ids.count > 1, let first = ids.first, ids.allSatisfy({ $0.space == first.space && !$0.isTemporaryID }) else { return 0 }
    return faultGroups.add(ids.map(\.reference), space: first.space)
  }

  /// Throws what went wrong where nothing could be thrown.
  func tellNotedErrors() throws { try notedErrors.tell() }
}

public import Foundation
public import ObjectModel

extension FetchedResultsController {
  /// The number of results; 0 before they are fetched.
  public var numberOfObjects: Int { results?.list.count ?? 0 }

  /// The results, in order; nil before they are fetched. Objects that are not in memory are faults that are loaded together.
  ///
  /// - Complexity: O(*n*) in the number of results.
  public var fetchedObjects: [Object]? { results.map { objects(in: 0..<$0.list.count) } }

  /// The IDs of the results, in order; nil before they are fetched.
  ///
  /// - Complexity: O(*n*) in the number of results.
  public var fetchedObjectIDs: [ManagedObjectID]? { results.map { $0.list.ids(in: 0..<$0.list.count) } }

  /// The IDs of the results by section; empty before they are fetched.
  ///
  /// - Complexity: O(*n*) in the number of results.
  public var snapshot: ResultsSnapshot {
    guard let results else { return ResultsSnapshot(sections: []) }
    let list = results.list
    return ResultsSnapshot(
      sections: (0..<list.sectionCount).map { section in
        ResultsSnapshot.Section(
          name: results.name(ofSection: list.name(ofSection: section)), itemIdentifiers: list.ids(in: list.range(ofSection: section)))
      })
  }

  // MARK: Access by position

  /// Returns the result at an index path; nil if there is none. An object that is not in memory is a fault that is loaded together with its
  /// neighbors.
  ///
  /// - Parameter indexPath: The section, and the position in the section.
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

  /// Returns the ID of the result at an index path; nil if there is none.
  public func objectID(at indexPath: IndexPath) -> ManagedObjectID? { position(of: indexPath).flatMap { results?.list.id(at: $0) } }

  /// Returns the index path of a result; nil if the object is not a result.
  public func indexPath(of object: Object) -> IndexPath? { indexPath(of: object.objectID) }

  /// Returns the index path of the result with an ID; nil if it is not a result.
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

  /// Returns the object with an ID.
  ///
  /// - Parameter known: The object, if the caller has it. The context no longer finds a deleted object.
  func object(with id: ManagedObjectID, known: ManagedObject?) -> Object {
    let object = known ?? managedObjectContext.object(with: id)
    // The class of every result was checked. Only an ID that is no longer valid yields a placeholder object.
    return object as? Object ?? managedObjectContext.invalidObject(Object.self, id)
  }
}

extension ManagedObjectContext {
  /// Creates a group of objects whose faults are loaded together; 0 if there are fewer than two objects or they are not saved in the same
  /// store.
  func faultGroup(of ids: [ManagedObjectID]) -> UInt32 {
    guard ids.count > 1, let first = ids.first, ids.allSatisfy({ $0.space == first.space && !$0.isTemporaryID }) else { return 0 }
    return faultGroups.add(ids.map(\.reference), space: first.space)
  }

  /// Throws the recorded error, if it has not been thrown yet.
  func throwDeferredError() throws { try deferredErrors.throwRecorded() }
}

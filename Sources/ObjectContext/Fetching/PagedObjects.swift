import ObjectModel
import ObjectQuery
import ObjectStore

/// The objects of a list of IDs, whose rows are read in pages on access. Retains the most recently used pages.
final class PagedObjects {
  let ids: [ManagedObjectID]
  let pageSize: Int
  let context: ManagedObjectContext
  private let specification: FetchSpecification?
  /// The objects that were inserted when the list was created, by their temporary IDs. A save replaces these IDs.
  private let newObjects: [ManagedObjectID: ManagedObject]
  /// The retained pages, the most recently used last.
  private var pages: [Page] = []

  private struct Page {
    let number: Int
    let objects: [ManagedObject?]
    /// The intermediate objects of prefetched paths.
    let companions: [ManagedObject]
  }

  static var maximumPageCount: Int { 3 }

  /// - Parameter specification: The request whose prefetching, faulting, and refreshing options apply to each page.
  init(_ ids: [ManagedObjectID], pageSize: Int, specification: FetchSpecification? = nil, context: ManagedObjectContext) {
    self.ids = ids
    self.pageSize = max(pageSize, 1)
    self.specification = specification
    self.context = context
    newObjects = context.newObjects(among: ids)
  }

  /// Returns the objects of a page; nil for rows that no longer exist.
  func page(_ number: Int) throws -> [ManagedObject?] {
    if let last = pages.last, last.number == number { return last.objects }
    if let index = pages.firstIndex(where: { $0.number == number }) {
      let page = pages.remove(at: index)
      pages.append(page)
      return page.objects
    }
    let page = try read(number)
    if pages.count >= Self.maximumPageCount { pages.removeFirst() }
    pages.append(page)
    return page.objects
  }

  private func read(_ number: Int) throws -> Page {
    let start = number * pageSize
    var ids = ids[start..<min(start + pageSize, ids.count)]
    if !newObjects.isEmpty { ids = ids.map(currentID)[...] }
    let batch = try context.readBatch(ids, specification)
    return Page(number: number, objects: batch.objects, companions: batch.companions)
  }

  private func currentID(_ id: ManagedObjectID) -> ManagedObjectID { id.isTemporaryID ? newObjects[id]?.objectID ?? id : id }

  /// Returns the object at a position; nil if its row no longer exists.
  func existingObject(at position: Int) throws -> ManagedObject? { try page(position / pageSize)[position % pageSize] }

  /// Returns the object at a position; a fault if its row no longer exists. The context records an error and throws it later.
  func object(at position: Int) -> ManagedObject {
    do {
      if let object = try existingObject(at: position) { return object }
    } catch {
      context.record(error)
    }
    return context.object(with: currentID(ids[position]))
  }
}

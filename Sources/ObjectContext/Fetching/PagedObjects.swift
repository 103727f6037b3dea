// PagedObjects: the objects of a list of IDs, whose rows are read a page at a time as they are touched.
import ObjectModel
import ObjectQuery
import ObjectStore

/// The objects of a list of IDs. Rows are read a page at a time; the pages used last are held, others let go.
final class PagedObjects {
  let ids: [ManagedObjectID]
  let pageSize: Int
  let context: ManagedObjectContext
  private let specification: FetchSpecification?
  /// Those that were new: once they are saved, nobody finds them by the IDs that they had.
  private let newObjects: [ManagedObjectID: ManagedObject]
  /// The pages that are held, the one used last at the end.
  private var pages: [Page] = []

  private struct Page {
    let number: Int
    let objects: [ManagedObject?]
    /// Objects on the way of prefetched paths.
    let companions: [ManagedObject]
  }

  /// The pages that are held.
  static var heldPages: Int { 3 }

  /// Makes a list of which nothing was read.
  ///
  /// - Parameter specification: What is prefetched, fired and refreshed with each page.
  init(_ ids: [ManagedObjectID], pageSize: Int, specification: FetchSpecification? = nil, context: ManagedObjectContext) {
    self.ids = ids
    self.pageSize = max(pageSize, 1)
    self.specification = specification
    self.context = context
    newObjects = context.newObjects(among: ids)
  }

  /// The objects of a page; nil for rows that are gone.
  func page(_ number: Int) throws -> [ManagedObject?] {
    if let last = pages.last, last.number == number { return last.objects }
    if let index = pages.firstIndex(where: { $0.number == number }) {
      let page = pages.remove(at: index)
      pages.append(page)
      return page.objects
    }
    let page = try read(number)
    if pages.count >= Self.heldPages { pages.removeFirst() }
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

  /// The present ID of an object.
  private func currentID(_ id: ManagedObjectID) -> ManagedObjectID { id.isTemporaryID ? newObjects[id]?.objectID ?? id : id }

  /// The object at a position; nil when its row is gone.
  func objectIfThere(at position: Int) throws -> ManagedObject? { try page(position / pageSize)[position % pageSize] }

  /// The object at a position; one whose row is gone is a fault. What went wrong is kept by the context, which throws it later.
  func object(at position: Int) -> ManagedObject {
    do {
      if let object = try objectIfThere(at: position) { return object }
    } catch {
      context.note(error)
    }
    return context.object(with: currentID(ids[position]))
  }
}

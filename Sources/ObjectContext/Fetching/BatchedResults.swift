public import ObjectModel
public import ObjectQuery
import ObjectStore

/// The results of a fetch, in order, whose rows are read in pages on access.
///
/// ```swift
/// let books = try context.fetch(Book.all.sorted { $0.title }, batchSize: 50)
/// print(books.count, books[1_000].title)
/// ```
///
/// The fetch itself reads only the IDs. Accessing an object reads its page with one statement and releases the pages that were used least
/// recently. A long list therefore needs 16 bytes for each object, plus the memory of a few pages.
///
/// The fetch determines the list of objects, including the context's unsaved changes at that time. Values are those at the time their page
/// is read. If a row has been deleted since, its object is a fault with empty values. The collection belongs to the context's isolation. An
/// error while reading a page is stored in ``ManagedObjectContext/pendingError``, and the next fetch or save throws it.
public struct BatchedResults<Result: ManagedObject>: RandomAccessCollection {
  private let pages: PagedObjects

  init(_ pages: PagedObjects) { self.pages = pages }

  /// The IDs of the objects, in order.
  public var objectIDs: [ManagedObjectID] { pages.ids }
  /// The number of rows in a page.
  public var batchSize: Int { pages.pageSize }

  /// The position of the first object: 0.
  public var startIndex: Int { 0 }
  /// The number of objects.
  public var endIndex: Int { pages.ids.count }
  /// The object at a position. Reads the object's page if it is not loaded.
  public subscript(position: Int) -> Result {
    // An ID that is no longer valid, for example after a reset of the context, yields a placeholder object.
    pages.object(at: position) as? Result ?? pages.context.invalidObject(Result.self, pages.ids[position])
  }
}

extension ManagedObjectContext {
  /// Returns the objects that match a request as a collection that reads their rows in pages on access.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - batchSize: The number of rows in a page. Replaces the request's `fetchBatchSize`.
  /// - Throws: ``FetchPredicateError`` for an invalid request; ``StoreError`` from the store, or with ``StoreError/Code/invalidRequest`` if
  ///   the size is not positive.
  public func fetch<Result: ManagedObject>(_ request: FetchRequest<Result>, batchSize: Int) throws -> BatchedResults<Result> {
    guard batchSize > 0 else { throw StoreError(.emptyBatch(size: batchSize), operation: .fetch) }
    try checkClass(Result.self, for: request.specification)
    // The next lines would hide a negative batch size of the request.
    try request.specification.checkNumbers()
    var specification = request.specification
    specification.fetchBatchSize = batchSize
    specification.resultType = .objectIDs
    try prepareFetch()
    let ids = try objectIDs(of: FetchMergePlan(specification, context: self))
    return BatchedResults(PagedObjects(ids, pageSize: batchSize, specification: specification, context: self))
  }
}

extension StoreError.Reason {
  static func emptyBatch(size: Int) -> Self { Self(.invalidRequest, "A batch must have at least one object, not \(size).") }
}

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

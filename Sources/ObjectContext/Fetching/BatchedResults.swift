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

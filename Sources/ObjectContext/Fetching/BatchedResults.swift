// BatchedResults: the objects of a fetch, whose rows are read a page at a time as they are touched.
public import ObjectModel
public import ObjectQuery
import ObjectStore

/// The objects of a fetch, in order, of which only the IDs are read at first.
///
/// ```swift
/// var request = FetchRequest<Book>(entityName: "Book")
/// request.fetchBatchSize = 50
/// let books = try context.fetchBatched(request)
/// print(books.count, books[1_000].title)
/// ```
///
/// Rows arrive in pages as objects are touched, one statement for each page, and the pages behind are released: a long list takes the memory of 16 bytes for
/// each object, and of the few pages used last.
///
/// The fetch decides which objects there are, with the unsaved changes of that moment. Values are those of the time when their page is read. The object of
/// a row that was deleted since is a fault whose values are empty. The collection belongs to its context's isolation. An error while a page is
/// read is kept in ``ManagedObjectContext/pendingError``, and the next fetch or save throws it.
public struct BatchedResults<Result: ManagedObject>: RandomAccessCollection {
  private let pages: PagedObjects

  init(_ pages: PagedObjects) { self.pages = pages }

  /// The IDs of the objects, in order.
  public var objectIDs: [ManagedObjectID] { pages.ids }
  /// How many rows are read together.
  public var batchSize: Int { pages.pageSize }

  /// The position of the first object: 0.
  public var startIndex: Int { 0 }
  /// The number of objects.
  public var endIndex: Int { pages.ids.count }
  /// The object at a position. Reads its page if that is not at hand.
  public subscript(position: Int) -> Result {
    // An ID that is of no use any more, as after a reset of the context, has a plain object.
    pages.object(at: position) as? Result ?? pages.context.goneObject(Result.self, pages.ids[position])
  }
}

extension ManagedObjectContext {
  /// The objects that a request asks for, as a collection that reads their rows in pages of the request's `fetchBatchSize` (100 if it has none).
  ///
  /// - Throws: ``FetchPredicateError`` for what cannot be asked, ``StoreError`` from the store.
  public func fetchBatched<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> BatchedResults<Result> {
    let size = request.specification.fetchBatchSize
    return BatchedResults(try pagedObjects(of: request, pageSize: size > 0 ? size : 100))
  }

  /// The objects that a request asks for, as a collection that reads their rows in pages: what ``fetchBatched(_:)`` does with the request's own size.
  ///
  /// - Parameters:
  ///   - request: What is fetched.
  ///   - batchSize: How many rows a page has.
  /// - Throws: As ``fetchBatched(_:)``, and ``StoreError`` for a size that is not positive.
  public func fetch<Result: ManagedObject>(_ request: FetchRequest<Result>, batchSize: Int) throws -> BatchedResults<Result> {
    guard batchSize > 0 else { throw StoreError(.emptyBatch(size: batchSize), operation: .fetch) }
    var request = request
    request.specification.fetchBatchSize = batchSize
    return try fetchBatched(request)
  }

  /// The IDs of a request's results, from which objects are made a page at a time.
  func pagedObjects<Result: ManagedObject>(of request: FetchRequest<Result>, pageSize: Int) throws -> PagedObjects {
    try checkClass(Result.self, for: request.specification)
    var specification = request.specification
    specification.resultType = .objectIDs
    try prepareFetch()
    let ids = try objectIDs(of: FetchMergePlan(specification, context: self))
    return PagedObjects(ids, pageSize: pageSize, specification: specification, context: self)
  }
}

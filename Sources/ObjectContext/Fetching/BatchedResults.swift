// BatchedResults: the objects of a fetch, whose rows are read a page at a time as they are touched.
public import ObjectModel
public import ObjectQuery
import ObjectStore

/// The objects of a fetch, in order. Only their IDs are read at first; rows arrive in pages as objects are touched, one statement a page, and
/// the pages behind are released: the memory that a long list takes is 16 bytes an object and the few pages used last.
///
/// Which objects there are is decided by the fetch, unsaved changes of that moment included; values are those of when a page is read. The object of
/// a row that was deleted since is a fault whose values are empty. Belongs to its context's isolation. What goes wrong while a page is
/// read is kept in ``ManagedObjectContext/pendingError`` and thrown by the next fetch or save.
public struct BatchedResults<Result: ManagedObject>: RandomAccessCollection {
  private let pages: PagedObjects

  init(_ pages: PagedObjects) { self.pages = pages }

  /// The IDs of the objects, in order.
  public var objectIDs: [ManagedObjectID] { pages.ids }
  /// How many rows are read together.
  public var batchSize: Int { pages.pageSize }

  /// 0.
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

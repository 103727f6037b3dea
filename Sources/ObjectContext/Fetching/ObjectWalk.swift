// ObjectWalk: a walk over very many objects, a batch after the other.
import ObjectModel
import ObjectQuery
import ObjectStore

/// A walk over the objects of a fetch. Which they are is known from the beginning; rows are read a batch at a time, and do not stay at hand.
final class ObjectWalk {
  private enum Rest {
    case keys(FoundKeys, space: UInt32)
    case ids(ArraySlice<ManagedObjectID>)
  }

  private var rest: Rest
  private let batchSize: Int
  private let specification: FetchSpecification
  private let context: ManagedObjectContext
  /// Those that are new: once they are saved, nobody finds them by the IDs that they have now.
  private let newObjects: [ManagedObjectID: ManagedObject]
  /// What was prefetched with the batch that is passing.
  private var companions: [ManagedObject] = []

  init(_ request: FetchSpecification, batchSize: Int, context: ManagedObjectContext) throws {
    var specification = request
    specification.resultType = .objectIDs
    try context.prepareFetch()
    let plan = try FetchMergePlan(specification, context: context)
    rest = try Self.found(plan, context)
    self.batchSize = batchSize
    self.specification = specification
    self.context = context
    if case .ids(let ids) = rest { newObjects = context.newObjects(among: ids) } else { newObjects = [:] }
  }

  /// What is to be visited. Where nobody asks for an order it is that of the rows in the store: objects of a batch lie side by side.
  private static func found(_ plan: FetchMergePlan, _ context: ManagedObjectContext) throws -> Rest {
    let specification = plan.specification
    let isOrdered = !specification.sortDescriptors.isEmpty || specification.fetchLimit > 0 || specification.fetchOffset > 0
    guard plan.split == nil, !plan.needsMerging, !isOrdered else { return .ids(try context.objectIDs(of: plan)[...]) }
    let store = plan.stores[0]
    switch try context.rowSource.foundObjects(plan.storeSpecification, in: store) {
    case .keys(let keys): return .keys(keys, space: store.space.number)
    case .ids(let ids): return .ids(ids.sorted { $0.key < $1.key }[...])
    }
  }

  /// The objects of the next batch that are still there; nil at the end.
  func next() throws -> [ManagedObject]? {
    companions = []
    let ids = takeBatch()
    guard !ids.isEmpty else { return nil }
    let batch = try context.readBatch(ids, specification, isPassing: true)
    companions = batch.companions
    context.rowSource.rowsTouched?(ids.count)
    return batch.objects.compactMap { $0 }
  }

  /// The IDs of the next batch; none at the end.
  func takeBatch() -> [ManagedObjectID] {
    switch rest {
    case .keys(let keys, let space):
      let entity = UInt32(keys.entity ?? 0)
      return keys.takeFirst(batchSize).map { ManagedObjectID(space: space, entityNumber: entity, key: $0) }
    case .ids(let ids):
      rest = .ids(ids.dropFirst(batchSize))
      return ids.prefix(batchSize).map { $0.isTemporaryID ? newObjects[$0]?.objectID ?? $0 : $0 }
    }
  }
}

extension ManagedObjectContext {
  /// Those of some objects that are new, by the IDs that they have now.
  func newObjects(among ids: some Sequence<ManagedObjectID>) -> [ManagedObjectID: ManagedObject] {
    guard !unitOfWork.inserted.isEmpty else { return [:] }
    return Dictionary(ids.filter(\.isTemporaryID).map { ($0, object(with: $0)) }, uniquingKeysWith: { first, _ in first })
  }

  /// Objects of a fetch that are read together, nil for rows that are gone, and what lies on the way of prefetched paths.
  ///
  /// - Parameter isPassing: Whether they are a batch of very many, whose rows need not stay at hand.
  func readBatch(
    _ ids: some Collection<ManagedObjectID>, _ specification: FetchSpecification?, isPassing: Bool = false
  ) throws -> (objects: [ManagedObject?], companions: [ManagedObject]) {
    let objects = try objects(with: ids, refresh: specification?.shouldRefreshRefetchedObjects ?? false, isPassing: isPassing)
    guard let specification else { return (objects, []) }
    var companions: [ManagedObject] = []
    let there = objects.compactMap { $0 }
    if !specification.relationshipKeyPathsForPrefetching.isEmpty { companions = try prefetch(specification, for: there) }
    if !specification.returnsObjectsAsFaults { for object in there { object.willAccess() } }
    try notedErrors.tell()
    return (objects, companions)
  }
}

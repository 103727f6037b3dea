import ObjectModel
import ObjectQuery
import ObjectStore

/// Reads the objects of a fetch in batches. The set of objects is fixed at the start. Rows are read batch by batch and are not cached.
final class ObjectBatchReader {
  private enum Rest {
    case keys(FetchedKeys, space: UInt32)
    case ids(ArraySlice<ManagedObjectID>)
  }

  private var rest: Rest
  private let batchSize: Int
  private let specification: FetchSpecification
  private let context: ManagedObjectContext
  /// The objects that were inserted when the walk began, by their temporary IDs. A save replaces these IDs.
  private let newObjects: [ManagedObjectID: ManagedObject]
  /// The objects that hold what was prefetched with the current batch.
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

  /// Returns the objects to visit. Without a sort order, they are sorted by key, so that the rows of a batch are adjacent in the store.
  private static func found(_ plan: FetchMergePlan, _ context: ManagedObjectContext) throws -> Rest {
    let specification = plan.specification
    let isOrdered = !specification.sortDescriptors.isEmpty || specification.fetchLimit > 0 || specification.fetchOffset > 0
    guard plan.split == nil, !plan.needsMerging, !isOrdered else { return .ids(try context.objectIDs(of: plan)[...]) }
    let store = plan.stores[0]
    switch try context.rowSource.fetchedIDs(plan.storeSpecification, in: store) {
    case .keys(let keys): return .keys(keys, space: store.space.number)
    case .ids(let ids): return .ids(ids.sorted { $0.key < $1.key }[...])
    }
  }

  /// Returns the objects of the next batch that still exist; nil at the end.
  func next() throws -> [ManagedObject]? {
    companions = []
    let ids = takeBatch()
    guard !ids.isEmpty else { return nil }
    let batch = try context.readBatch(ids, specification, isPassing: true)
    companions = batch.companions
    context.rowSource.rowsTouched?(ids.count)
    return batch.objects.compactMap { $0 }
  }

  /// Returns the IDs of the next batch; an empty array at the end.
  private func takeBatch() -> [ManagedObjectID] {
    switch rest {
    case .keys(let keys, let space):
      let entity = UInt32(keys.entity ?? 0)
      return keys.removeFirst(batchSize).map { ManagedObjectID(space: space, entityNumber: entity, key: $0) }
    case .ids(let ids):
      rest = .ids(ids.dropFirst(batchSize))
      return ids.prefix(batchSize).map { $0.isTemporaryID ? newObjects[$0]?.objectID ?? $0 : $0 }
    }
  }
}

extension ManagedObjectContext {
  /// Returns the inserted objects among the given IDs, by their temporary IDs.
  func newObjects(among ids: some Sequence<ManagedObjectID>) -> [ManagedObjectID: ManagedObject] {
    guard !unitOfWork.inserted.isEmpty else { return [:] }
    return Dictionary(ids.filter(\.isTemporaryID).map { ($0, object(with: $0)) }, uniquingKeysWith: { first, _ in first })
  }

  /// Reads a batch of objects and prefetches their relationships.
  ///
  /// - Parameter isPassing: Whether this is one batch of many, whose rows need not be cached.
  /// - Returns: The objects, nil for rows that no longer exist, and the intermediate objects of prefetched paths.
  func readBatch(
    _ ids: some Collection<ManagedObjectID>, _ specification: FetchSpecification?, isPassing: Bool = false
  ) throws -> (objects: [ManagedObject?], companions: [ManagedObject]) {
    let objects = try objects(with: ids, refresh: specification?.shouldRefreshRefetchedObjects ?? false, isPassing: isPassing)
    guard let specification else { return (objects, []) }
    var companions: [ManagedObject] = []
    let there = objects.compactMap { $0 }
    if !specification.relationshipKeyPathsForPrefetching.isEmpty { companions = try prefetch(specification, for: there) }
    if !specification.returnsObjectsAsFaults { for object in there { object.willAccess() } }
    try deferredErrors.throwRecorded()
    return (objects, companions)
  }
}

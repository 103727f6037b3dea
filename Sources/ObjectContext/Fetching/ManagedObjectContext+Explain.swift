import ObjectModel
public import ObjectQuery
public import ObjectStore

extension ManagedObjectContext {
  /// Returns an explanation of how a request would be executed, without executing it.
  ///
  /// The explanation contains the statements of the stores with their query plans and indexes, the steps performed in memory, and warnings
  /// about steps whose duration grows with the number of objects. It contains none of the request's constants.
  ///
  /// - Throws: ``FetchPredicateError`` for an invalid request; ``StoreError`` from the store.
  public func explain<Result>(_ request: FetchRequest<Result>) throws -> FetchExplanation {
    settleChanges()
    try deferredErrors.throwRecorded()
    var specification = request.specification
    let readsRows = specification.includesPropertyValues && specification.fetchBatchSize <= 0
    if specification.resultType == .objects && !readsRows { specification.resultType = .objectIDs }
    // Finding the objects affected by related changes would need a fetch.
    let plan = try FetchMergePlan(specification, context: self, countsRelatedChanges: false)
    var inMemory: [String] = []
    var explained = specification
    if specification.resultType == .dictionaries {
      if plan.stores.count > 1 {
        explained = try mergeableDictionaries(specification)
        inMemory.append("the rows of \(plan.stores.count) stores are put together")
      }
    } else {
      explained = try readSpecification(plan.storeSpecification)
      let name = specification.entityName
      if plan.changedCount > 0 {
        inMemory.append("unsaved changes of \(plan.changedCount) objects of \(name) are compared, and merged into the stores' answer")
      }
      if plan.deletedCount > 0 { inMemory.append("\(plan.deletedCount) unsaved deletions of \(name) are taken out of the stores' answer") }
      if try RelatedChanges(of: specification, entity(of: specification), nil, self) != nil {
        inMemory.append("objects of \(name) that unsaved changes of related objects concern are found, read, and compared")
      }
      if plan.stores.count > 1, !specification.sortDescriptors.isEmpty {
        inMemory.append("the answers of \(plan.stores.count) stores are brought into one order")
      }
      if plan.split?.remaining != nil {
        inMemory.append("every object that the stores find is read and compared with the part of the predicate that they cannot answer")
      }
      if plan.split?.sortsInMemory ?? false { inMemory.append("all results are sorted, because a sort key is transient") }
      for path in specification.relationshipKeyPathsForPrefetching {
        inMemory.append("the objects of “\(path)” are prefetched: one more statement for each relationship of the path")
      }
    }
    let parts = try plan.stores.map { try rowSource.explain(explained, from: $0) }
    return FetchExplanation(stores: parts, inMemory: inMemory)
  }
}

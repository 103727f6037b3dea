// FetchSpecification: everything that a fetch asks, without the Swift type of its results.
public import ObjectModel

/// Everything that a fetch asks: the part of a ``FetchRequest`` that stores see.
public struct FetchSpecification: Sendable, Hashable {
  /// The name of the entity.
  public var entityName: String
  /// The condition; nil for all.
  public var predicate: FetchPredicate?
  /// The order; empty for none.
  public var sortDescriptors: [FetchSortDescriptor] = []
  /// The greatest number of results; 0 for no bound. A negative number makes the fetch throw.
  public var fetchLimit = 0
  /// The number of results to skip. A negative number makes the fetch throw.
  public var fetchOffset = 0
  /// How many rows a page of a batched result has; 0 reads all at once. A negative number makes the fetch throw.
  public var fetchBatchSize = 0
  /// What is returned.
  public var resultType = FetchResultType.objects
  /// Whether objects of subentities are included.
  public var includesSubentities = true
  /// Whether the context's unsaved changes count. In dictionaries they never do: stores make dictionaries, of saved values.
  public var includesPendingChanges = true
  /// Whether the context answers the parts that no store can answer, block predicates and transient properties: it reads the objects that meet the rest, and
  /// filters, sorts and counts them. With false, such a part makes the fetch throw.
  public var allowsInMemoryFiltering = false
  /// Whether rows are read with their values; false reads keys only.
  public var includesPropertyValues = true
  /// Whether objects are returned as faults; their rows are at hand all the same.
  public var returnsObjectsAsFaults = true
  /// Whether registered objects take the store's newer values; unsaved changes are kept on top of them.
  public var shouldRefreshRefetchedObjects = false
  /// Dotted paths of relationships whose objects are read too, with one more query for each.
  public var relationshipKeyPathsForPrefetching: [String] = []
  /// The properties of dictionary results, in order; empty for the group keys, or without grouping for all attributes.
  ///
  /// An aggregate among them (`count(name)`) makes one dictionary of each group, or of all objects when nothing is grouped: then every other property
  /// has to be grouped.
  ///
  /// Of object results, the attributes and to-one relationships that are read at once; empty for all. The objects stay faults: asking for another
  /// property reads the whole rows, those of its siblings too. Results in batches, and objects that take newer rows, always read whole rows.
  public var propertiesToFetch: [FetchProperty] = []
  /// What the objects of one dictionary have in common; empty for no grouping. Objects without a value make a group of their own.
  public var propertiesToGroupBy: [FetchProperty] = []
  /// The condition on groups: over aggregates, group keys, and the names of properties to fetch (`n > 200`, or `$n > 200`).
  public var havingPredicate: FetchPredicate?
  /// Whether equal dictionaries are returned once.
  public var returnsDistinctResults = false
  /// The identifiers of the stores to ask; nil for all.
  public var affectedStores: [String]?

  /// Whether there may be fewer results than objects, or their properties matter to what is counted.
  var shapesResults: Bool {
    !propertiesToFetch.isEmpty || !propertiesToGroupBy.isEmpty || havingPredicate != nil || returnsDistinctResults
  }

  /// Throws ``FetchPredicateError/negativeNumber(clause:)`` if the limit, the offset or the batch size is negative.
  package func checkNumbers() throws(FetchPredicateError) {
    if fetchLimit < 0 { throw .negativeNumber(clause: .fetchLimit) }
    if fetchOffset < 0 { throw .negativeNumber(clause: .fetchOffset) }
    if fetchBatchSize < 0 { throw .negativeNumber(clause: .fetchBatchSize) }
  }

  /// Asks for all objects of an entity.
  public init(entityName: String, predicate: FetchPredicate? = nil) {
    self.entityName = entityName
    self.predicate = predicate
  }
}

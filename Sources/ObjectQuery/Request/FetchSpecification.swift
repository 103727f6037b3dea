public import ObjectModel

/// The contents of a ``FetchRequest`` without the Swift type of its results, as stores receive them.
public struct FetchSpecification: Sendable, Hashable {
  /// The name of the entity.
  public var entityName: String
  /// The condition; nil for all objects.
  public var predicate: FetchPredicate?
  /// The sort keys; empty for an unspecified order.
  public var sortDescriptors: [FetchSortDescriptor] = []
  /// The maximum number of results; 0 for no limit. A negative number makes the fetch throw.
  public var fetchLimit = 0
  /// The number of results to skip. A negative number makes the fetch throw.
  public var fetchOffset = 0
  /// The number of rows in each batch of a batched result; 0 reads all rows at once. A negative number makes the fetch throw.
  public var fetchBatchSize = 0
  /// The type of the results.
  public var resultType = FetchResultType.objects
  /// Whether objects of subentities are included.
  public var includesSubentities = true
  /// Whether the context's unsaved changes are included. Dictionary results never include them: the store computes dictionaries from saved
  /// values.
  public var includesPendingChanges = true
  /// Whether the context evaluates parts that stores do not support: block predicates and transient properties.
  ///
  /// The context reads the objects that match the rest, and filters, sorts and counts them in memory. If false, such a part makes the fetch
  /// throw.
  public var allowsInMemoryFiltering = false
  /// Whether rows are read with their values; false reads only the keys.
  public var includesPropertyValues = true
  /// Whether objects are returned as faults. Their rows are cached even then.
  public var returnsObjectsAsFaults = true
  /// Whether registered objects are refreshed with newer values of the store. Unsaved changes are kept.
  public var shouldRefreshRefetchedObjects = false
  /// Dotted paths of relationships whose objects are prefetched, with one additional query for each path.
  public var relationshipKeyPathsForPrefetching: [String] = []
  /// The properties of dictionary results, in order. If empty, the properties to group by or, without grouping, all attributes.
  ///
  /// With an aggregate (`count(name)`) there is one dictionary for each group, or one for all objects without grouping. All other
  /// properties must then be group keys.
  ///
  /// For object results, the attributes and to-one relationships to read; empty for all. The objects stay faults: access to another
  /// property reads the whole rows of the object and its siblings. Batched results and objects that are refreshed always read whole rows.
  public var propertiesToFetch: [FetchProperty] = []
  /// The properties to group by; empty for no grouping. Objects without a value form a separate group.
  public var propertiesToGroupBy: [FetchProperty] = []
  /// The condition on groups, over aggregates, group keys, and the names of properties to fetch (`n > 200`, or `$n > 200`).
  public var havingPredicate: FetchPredicate?
  /// Whether duplicate dictionaries are removed.
  public var returnsDistinctResults = false
  /// The identifiers of the stores to fetch from; nil for all.
  public var affectedStores: [String]?

  /// Whether there may be fewer results than objects, or the properties affect the count.
  var shapesResults: Bool {
    !propertiesToFetch.isEmpty || !propertiesToGroupBy.isEmpty || havingPredicate != nil || returnsDistinctResults
  }

  /// Throws ``FetchPredicateError/negativeNumber(clause:)`` if the limit, the offset or the batch size is negative.
  package func checkNumbers() throws(FetchPredicateError) {
    if fetchLimit < 0 { throw .negativeNumber(clause: .fetchLimit) }
    if fetchOffset < 0 { throw .negativeNumber(clause: .fetchOffset) }
    if fetchBatchSize < 0 { throw .negativeNumber(clause: .fetchBatchSize) }
  }

  /// Creates a specification for the objects of an entity that match a predicate; nil for all.
  public init(entityName: String, predicate: FetchPredicate? = nil) {
    self.entityName = entityName
    self.predicate = predicate
  }
}

/// A property of dictionary results: a key path, or a named expression.
///
/// ```swift
/// var request = FetchRequest<[String: Any]>(entityName: "Book")
/// request.propertiesToFetch = ["author.name", .expression(ExpressionDescription(name: "books", expression: try FetchExpression(format:
/// "count(title)")))]
/// request.propertiesToGroupBy = ["author.name"]
/// let counts = try context.fetch(request)
/// ```
///
/// A string literal is a key path. If the entity does not have a property of that name, the fetch throws ``FetchPredicateError``. The store
/// computes the values, without creating objects.
public enum FetchProperty: Sendable, Hashable, ExpressibleByStringLiteral {
  /// A dotted path of to-one relationships that ends in an attribute, a to-one relationship, or a collection operator such as
  /// `books.@count`.
  case keyPath(String)
  /// An expression over each object, or over a group of objects (`count(name)`).
  case expression(ExpressionDescription)

  /// Creates a key path.
  public init(stringLiteral value: String) { self = .keyPath(value) }

  /// The key in the dictionaries: the key path, or the expression's name.
  public var name: String {
    switch self {
    case .keyPath(let path): path
    case .expression(let description): description.name
    }
  }

  /// The expression that computes the value.
  public var expression: FetchExpression {
    switch self {
    case .keyPath(let path): .keyPath(path)
    case .expression(let description): description.expression
    }
  }

  /// Returns a property for a named expression.
  ///
  /// - Parameters:
  ///   - expression: The expression to evaluate.
  ///   - name: The key in the dictionaries.
  ///   - resultType: The type of the values; nil for the type of the expression.
  public static func expression(
    _ expression: FetchExpression, as name: String, resultType: AttributeType? = nil
  ) -> FetchProperty {
    .expression(ExpressionDescription(name: name, expression: expression, resultType: resultType))
  }
}

/// A named expression in dictionary results.
public struct ExpressionDescription: Sendable, Hashable {
  /// The key in the dictionaries. The `HAVING` predicate and sort descriptors can refer to it.
  public var name: String
  /// The expression over each object (`price * quantity`), or over a group of objects (`sum(price * quantity)`).
  public var expression: FetchExpression
  /// The type of the values; nil for the type of the expression. It must be able to represent every value of the expression's type.
  public var resultType: AttributeType?

  /// Creates a description.
  ///
  /// - Parameters:
  ///   - name: The key in the dictionaries.
  ///   - expression: The expression to evaluate.
  ///   - resultType: The type of the result; nil for the type of the expression.
  public init(name: String, expression: FetchExpression, resultType: AttributeType? = nil) {
    self.name = name
    self.expression = expression
    self.resultType = resultType
  }
}

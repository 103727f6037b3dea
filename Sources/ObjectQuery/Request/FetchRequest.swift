public import Foundation
public import ObjectModel

/// A type of fetch results: managed objects, ``ManagedObjectID``, or dictionaries.
public protocol FetchResult {
  /// The result type that a store returns for this type.
  @_spi(Generated) static var fetchResultType: FetchResultType { get }
}

extension FetchResult {
  /// Objects: the result type of managed objects.
  @_spi(Generated) public static var fetchResultType: FetchResultType { .objects }
}

extension ManagedObjectID: FetchResult {
  /// The result type that a store returns for this type.
  @_spi(Generated) public static var fetchResultType: FetchResultType { .objectIDs }
}

extension Dictionary: FetchResult where Key == String, Value == Any {
  /// The result type that a store returns for this type.
  @_spi(Generated) public static var fetchResultType: FetchResultType { .dictionaries }
}

/// A description of the objects to fetch: the condition, order, number and type of the results.
///
/// ```swift
/// var request = FetchRequest<Book>(entityName: "Book", predicate: try FetchPredicate(format: "author.name == %@", "Joyce"))
/// request.sortDescriptors = [FetchSortDescriptor("title")]
/// request.fetchLimit = 20
/// let books = try context.fetch(request)
///
/// let same = try context.fetch(Book.all.where { $0.author.name == "Joyce" }.sorted { $0.title }.limit(20))
/// ```
///
/// `FetchRequest<Book>` returns objects, `FetchRequest<ManagedObjectID>` their IDs, and `FetchRequest<[String: Any]>` dictionaries. Every
/// property of ``FetchSpecification`` is a property of the request. A request is a value type that can be stored, changed and sent across
/// isolation boundaries. A fetch validates the request, and throws ``FetchPredicateError`` if it is invalid.
/// ``ManagedObjectContext/explain(_:)`` returns its query plan.
@dynamicMemberLookup
public struct FetchRequest<Result: FetchResult>: Sendable, Hashable {
  /// The contents of the request, without the type of its results.
  public var specification: FetchSpecification

  /// Creates a request for objects of an entity.
  ///
  /// - Parameters:
  ///   - entityName: The name of the entity.
  ///   - predicate: The condition; nil for all objects.
  ///   - sortDescriptors: The order; empty for an unspecified order.
  public init(entityName: String, predicate: FetchPredicate? = nil, sortDescriptors: [FetchSortDescriptor] = []) {
    specification = FetchSpecification(entityName: entityName, predicate: predicate)
    specification.sortDescriptors = sortDescriptors
    specification.resultType = Result.fetchResultType
  }

  /// Accesses a property of the specification.
  public subscript<Value>(dynamicMember member: WritableKeyPath<FetchSpecification, Value>) -> Value {
    get { specification[keyPath: member] }
    set { specification[keyPath: member] = newValue }
  }
}

// MARK: - Chained modifiers

extension FetchRequest {
  // Disfavored, because otherwise the compiler has no useful diagnostics for errors in a typed closure.
  /// Returns the request with an additional condition, combined with the existing predicate by AND:
  /// `Book.all.where(try FetchPredicate(format: "author.name BEGINSWITH[c] %@", "ursula")).sorted { $0.title }`.
  @_disfavoredOverload
  public func `where`(_ predicate: FetchPredicate) -> FetchRequest {
    changed { $0.predicate = $0.predicate.map { $0 && predicate } ?? predicate }
  }

  /// Returns the request with an additional sort key after the existing ones.
  ///
  /// - Parameters:
  ///   - keyPath: A dotted path of to-one relationships that ends in an attribute, or in `@count` of a to-many relationship; for dictionary
  ///     results also the name of a property to fetch.
  ///   - ascending: Whether lower values come first.
  ///   - comparison: The comparison of strings.
  ///   - locale: The locale of a localized comparison; nil for the current one.
  public func sorted(
    by keyPath: String, ascending: Bool = true, comparison: FetchSortDescriptor.Comparison = .binary, locale: Locale? = nil
  ) -> FetchRequest {
    changed {
      $0.sortDescriptors.append(FetchSortDescriptor(keyPath, ascending: ascending, comparison: comparison, locale: locale))
    }
  }

  /// Returns the request with an expression as an additional sort key after the existing ones.
  ///
  /// - Parameters:
  ///   - expression: The expression to sort by.
  ///   - ascending: Whether lower values come first.
  ///   - comparison: The comparison of strings.
  ///   - locale: The locale of a localized comparison; nil for the current one.
  public func sorted(
    by expression: FetchExpression, ascending: Bool = true, comparison: FetchSortDescriptor.Comparison = .binary, locale: Locale? = nil
  ) -> FetchRequest {
    changed {
      $0.sortDescriptors.append(
        FetchSortDescriptor(expression: expression, ascending: ascending, comparison: comparison, locale: locale))
    }
  }

  /// Returns the request with additional properties to fetch.
  public func selecting(_ properties: FetchProperty...) -> FetchRequest { changed { $0.propertiesToFetch += properties } }

  /// Returns the request with additional properties to group by.
  public func grouped(by properties: FetchProperty...) -> FetchRequest { changed { $0.propertiesToGroupBy += properties } }

  /// Returns the request with an additional condition on groups, combined with the existing one by AND.
  public func having(_ predicate: FetchPredicate) -> FetchRequest {
    changed { $0.havingPredicate = $0.havingPredicate.map { $0 && predicate } ?? predicate }
  }

  /// Returns the request without duplicate dictionaries.
  public func distinct() -> FetchRequest { changed { $0.returnsDistinctResults = true } }

  /// Returns the request with a maximum number of results; 0 for no limit.
  public func limit(_ count: Int) -> FetchRequest { changed { $0.fetchLimit = count } }

  /// Returns the request with a number of results to skip.
  public func offset(_ count: Int) -> FetchRequest { changed { $0.fetchOffset = count } }

  private func changed(_ change: (inout FetchSpecification) -> Void) -> FetchRequest {
    var request = self
    change(&request.specification)
    return request
  }
}

// MARK: - Sorting by relevance

extension FetchPredicate {
  /// An expression for the relevance of an object to the SEARCH conditions of the predicate; nil if there are no such conditions.
  ///
  /// Conditions inside a NOT, on members of a collection, or for a query that is itself a value of the object do not count.
  package var searchRelevance: FetchExpression? {
    guard (try? PredicateDepth.check(self)) != nil else { return nil }
    return searches.reduce(nil) { sum, search in
      let relevance = FetchExpression.function("relevance", [search.left, search.right])
      return sum.map { .function("add:to:", [$0, relevance]) } ?? relevance
    }
  }

  private var searches: [FetchComparison] {
    switch self {
    case .and(let items), .or(let items): return items.flatMap(\.searches)
    case .comparison(let comparison):
      guard comparison.op == .search, comparison.modifier == .direct, case .constant(.string) = comparison.right else { return [] }
      return [comparison]
    case .constant, .not, .block: return []
    }
  }
}

extension FetchRequest {
  /// Returns the request sorted by relevance to its SEARCH conditions, the most relevant first, after the existing sort keys.
  ///
  /// A request without such conditions is returned unchanged.
  ///
  /// ```swift
  /// Package.all.where { $0.summary.search(typed) }.sortedByRelevance()
  /// ```
  public func sortedByRelevance() -> FetchRequest {
    guard let relevance = specification.predicate?.searchRelevance else { return self }
    var request = self
    request.specification.sortDescriptors.append(FetchSortDescriptor(expression: relevance, ascending: false))
    return request
  }
}

// MARK: - Request templates

extension ManagedObjectModel {
  /// Returns a request from a template, with values for the variables of its predicate. The request is a copy that can be changed.
  ///
  /// ```swift
  /// let request: FetchRequest<Photo> = try model.fetchRequest(fromTemplate: "photosTaggedWith", substitutionVariables: ["TAG": "sea"])
  /// ```
  ///
  /// The Swift type of the request determines the type of the results, regardless of the template's result type.
  /// - Parameters:
  ///   - name: The name of the template.
  ///   - variables: The values by variable name, without `$`; nil is a null value. Variables that the template does not have are ignored.
  /// - Throws: ``FetchPredicateError/unknownTemplate(name:suggestion:)``, ``FetchPredicateError/unsubstitutedVariable(name:)`` for a
  ///   variable without a value, ``PredicateFormatError`` if the template's predicate cannot be parsed.
  public func fetchRequest<Result: FetchResult>(
    fromTemplate name: String, substitutionVariables variables: [String: (any FetchConstantConvertible)?] = [:]
  ) throws -> FetchRequest<Result> {
    guard let template = fetchRequestTemplate(named: name) else {
      let names = fetchRequestTemplates.map(\.name)
      throw FetchPredicateError.unknownTemplate(name: name, suggestion: SimilarName.of(name, among: names))
    }
    var request = FetchRequest<Result>(entityName: template.entityName)
    if let format = template.predicateFormat {
      let predicate = try FetchPredicate(format: format).withSubstitutionVariables(variables)
      if let missing = predicate.variables.min() { throw FetchPredicateError.unsubstitutedVariable(name: missing) }
      request.predicate = predicate
    }
    request.fetchLimit = template.fetchLimit
    request.fetchBatchSize = template.fetchBatchSize
    request.includesSubentities = template.includesSubentities
    request.includesPropertyValues = template.includesPropertyValues
    request.includesPendingChanges = template.includesPendingChanges
    request.returnsObjectsAsFaults = template.returnsObjectsAsFaults
    request.returnsDistinctResults = template.returnsDistinctResults
    return request
  }
}

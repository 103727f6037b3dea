// FetchMembers: the members of a to-many relationship in a typed query.

/// A to-many relationship without an order.
public enum FetchUnordered {}
/// An ordered to-many relationship.
public enum FetchOrdered {}

/// The members of a to-many relationship in a typed query; after ``where(_:)``, some of them.
///
/// ```swift
/// let prolific = Author.all.where { $0.books.where { $0.pages > 500 }.count >= 3 }
/// let unread = Author.all.where { author in
///   author.books.any {
///     $0.pages > 500
///     $0.title.hasPrefix("The ")
///   }
/// }
/// ```
///
/// Each closure speaks of one member: the two conditions of the second example are about the same book. The store answers without reading members into memory;
/// what it costs grows with the members of the objects that the rest of the condition leaves.
public struct FetchMembers<Member, Order>: Sendable {
  /// The condition on members, with the variable that stands for one.
  private struct Filter: Sendable {
    let variable: String
    let predicate: FetchPredicate
  }
  private let collection: FetchExpression
  private let filter: Filter?

  init(_ collection: FetchExpression) {
    self.collection = collection
    filter = nil
  }

  private init(_ collection: FetchExpression, _ filter: Filter) {
    self.collection = collection
    self.filter = filter
  }

  /// The collection as an expression: a path, or a SUBQUERY.
  private var expression: FetchExpression {
    guard let filter else { return collection }
    return .subquery(collection: collection, variable: filter.variable, predicate: filter.predicate)
  }

  /// The members that meet a condition beside those they meet already.
  private func filtered(
    isNegated: Bool = false, by condition: (FetchObject<Member, FetchDirect>) -> FetchPredicate
  ) -> FetchMembers {
    FetchDepth.withVariable { variable in
      var predicate = condition(FetchObject(.variable(variable)))
      if isNegated { predicate = !predicate }
      if let filter { predicate = filter.predicate.renaming(filter.variable, to: variable) && predicate }
      return FetchMembers(collection, Filter(variable: variable, predicate: predicate))
    }
  }

  /// The members that meet a condition.
  public func `where`(@FetchConditionBuilder _ condition: (FetchObject<Member, FetchDirect>) -> FetchPredicate) -> FetchMembers {
    filtered(by: condition)
  }

  // MARK: Conditions

  /// Whether some member meets a condition; false when there are none.
  public func any(@FetchConditionBuilder _ condition: (FetchObject<Member, FetchDirect>) -> FetchPredicate) -> FetchPredicate {
    filtered(by: condition).count > 0
  }

  /// Whether every member meets a condition; true when there are none.
  public func all(@FetchConditionBuilder _ condition: (FetchObject<Member, FetchDirect>) -> FetchPredicate) -> FetchPredicate {
    filtered(isNegated: true, by: condition).isEmpty
  }

  /// Whether no member meets a condition; true when there are none.
  public func none(@FetchConditionBuilder _ condition: (FetchObject<Member, FetchDirect>) -> FetchPredicate) -> FetchPredicate {
    filtered(by: condition).isEmpty
  }

  /// Whether there is no member.
  public var isEmpty: FetchPredicate { count == 0 }

  /// Whether an expression of an object is a member.
  package func contains(_ object: FetchExpression) -> FetchPredicate {
    guard filter != nil else { return FetchPredicate(object, .in, collection) }
    return filtered { FetchPredicate($0.fetchExpression, .equal, object) }.count > 0
  }

  // MARK: Values

  /// How many members there are.
  public var count: FetchField<Int, Int> { FetchField(expression.appending(["@count"])) }

  /// How many members meet a condition.
  public func count(@FetchConditionBuilder _ condition: (FetchObject<Member, FetchDirect>) -> FetchPredicate) -> FetchField<Int, Int> {
    filtered(by: condition).count
  }

  /// The sum of a number of each member; 0 when there are none.
  public func sum<Field: FetchValueField>(
    _ value: (FetchObject<Member, FetchDirect>) -> Field
  ) -> FetchField<Field._Value._Total, Field._Value._Total> where Field._Value: FetchNumber { FetchField(aggregate("@sum", value)) }

  /// The mean of a number of each member, a `Decimal` of decimals; missing when there are none.
  public func average<Field: FetchValueField>(
    _ value: (FetchObject<Member, FetchDirect>) -> Field
  ) -> FetchField<Field._Value._Mean, Field._Value._Mean?> where Field._Value: FetchNumber { FetchField(aggregate("@avg", value)) }

  /// The least of a value of each member; missing when there are none.
  public func min<Field: FetchValueField>(
    _ value: (FetchObject<Member, FetchDirect>) -> Field
  ) -> FetchField<Field._Value, Field._Value?> { FetchField(aggregate("@min", value)) }

  /// The greatest of a value of each member; missing when there are none.
  public func max<Field: FetchValueField>(
    _ value: (FetchObject<Member, FetchDirect>) -> Field
  ) -> FetchField<Field._Value, Field._Value?> { FetchField(aggregate("@max", value)) }

  /// A collection operator with the path of a value behind it. Of another value than a path it is a function that no fetch takes: the fetch throws.
  private func aggregate<Field: FetchValueField>(
    _ op: String, _ value: (FetchObject<Member, FetchDirect>) -> Field
  ) -> FetchExpression {
    FetchDepth.withVariable { variable in
      let value = value(FetchObject(.variable(variable))).fetchExpression
      guard case .path(.variable(variable), let names) = value else { return .function("\(op) of a computed value", [expression, value]) }
      return expression.appending([op] + names)
    }
  }
}

extension FetchMembers where Order == FetchOrdered {
  /// The first member.
  public var first: FetchObject<Member, FetchIndirect> { FetchObject(.element(expression, .first)) }
  /// The last member.
  public var last: FetchObject<Member, FetchIndirect> { FetchObject(.element(expression, .last)) }
  /// The member at a position, from 0.
  public subscript(position: Int) -> FetchObject<Member, FetchIndirect> { FetchObject(.element(expression, .at(position))) }
}

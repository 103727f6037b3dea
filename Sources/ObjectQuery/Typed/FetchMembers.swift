/// A to-many relationship without an order.
public enum FetchUnordered {}
/// An ordered to-many relationship.
public enum FetchOrdered {}

/// The members of a to-many relationship in a typed query, optionally restricted with ``where(_:)``.
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
/// Each closure refers to a single member: both conditions of the second example apply to the same book. The store evaluates them without
/// loading members into memory. The cost is proportional to the number of members of the objects that match the rest of the condition.
public struct FetchMembers<Member, Order>: Sendable {
  /// The condition on members, and the variable for a member.
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

  /// Returns the members that match an additional condition.
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

  /// Returns the members that match a condition.
  public func `where`(@FetchConditionBuilder _ condition: (FetchObject<Member, FetchDirect>) -> FetchPredicate) -> FetchMembers {
    filtered(by: condition)
  }

  // MARK: Conditions

  /// Returns a condition that at least one member matches; false if there are no members.
  public func any(@FetchConditionBuilder _ condition: (FetchObject<Member, FetchDirect>) -> FetchPredicate) -> FetchPredicate {
    filtered(by: condition).count > 0
  }

  /// Returns a condition that every member matches; true if there are no members.
  public func all(@FetchConditionBuilder _ condition: (FetchObject<Member, FetchDirect>) -> FetchPredicate) -> FetchPredicate {
    filtered(isNegated: true, by: condition).isEmpty
  }

  /// Returns a condition that no member matches; true if there are no members.
  public func none(@FetchConditionBuilder _ condition: (FetchObject<Member, FetchDirect>) -> FetchPredicate) -> FetchPredicate {
    filtered(by: condition).isEmpty
  }

  /// A condition that there are no members.
  public var isEmpty: FetchPredicate { count == 0 }

  /// Returns a condition that an object is a member.
  package func contains(_ object: FetchExpression) -> FetchPredicate {
    guard filter != nil else { return FetchPredicate(object, .in, collection) }
    return filtered { FetchPredicate($0.fetchExpression, .equal, object) }.count > 0
  }

  // MARK: Values

  /// The number of members.
  public var count: FetchField<Int, Int> { FetchField(expression.appending(["@count"])) }

  /// Returns the number of members that match a condition.
  public func count(@FetchConditionBuilder _ condition: (FetchObject<Member, FetchDirect>) -> FetchPredicate) -> FetchField<Int, Int> {
    filtered(by: condition).count
  }

  /// Returns the sum of a number over the members; 0 if there are no members.
  public func sum<Field: FetchValueField>(
    _ value: (FetchObject<Member, FetchDirect>) -> Field
  ) -> FetchField<Field.FieldValue.FetchTotal, Field.FieldValue.FetchTotal> where Field.FieldValue: FetchNumber {
    FetchField(aggregate("@sum", value))
  }

  /// Returns the mean of a number over the members, a `Decimal` for decimals; missing if there are no members.
  public func average<Field: FetchValueField>(
    _ value: (FetchObject<Member, FetchDirect>) -> Field
  ) -> FetchField<Field.FieldValue.FetchMean, Field.FieldValue.FetchMean?> where Field.FieldValue: FetchNumber {
    FetchField(aggregate("@avg", value))
  }

  /// Returns the minimum of a value over the members; missing if there are no members.
  public func min<Field: FetchValueField>(
    _ value: (FetchObject<Member, FetchDirect>) -> Field
  ) -> FetchField<Field.FieldValue, Field.FieldValue?> { FetchField(aggregate("@min", value)) }

  /// Returns the maximum of a value over the members; missing if there are no members.
  public func max<Field: FetchValueField>(
    _ value: (FetchObject<Member, FetchDirect>) -> Field
  ) -> FetchField<Field.FieldValue, Field.FieldValue?> { FetchField(aggregate("@max", value)) }

  /// Returns a collection operator with the path of a value. For a computed value, it returns an unknown function, so that the fetch
  /// throws.
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
  /// The member at a zero-based position.
  public subscript(position: Int) -> FetchObject<Member, FetchIndirect> { FetchObject(.element(expression, .at(position))) }
}

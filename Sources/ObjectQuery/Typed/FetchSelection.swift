// FetchSelection: requests for values instead of objects, with the Swift types of the values.
public import Foundation
import ObjectModel

/// A request for chosen values of objects, or of groups of objects: each result is a tuple of them.
///
/// ```swift
/// let rows = try context.fetch(Book.all.select { ($0.title, $0.author.name, $0.pages) })  // [(String, String?, Int32)]
/// let sums = try context.fetch(Book.all.select { ($0.author.name, $0.pages.sum, $0.objectCount) })
/// ```
///
/// With an aggregate among the values, objects are grouped by the others. Selections show saved values only.
public struct FetchSelection<FetchedClass, Row>: Sendable {
  /// The request, with a property to fetch for each value.
  public var specification: FetchSpecification
  private let makeRow: @Sendable ([Any?]) throws -> Row

  fileprivate init(
    _ specification: FetchSpecification, _ expressions: [FetchExpression], _ makeRow: @escaping @Sendable ([Any?]) throws -> Row
  ) {
    self.specification = specification
    self.makeRow = makeRow
    self.specification.resultType = .dictionaries
    self.specification.propertiesToFetch = expressions.enumerated().map { .expression($1, as: "value\($0 + 1)") }
    if expressions.contains(where: \.isAggregate) { group(by: expressions.filter { !$0.isAggregate }) }
  }

  private mutating func group(by expressions: [FetchExpression]) {
    specification.propertiesToGroupBy = expressions.enumerated().map { .expression($1, as: "key\($0 + 1)") }
  }

  /// The row of values, in the order in which they were selected.
  ///
  /// - Throws: ``FetchSelectionError`` when a value does not fit its type.
  package func row(of values: [Any?]) throws -> Row { try makeRow(values) }

  /// The selection of groups by another value than the selected ones.
  public func grouped<Column: FetchColumn>(by key: (FetchObject<FetchedClass, FetchDirect>) -> Column) -> FetchSelection {
    let expression = key(FetchObject(.evaluatedObject)).fetchExpression
    return changed { $0.group(by: [expression]) }
  }

  /// The selection of groups by other values than the selected ones.
  public func grouped<each Column: FetchColumn>(
    by keys: (FetchObject<FetchedClass, FetchDirect>) -> (repeat each Column)
  ) -> FetchSelection {
    var expressions: [FetchExpression] = []
    for key in repeat each keys(FetchObject(.evaluatedObject)) { expressions.append(key.fetchExpression) }
    return changed { $0.group(by: expressions) }
  }

  /// The selection with a further condition on groups, over aggregates and what is grouped by.
  public func having(@FetchConditionBuilder _ condition: (FetchObject<FetchedClass, FetchDirect>) -> FetchPredicate) -> FetchSelection {
    let predicate = condition(FetchObject(.evaluatedObject))
    return changed { $0.specification.havingPredicate = $0.specification.havingPredicate.map { $0 && predicate } ?? predicate }
  }

  /// The selection with a further sort key, after those it has.
  public func sorted<Key: FetchSortable>(_ key: (FetchObject<FetchedClass, FetchDirect>) -> Key) -> FetchSelection {
    changed { $0.specification.sortDescriptors.append(key(FetchObject(.evaluatedObject))._fetchSortDescriptor) }
  }

  /// The selection whose equal rows are returned once.
  public func distinct() -> FetchSelection { changed { $0.specification.returnsDistinctResults = true } }

  /// The selection of at most a number of rows; 0 for no bound.
  public func limit(_ count: Int) -> FetchSelection { changed { $0.specification.fetchLimit = count } }

  /// The selection without a number of rows at the start.
  public func offset(_ count: Int) -> FetchSelection { changed { $0.specification.fetchOffset = count } }

  private func changed(_ change: (inout FetchSelection) -> Void) -> FetchSelection {
    var selection = self
    change(&selection)
    return selection
  }
}

extension FetchRequest {
  /// A request for one value of each object, or of each group, instead of objects.
  public func select<Column: FetchColumn>(
    _ column: (FetchObject<Result, FetchDirect>) -> Column
  ) -> FetchSelection<Result, Column.Output> {
    FetchSelection(specification, [column(FetchObject(.evaluatedObject)).fetchExpression]) { try Column._output(from: $0[0]) }
  }

  /// A request for several values, in parentheses, instead of objects.
  public func select<each Column: FetchColumn>(
    _ columns: (FetchObject<Result, FetchDirect>) -> (repeat each Column)
  ) -> FetchSelection<Result, (repeat (each Column).Output)> {
    var expressions: [FetchExpression] = []
    for column in repeat each columns(FetchObject(.evaluatedObject)) { expressions.append(column.fetchExpression) }
    return FetchSelection(specification, expressions) { values in
      var values = values.makeIterator()
      return (repeat try (each Column)._output(from: values.next() ?? nil))
    }
  }
}

// MARK: Aggregates

/// A type of numbers, with the types that hold sums and means of them.
public protocol FetchNumber: FetchValue, FetchOutput {
  /// The type of sums.
  associatedtype _Total: FetchNumber
  /// The type of means: `Decimal` for decimals, which are computed exactly to their 38 digits, and `Double` for other numbers.
  associatedtype _Mean: FetchNumber = Double
}

extension Int: FetchNumber {
  /// Sums of integers are integers.
  public typealias _Total = Int
}
extension Int16: FetchNumber {
  /// Sums of integers have 64 bits.
  public typealias _Total = Int64
}
extension Int32: FetchNumber {
  /// Sums of integers have 64 bits.
  public typealias _Total = Int64
}
extension Int64: FetchNumber {
  /// Sums of integers have 64 bits.
  public typealias _Total = Int64
}
extension Double: FetchNumber {
  /// Sums of doubles are doubles.
  public typealias _Total = Double
}
extension Decimal: FetchNumber {
  /// Sums of decimals are decimals.
  public typealias _Total = Decimal
  /// Means of decimals are decimals.
  public typealias _Mean = Decimal
}
extension Float: FetchNumber {
  /// Sums have double precision.
  public typealias _Total = Double
}

/// Aggregates over the objects of a group, or over all objects: for selections only, and for their order and conditions.
extension FetchField {
  /// How many objects have a value.
  public var valueCount: FetchField<Int, Int> { FetchField<Int, Int>(.function("count:", [fetchExpression])) }
  /// How many different values there are.
  public var distinctCount: FetchField<Int, Int> {
    FetchField<Int, Int>(.function("count:", [.function("distinct:", [fetchExpression])]))
  }
  /// The least value; missing when there is none.
  public var minimum: FetchField<Value, Value?> { FetchField<Value, Value?>(.function("min:", [fetchExpression])) }
  /// The greatest value; missing when there is none.
  public var maximum: FetchField<Value, Value?> { FetchField<Value, Value?>(.function("max:", [fetchExpression])) }
}

extension FetchField where Value: FetchNumber {
  /// The sum of the values; 0 when there is none.
  public var sum: FetchField<Value._Total, Value._Total> { FetchField<Value._Total, Value._Total>(.function("sum:", [fetchExpression])) }
  /// The mean of the values, a `Decimal` of decimals; missing when there is none.
  public var average: FetchField<Value._Mean, Value._Mean?> {
    FetchField<Value._Mean, Value._Mean?>(.function("average:", [fetchExpression]))
  }
  /// The middle value, a `Decimal` of decimals; missing when there is none.
  public var median: FetchField<Value._Mean, Value._Mean?> {
    FetchField<Value._Mean, Value._Mean?>(.function("median:", [fetchExpression]))
  }
}

extension FetchObject {
  /// How many objects a group has.
  public var objectCount: FetchField<Int, Int> { FetchField(.function("count:", [fetchExpression])) }
}

extension FetchExpression {
  /// Whether it has an aggregate of a group in it. Recursion follows what typed closures have put together.
  fileprivate var isAggregate: Bool {
    switch self {
    case .function(let name, let arguments):
      ResolvedFunction(name: name)?.listFunction != nil || arguments.contains(where: \.isAggregate)
    case .conditional(_, let first, let second): first.isAggregate || second.isAggregate
    case .path(let base, _), .element(let base, _): base.isAggregate
    case .constant, .evaluatedObject, .keyPath, .variable, .aggregate, .subquery: false
    }
  }
}

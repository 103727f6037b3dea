public import Foundation
public import ObjectModel

/// A request for selected values of objects, or of groups of objects. Each result is a tuple of the values.
///
/// ```swift
/// let rows = try context.fetch(Book.all.select { ($0.title, $0.author.name, $0.pages) })  // [(String, String?, Int32)]
/// let sums = try context.fetch(Book.all.select { ($0.author.name, $0.pages.sum, $0.objectCount) })
/// ```
///
/// If the values include an aggregate, objects are grouped by the other values. Selections contain saved values only.
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

  /// Returns a row from its values, in the order of selection.
  ///
  /// - Throws: ``FetchSelectionError`` if a value does not fit its type.
  package func row(of values: [Any?]) throws -> Row { try makeRow(values) }

  /// Returns the selection grouped by a value instead of the selected ones.
  public func grouped<Column: FetchColumn>(by key: (FetchObject<FetchedClass, FetchDirect>) -> Column) -> FetchSelection {
    let expression = key(FetchObject(.evaluatedObject)).fetchExpression
    return changed { $0.group(by: [expression]) }
  }

  /// Returns the selection grouped by values instead of the selected ones.
  public func grouped<each Column: FetchColumn>(
    by keys: (FetchObject<FetchedClass, FetchDirect>) -> (repeat each Column)
  ) -> FetchSelection {
    var expressions: [FetchExpression] = []
    for key in repeat each keys(FetchObject(.evaluatedObject)) { expressions.append(key.fetchExpression) }
    return changed { $0.group(by: expressions) }
  }

  /// Returns the selection with an additional condition on groups, over aggregates and group keys.
  public func having(@FetchConditionBuilder _ condition: (FetchObject<FetchedClass, FetchDirect>) -> FetchPredicate) -> FetchSelection {
    let predicate = condition(FetchObject(.evaluatedObject))
    return changed { $0.specification.havingPredicate = $0.specification.havingPredicate.map { $0 && predicate } ?? predicate }
  }

  /// Returns the selection with an additional sort key after the existing ones.
  public func sorted<Key: FetchSortable>(_ key: (FetchObject<FetchedClass, FetchDirect>) -> Key) -> FetchSelection {
    changed { $0.specification.sortDescriptors.append(key(FetchObject(.evaluatedObject)).fetchSortDescriptor) }
  }

  /// Returns the selection without duplicate rows.
  public func distinct() -> FetchSelection { changed { $0.specification.returnsDistinctResults = true } }

  /// Returns the selection with a maximum number of rows; 0 for no limit.
  public func limit(_ count: Int) -> FetchSelection { changed { $0.specification.fetchLimit = count } }

  /// Returns the selection with a number of rows to skip.
  public func offset(_ count: Int) -> FetchSelection { changed { $0.specification.fetchOffset = count } }

  private func changed(_ change: (inout FetchSelection) -> Void) -> FetchSelection {
    var selection = self
    change(&selection)
    return selection
  }
}

extension FetchRequest {
  /// Returns a request for one value of each object, or of each group, instead of objects.
  public func select<Column: FetchColumn>(
    _ column: (FetchObject<Result, FetchDirect>) -> Column
  ) -> FetchSelection<Result, Column.Output> {
    FetchSelection(specification, [column(FetchObject(.evaluatedObject)).fetchExpression]) { try Column.output(from: $0[0]) }
  }

  /// Returns a request for several values, in parentheses, instead of objects.
  public func select<each Column: FetchColumn>(
    _ columns: (FetchObject<Result, FetchDirect>) -> (repeat each Column)
  ) -> FetchSelection<Result, (repeat (each Column).Output)> {
    var expressions: [FetchExpression] = []
    for column in repeat each columns(FetchObject(.evaluatedObject)) { expressions.append(column.fetchExpression) }
    return FetchSelection(specification, expressions) { values in
      var values = values.makeIterator()
      return (repeat try (each Column).output(from: values.next() ?? nil))
    }
  }
}

// MARK: Aggregates

/// A numeric type, with the types of its sums and means.
public protocol FetchNumber: FetchValue, FetchOutput {
  /// The type of sums.
  associatedtype FetchTotal: FetchNumber
  /// The type of means: `Decimal` for decimals, with 38 digits, and `Double` for other numbers.
  associatedtype FetchMean: FetchNumber = Double
}

extension Int: FetchNumber {
  /// Sums of integers are integers.
  public typealias FetchTotal = Int
}
extension Int16: FetchNumber {
  /// Sums of integers have 64 bits.
  public typealias FetchTotal = Int64
}
extension Int32: FetchNumber {
  /// Sums of integers have 64 bits.
  public typealias FetchTotal = Int64
}
extension Int64: FetchNumber {
  /// Sums of integers have 64 bits.
  public typealias FetchTotal = Int64
}
extension Double: FetchNumber {
  /// Sums of doubles are doubles.
  public typealias FetchTotal = Double
}
extension Decimal: FetchNumber {
  /// Sums of decimals are decimals.
  public typealias FetchTotal = Decimal
  /// Means of decimals are decimals.
  public typealias FetchMean = Decimal
}
extension Float: FetchNumber {
  /// Sums have double precision.
  public typealias FetchTotal = Double
}

/// Aggregates over the objects of a group, or over all objects. Available only in selections, and in their sort keys and conditions.
extension FetchField {
  /// The number of objects with a value.
  public var valueCount: FetchField<Int, Int> { FetchField<Int, Int>(.function("count:", [fetchExpression])) }
  /// The number of distinct values.
  public var distinctCount: FetchField<Int, Int> {
    FetchField<Int, Int>(.function("count:", [.function("distinct:", [fetchExpression])]))
  }
  /// The minimum; missing if there are no values.
  public var minimum: FetchField<Value, Value?> { FetchField<Value, Value?>(.function("min:", [fetchExpression])) }
  /// The maximum; missing if there are no values.
  public var maximum: FetchField<Value, Value?> { FetchField<Value, Value?>(.function("max:", [fetchExpression])) }
}

extension FetchField where Value: FetchNumber {
  /// The sum of the values; 0 if there are no values.
  public var sum: FetchField<Value.FetchTotal, Value.FetchTotal> {
    FetchField<Value.FetchTotal, Value.FetchTotal>(.function("sum:", [fetchExpression]))
  }
  /// The mean of the values, a `Decimal` for decimals; missing if there are no values.
  public var average: FetchField<Value.FetchMean, Value.FetchMean?> {
    FetchField<Value.FetchMean, Value.FetchMean?>(.function("average:", [fetchExpression]))
  }
  /// The median, a `Decimal` for decimals; missing if there are no values.
  public var median: FetchField<Value.FetchMean, Value.FetchMean?> {
    FetchField<Value.FetchMean, Value.FetchMean?>(.function("median:", [fetchExpression]))
  }
}

extension FetchObject {
  /// The number of objects in a group.
  public var objectCount: FetchField<Int, Int> { FetchField(.function("count:", [fetchExpression])) }
}

extension FetchExpression {
  /// Whether the expression contains a group aggregate. The recursion is as deep as the expression from the typed closure.
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

/// A value that a typed selection can return: a field, or an object, which returns its ID.
public protocol FetchColumn: Sendable {
  /// The Swift type of the values.
  associatedtype Output
  /// The value as an expression.
  var fetchExpression: FetchExpression { get }
  /// Converts a value of a result; nil is a missing value.
  ///
  /// - Throws: ``FetchSelectionError`` if the type cannot represent it.
  @_spi(Generated) static func output(from value: Any?) throws -> Output
}

extension FetchColumn where Output: FetchOutput {
  /// Converts a value of a result.
  ///
  /// - Throws: ``FetchSelectionError`` for a value of another type.
  @_spi(Generated) public static func output(from value: Any?) throws -> Output { try Output.output(from: value) }
}

extension FetchField: FetchColumn where Output: FetchOutput {}

extension FetchObject: FetchColumn where Reach.ObjectID: FetchOutput {
  /// The object ID; nil if there is no object.
  public typealias Output = Reach.ObjectID
}

/// An error for a value of a selection that its Swift type cannot represent.
public struct FetchSelectionError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The type that the selection expects.
  public let expectedType: String
  /// The type of the value; nil if the value is missing.
  public let valueType: String?

  /// A description of the error and its fix.
  public var description: String {
    guard let valueType else {
      return "A value of type \(expectedType) is missing. Make the attribute optional in the model, or select it with ?? and a value."
    }
    return "A value of type \(valueType) does not fit into \(expectedType). Select it with as(\(valueType).self)."
  }
}

/// A Swift type that the values of a selection can have.
public protocol FetchOutput {
  /// Converts a value of a result; nil is a missing value.
  ///
  /// - Throws: ``FetchSelectionError`` if the type cannot represent it.
  @_spi(Generated) static func output(from value: Any?) throws -> Self
}

extension FetchOutput {
  /// Returns a value of this type unchanged.
  ///
  /// - Throws: ``FetchSelectionError`` for a value of another type.
  @_spi(Generated) public static func output(from value: Any?) throws -> Self {
    if let value = value as? Self { return value }
    throw FetchSelectionError(expectedType: "\(Self.self)", valueType: value.map { "\(type(of: $0))" })
  }
}

extension FetchOutput where Self: BinaryInteger {
  /// Converts an integer that the type can represent.
  ///
  /// - Throws: ``FetchSelectionError`` for a value of another type.
  @_spi(Generated) public static func output(from value: Any?) throws -> Self {
    if let integer = value as? any BinaryInteger, let number = Self(exactly: integer) { return number }
    throw FetchSelectionError(expectedType: "\(Self.self)", valueType: value.map { "\(type(of: $0))" })
  }
}

extension FetchOutput where Self: BinaryFloatingPoint {
  /// Converts a number, rounding it to the type.
  ///
  /// - Throws: ``FetchSelectionError`` for a value of another type.
  @_spi(Generated) public static func output(from value: Any?) throws -> Self {
    switch value {
    case let number as any BinaryFloatingPoint: return Self(number)
    case let number as any BinaryInteger: return Self(number)
    case let number as Decimal: return Self(NSDecimalNumber(decimal: number).doubleValue)
    default: throw FetchSelectionError(expectedType: "\(Self.self)", valueType: value.map { "\(type(of: $0))" })
    }
  }
}

extension Optional: FetchOutput where Wrapped: FetchOutput {
  /// Converts a value to the wrapped type; returns nil if it is missing.
  ///
  /// - Throws: ``FetchSelectionError`` for a value of another type.
  @_spi(Generated) public static func output(from value: Any?) throws -> Wrapped? {
    guard let value else { return nil }
    return try Wrapped.output(from: value)
  }
}

extension Int: FetchOutput {}
extension Int16: FetchOutput {}
extension Int32: FetchOutput {}
extension Int64: FetchOutput {}
extension Double: FetchOutput {}
extension Float: FetchOutput {}
extension Bool: FetchOutput {}
extension String: FetchOutput {}
extension URL: FetchOutput {}
extension Date: FetchOutput {}
extension Data: FetchOutput {}
extension UUID: FetchOutput {}
extension ManagedObjectID: FetchOutput {}
extension Decimal: FetchOutput {
  /// Converts a number to a decimal. A double becomes the shortest decimal that parses to it.
  ///
  /// - Throws: ``FetchSelectionError`` for a value of another type.
  @_spi(Generated) public static func output(from value: Any?) throws -> Decimal {
    switch value {
    case let number as Decimal: return number
    case let number as any BinaryInteger: if let integer = Int64(exactly: number) { return Decimal(integer) }
    case let number as Double: if let decimal = DecimalCoding.decimal(shortest: number) { return decimal }
    default: break
    }
    throw FetchSelectionError(expectedType: "Decimal", valueType: value.map { "\(type(of: $0))" })
  }
}

// MARK: - Advice

extension FetchSelectionError: LocalizedError {}

extension FetchSelectionError: AdvisedError {
  /// The advice for users and developers of an application.
  package var advice: ErrorAdvice {
    ErrorAdvice(
      user: "A value cannot be used.",
      developer: "Select the value as a type that can represent it, as an optional, or with ?? and a default value.")
  }
}

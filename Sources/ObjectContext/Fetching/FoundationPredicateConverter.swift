public import Foundation
import ObjectModel
public import ObjectQuery

/// The result of converting a node of a Foundation predicate.
enum ConvertedNode {
  /// A condition.
  case predicate(FetchPredicate)
  /// A condition on an optional value. It is undefined unless the second condition holds.
  case optional(FetchPredicate, where: FetchPredicate)
  /// A value, an object, or a collection.
  case expression(FetchExpression)
  /// The members of a collection that match a condition.
  case members(FetchExpression, variable: String, FetchPredicate)
  /// The bounds of a range; `nil` for an open end.
  case range(low: FetchExpression?, high: FetchExpression?, isClosed: Bool)
}

/// A node of a Foundation predicate that can be converted.
protocol ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode
}

/// A converter of Foundation predicates, with the current bindings of variables.
struct FoundationPredicateConverter {
  private var variables: [PredicateExpressions.VariableID: FetchExpression] = [:]
  private var depth = 0

  /// Returns a converter for a closure on a member, and the name of the member's variable in the SUBQUERY.
  func entering<Element>(
    _ variable: PredicateExpressions.Variable<Element>
  ) -> (inner: FoundationPredicateConverter, name: String) {
    var inner = self
    inner.depth += 1
    let name = "x\(inner.depth)"
    inner.variables[variable.key] = .variable(name)
    return (inner, name)
  }

  /// Returns a converter in which a variable is bound to an expression.
  func binding<Element>(
    _ variable: PredicateExpressions.Variable<Element>, to expression: FetchExpression
  ) -> FoundationPredicateConverter {
    var inner = self
    inner.variables[variable.key] = expression
    return inner
  }

  /// Returns the expression that a variable is bound to.
  func value<Element>(of variable: PredicateExpressions.Variable<Element>) throws -> FetchExpression {
    guard let expression = variables[variable.key] else {
      throw FetchPredicateError.unsupported(part: "A variable of another #Predicate", advice: "Use the closure's own parameters.")
    }
    return expression
  }

  // MARK: Nodes

  func node<Node: PredicateExpression>(_ node: Node) throws -> ConvertedNode {
    guard let convertible = node as? any ConvertibleNode else { throw FoundationPredicateConverter.unsupported(Node.self) }
    return try convertible.convert(self)
  }

  /// Converts a node to a condition.
  func predicate<Node: PredicateExpression>(_ node: Node) throws -> FetchPredicate {
    switch try self.node(node) {
    case .predicate(let predicate): return predicate
    case .optional(let predicate, let presence): return presence && predicate
    case .expression(.constant(.bool(let value))): return .constant(value)
    case .expression(let expression): return FetchPredicate(expression, .equal, .constant(.bool(true)))
    case .members, .range: throw FoundationPredicateConverter.unsupported(Node.self)
    }
  }

  /// Converts a node to a value.
  func expression<Node: PredicateExpression>(_ node: Node) throws -> FetchExpression {
    switch try self.node(node) {
    case .expression(let expression): return expression
    case .predicate(let predicate): return .conditional(predicate, .constant(.bool(true)), .constant(.bool(false)))
    case .optional(let predicate, let presence):
      return .conditional(
        presence, .conditional(predicate, .constant(.bool(true)), .constant(.bool(false))), .constant(.null))
    case .members, .range: throw FoundationPredicateConverter.unsupported(Node.self)
    }
  }

  /// Returns the error for a node that cannot be converted.
  static func unsupported<Node>(_ type: Node.Type, advice: String? = nil) -> FetchPredicateError {
    // The type name without generic arguments, which are the nested nodes.
    let name = "\(type)".prefix { $0 != "<" }
    return .unsupported(
      part: "The node \(name) of a #Predicate", advice: advice ?? "Write the condition as a typed closure or in the format language.")
  }
}

extension FetchExpression {
  /// The constants of a constant list; `nil` for other expressions.
  var constants: [FetchConstant]? {
    if case .constant(.list(let items)) = self { return items }
    return nil
  }
}

// MARK: - Logical operators

extension PredicateExpressions.Conjunction: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    .predicate(try converter.predicate(lhs) && converter.predicate(rhs))
  }
}

extension PredicateExpressions.Disjunction: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    .predicate(try converter.predicate(lhs) || converter.predicate(rhs))
  }
}

extension PredicateExpressions.Negation: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode { .predicate(!(try converter.predicate(wrapped))) }
}

extension PredicateExpressions.Equal: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    .predicate(try converter.comparison(lhs, .equal, rhs))
  }
}

extension PredicateExpressions.NotEqual: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    .predicate(try converter.comparison(lhs, .notEqual, rhs))
  }
}

extension PredicateExpressions.Comparison: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    let op: ComparisonOperator =
      switch self.op {
      case .lessThan: .less
      case .lessThanOrEqual: .lessOrEqual
      case .greaterThan: .greater
      case .greaterThanOrEqual: .greaterOrEqual
      @unknown default: throw FoundationPredicateConverter.unsupported(Self.self)
      }
    return .predicate(try converter.comparison(lhs, op, rhs))
  }
}

extension PredicateExpressions.Conditional: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    let test = try converter.predicate(test)
    guard Output.self == Bool.self else {
      return .expression(.conditional(test, try converter.expression(trueBranch), try converter.expression(falseBranch)))
    }
    let (first, second) = (try converter.predicate(trueBranch), try converter.predicate(falseBranch))
    return .predicate((test && first) || (!test && second))
  }
}

// MARK: Optionals

extension PredicateExpressions.OptionalFlatMap: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    let wrapped = try converter.expression(wrapped)
    let inner = converter.binding(variable, to: wrapped)
    let isPresent = FetchPredicate.isNull(wrapped, false)
    switch try inner.node(transform) {
    case .predicate(let predicate): return .optional(predicate, where: isPresent)
    case .optional(let predicate, let presence): return .optional(predicate, where: isPresent && presence)
    // A key path that starts at a missing value has no value anyway.
    case .expression(let expression) where expression.starts(with: wrapped): return .expression(expression)
    case .expression(let expression): return .expression(.conditional(isPresent, expression, .constant(.null)))
    case .members, .range: throw FoundationPredicateConverter.unsupported(Self.self)
    }
  }
}

extension PredicateExpressions.NilCoalesce: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    if case .optional(let predicate, let presence) = try converter.node(lhs) {
      return .predicate((presence && predicate) || (!presence && (try converter.predicate(rhs))))
    }
    return .expression(.function("coalesce", [try converter.expression(lhs), try converter.expression(rhs)]))
  }
}

extension PredicateExpressions.ForcedUnwrap: ConvertibleNode {
  /// Converts the unwrapped node. A missing value stays missing and does not trap.
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode { try converter.node(inner) }
}

extension PredicateExpressions.NilLiteral: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) -> ConvertedNode { .expression(.constant(.null)) }
}

extension FoundationPredicateConverter {
  fileprivate func comparison<Left: PredicateExpression, Right: PredicateExpression>(
    _ left: Left, _ op: ComparisonOperator, _ right: Right
  ) throws -> FetchPredicate {
    FetchPredicate(try expression(left), op, try expression(right))
  }
}

extension FetchExpression {
  /// Returns whether the expression equals another one or continues its path.
  fileprivate func starts(with base: FetchExpression) -> Bool {
    if self == base { return true }
    switch (self, base) {
    case (.keyPath(let names), .keyPath(let start)): return names.starts(with: start)
    case (.path(let inner, let names), .path(let other, let start)) where inner == other: return names.starts(with: start)
    case (.path(let inner, _), _), (.element(let inner, _), _): return inner.starts(with: base)
    default: return false
    }
  }
}

// MARK: - Creating queries from Foundation types

extension FetchPredicate {
  /// Converts a predicate created by `#Predicate`.
  ///
  /// The parts have the semantics of the format language: texts are compared by their bytes, and a missing value stays missing after `!`.
  /// Key paths must consist of generated properties.
  ///
  /// - Throws: ``FetchPredicateError/unsupported(part:advice:)`` with the first node that cannot be converted.
  public init<Object: TypedManagedObject>(_ predicate: Foundation.Predicate<Object>) throws {
    let converter = FoundationPredicateConverter().binding(predicate.variable, to: .evaluatedObject)
    func convert<Node: StandardPredicateExpression<Bool>>(_ node: Node) throws -> FetchPredicate { try converter.predicate(node) }
    self = try convert(predicate.expression)
  }
}

extension FetchExpression {
  /// Converts an expression created by `#Expression`. The rules for predicates apply.
  ///
  /// - Throws: ``FetchPredicateError/unsupported(part:advice:)`` with the first node that cannot be converted.
  public init<Object: TypedManagedObject, Output>(_ expression: Foundation.Expression<Object, Output>) throws {
    let converter = FoundationPredicateConverter().binding(expression.variable, to: .evaluatedObject)
    func convert<Node: StandardPredicateExpression<Output>>(_ node: Node) throws -> FetchExpression { try converter.expression(node) }
    self = try convert(expression.expression)
  }
}

extension FetchSortDescriptor {
  /// Converts a sort descriptor of Foundation that orders by generated properties.
  ///
  /// - Throws: ``FetchPredicateError/unsupported(part:advice:)`` for another key path, or for texts in another order than the lexical one.
  public init<Object: TypedManagedObject>(_ descriptor: SortDescriptor<Object>) throws {
    guard let keyPath = descriptor.keyPath, let keys = Object.classTable.keys(of: keyPath) else {
      throw FetchPredicateError.unsupported(
        part: "A sort descriptor without a key path of generated properties", advice: "Order by a typed closure: sorted { $0.title }.")
    }
    if let comparator = descriptor.stringComparator, String.StandardComparator(comparator, order: .forward) != .lexical {
      throw FetchPredicateError.unsupported(
        part: "A sort descriptor with such a comparator",
        advice: "Order by a typed closure: sorted { $0.title.ordered(.localizedStandard) }.")
    }
    self.init(expression: .keyPath(keys), ascending: descriptor.order == .forward)
  }

  /// Creates a sort descriptor from a Swift key path of generated properties, such as `\Book.author?.name`.
  ///
  /// - Parameters:
  ///   - keyPath: The key path.
  ///   - ascending: Whether the smallest value comes first.
  ///   - comparison: The comparison of texts.
  /// - Throws: ``FetchPredicateError/unsupported(part:advice:)`` for another key path.
  public init<Object: TypedManagedObject, Value>(
    _ keyPath: KeyPath<Object, Value>, ascending: Bool = true, comparison: Comparison = .binary
  ) throws {
    self.init(expression: .keyPath(try Object.keys(of: keyPath)), ascending: ascending, comparison: comparison)
  }
}

extension FetchRequest where Result: TypedManagedObject {
  /// Returns the request with an additional condition created by `#Predicate`. Results must match both the existing and the new condition.
  ///
  /// - Throws: ``FetchPredicateError/unsupported(part:advice:)`` with the first node that cannot be converted.
  public func `where`(_ predicate: Foundation.Predicate<Result>) throws -> FetchRequest { `where`(try FetchPredicate(predicate)) }

  /// Returns the request with additional sort descriptors after the existing ones.
  ///
  /// - Throws: ``FetchPredicateError/unsupported(part:advice:)`` for a descriptor that does not order by generated properties.
  public func sorted(by descriptors: SortDescriptor<Result>...) throws -> FetchRequest {
    var request = self
    request.specification.sortDescriptors += try descriptors.map { try FetchSortDescriptor($0) }
    return request
  }
}

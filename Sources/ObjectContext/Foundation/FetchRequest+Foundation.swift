// FetchRequest+Foundation: Foundation's predicates and sort descriptors in requests.
public import Foundation
public import ObjectQuery

extension FetchPredicate {
  /// Takes a predicate that `#Predicate` made.
  ///
  /// Its parts mean what they mean in the format language: texts are compared by their bytes, and a value that is missing stays missing behind `!`. Key paths
  /// have to be those of generated properties.
  ///
  /// - Throws: ``FetchPredicateError/unsupported(part:advice:)`` with the node that has no counterpart.
  public init<Object: TypedManagedObject>(_ predicate: Foundation.Predicate<Object>) throws {
    let converter = FoundationPredicateConverter().binding(predicate.variable, to: .evaluatedObject)
    func convert<Node: StandardPredicateExpression<Bool>>(_ node: Node) throws -> FetchPredicate { try converter.predicate(node) }
    self = try convert(predicate.expression)
  }
}

extension FetchExpression {
  /// Takes an expression that `#Expression` made, by the rules for predicates.
  ///
  /// - Throws: ``FetchPredicateError/unsupported(part:advice:)`` with the node that has no counterpart.
  public init<Object: TypedManagedObject, Output>(_ expression: Foundation.Expression<Object, Output>) throws {
    let converter = FoundationPredicateConverter().binding(expression.variable, to: .evaluatedObject)
    func convert<Node: StandardPredicateExpression<Output>>(_ node: Node) throws -> FetchExpression { try converter.expression(node) }
    self = try convert(expression.expression)
  }
}

extension FetchSortDescriptor {
  /// Takes one of Foundation's sort descriptors that orders by generated properties.
  ///
  /// - Throws: ``FetchPredicateError/unsupported(part:advice:)`` for another key path, or for another order of text than the lexical one.
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

  /// A sort key of a Swift key path of generated properties, such as `\Book.author?.name`.
  ///
  /// - Parameters:
  ///   - keyPath: The property, or a path to one.
  ///   - ascending: Whether the smallest value comes first.
  ///   - comparison: How texts are compared.
  /// - Throws: ``FetchPredicateError/unsupported(part:advice:)`` for another key path.
  public init<Object: TypedManagedObject, Value>(
    _ keyPath: KeyPath<Object, Value>, ascending: Bool = true, comparison: Comparison = .binary
  ) throws {
    self.init(expression: .keyPath(try Object.keys(of: keyPath)), ascending: ascending, comparison: comparison)
  }
}

extension FetchRequest where Result: TypedManagedObject {
  /// The request with a further condition that `#Predicate` made, which has to hold beside those it has.
  ///
  /// - Throws: ``FetchPredicateError/unsupported(part:advice:)`` with the node that has no counterpart.
  public func `where`(_ predicate: Foundation.Predicate<Result>) throws -> FetchRequest { `where`(try FetchPredicate(predicate)) }

  /// The request with further sort keys, after those it has.
  ///
  /// - Throws: ``FetchPredicateError/unsupported(part:advice:)`` for a descriptor that does not order by generated properties.
  public func sorted(by descriptors: SortDescriptor<Result>...) throws -> FetchRequest {
    var request = self
    request.specification.sortDescriptors += try descriptors.map { try FetchSortDescriptor($0) }
    return request
  }
}

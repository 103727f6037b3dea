public import Foundation
public import ObjectQuery

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

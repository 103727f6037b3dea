/// An object that a condition in Swift can evaluate.
package protocol FetchEvaluatable {
  /// Returns the value at the end of a dotted path of to-one relationships; nil if it is missing.
  ///
  /// - Throws: An error if the path contains an unknown property.
  func value(forKeyPath keyPath: String) throws -> Any?
}

/// A condition written in Swift, which stores do not support.
///
/// A fetch accepts such a condition only with ``FetchSpecification/allowsInMemoryFiltering``. The store evaluates the rest of the
/// predicate, and the block is called for each object that it returns. Two blocks are equal if they are identical.
public final class BlockPredicate: Sendable {
  /// The name in errors and printed predicates.
  public let name: String
  private let body: @Sendable (any FetchEvaluatable) throws -> Bool

  /// Creates a condition.
  ///
  /// - Parameters:
  ///   - name: The name in errors and printed predicates.
  ///   - body: Returns whether an object matches the condition. The fetch rethrows its errors.
  package init(_ name: String, _ body: @escaping @Sendable (any FetchEvaluatable) throws -> Bool) {
    self.name = name
    self.body = body
  }

  /// Returns whether an object matches the condition.
  ///
  /// - Throws: Errors of the condition's closure.
  package func evaluate(with object: any FetchEvaluatable) throws -> Bool { try body(object) }
}

extension BlockPredicate: Hashable {
  /// Returns whether two blocks are identical.
  public static func == (left: BlockPredicate, right: BlockPredicate) -> Bool { left === right }
  /// Hashes the object identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension BlockPredicate: CustomStringConvertible {
  /// `BLOCKPREDICATE(name)`, which cannot be parsed.
  public var description: String { "BLOCKPREDICATE(\(name))" }
}

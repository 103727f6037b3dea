// BlockPredicate: a condition written in Swift, which only the process that holds it can ask.

/// An object that conditions written in Swift can look at.
package protocol FetchEvaluatable {
  /// The value at the end of a dotted path of to-one relationships; nil when there is none.
  ///
  /// - Throws: An error when the path names no property.
  func value(forKeyPath keyPath: String) throws -> Any?
}

/// A condition written in Swift: the part of a predicate that no store can answer.
///
/// A fetch takes such a condition only with ``FetchSpecification/allowsInMemoryFiltering``: the rest of the predicate goes to the store, and the block is
/// called for each object that the store finds. Two blocks are equal when they are the same object.
public final class BlockPredicate: Sendable {
  /// What errors and printed predicates call it.
  public let name: String
  private let body: @Sendable (any FetchEvaluatable) throws -> Bool

  /// Makes a condition.
  ///
  /// - Parameters:
  ///   - name: What errors and printed predicates call it.
  ///   - body: Whether an object meets the condition. The fetch throws what this throws.
  package init(_ name: String, _ body: @escaping @Sendable (any FetchEvaluatable) throws -> Bool) {
    self.name = name
    self.body = body
  }

  /// Whether an object meets the condition.
  ///
  /// - Throws: What the condition's code throws.
  package func evaluate(with object: any FetchEvaluatable) throws -> Bool { try body(object) }
}

extension BlockPredicate: Hashable {
  /// Whether two blocks are the same object.
  public static func == (left: BlockPredicate, right: BlockPredicate) -> Bool { left === right }
  /// Hashes the identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension BlockPredicate: CustomStringConvertible {
  /// `BLOCKPREDICATE(name)`, which is printed but not parsed.
  public var description: String { "BLOCKPREDICATE(\(name))" }
}

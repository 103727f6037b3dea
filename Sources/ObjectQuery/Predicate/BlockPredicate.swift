import Foundation

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

/// A value of a type that no attribute has, in a predicate that is evaluated in memory.
///
/// Two such values are equal if `==` says so. Instances of classes without `==` are equal if they are identical. A fetch with such a value throws
/// ``FetchPredicateError/inMemoryValue(type:)``.
public final class InMemoryValue: @unchecked Sendable {  // Only the code that evaluates the predicate reads the value.
  private enum Equality {
    case hashable(AnyHashable)
    case equatable(any Equatable)
    case identity(AnyObject)
  }

  /// The value.
  package let value: Any
  private let equality: Equality

  /// Wraps a value; nil if it has neither an equality nor an identity.
  package init?(_ value: Any) {
    self.value = value
    if let dictionary = value as? [AnyHashable: Any] {
      equality = .hashable(NSDictionary(dictionary: dictionary))
    } else if let hashable = value as? AnyHashable {
      equality = .hashable(hashable)
    } else if let equatable = value as? any Equatable {
      equality = .equatable(equatable)
    } else if type(of: value) is AnyClass {
      equality = .identity(value as AnyObject)
    } else {
      return nil
    }
  }

  /// The name of the value's type.
  public var typeName: String { String(describing: type(of: value)) }
}

extension InMemoryValue: Hashable {
  /// Whether two values are equal, or identical if their class has no equality.
  public static func == (left: InMemoryValue, right: InMemoryValue) -> Bool {
    switch (left.equality, right.equality) {
    case (.hashable(let left), .hashable(let right)): left == right
    case (.equatable(let left), .equatable(let right)): isEqual(left, right)
    case (.identity(let left), .identity(let right)): left === right
    default: false
    }
  }

  private static func isEqual<Value: Equatable>(_ left: Value, _ right: any Equatable) -> Bool { left == right as? Value }

  /// Hashes the value or its identity.
  public func hash(into hasher: inout Hasher) {
    switch equality {
    case .hashable(let value): hasher.combine(value)
    // Equal values need equal hashes, and nothing else is known of them.
    case .equatable: break
    case .identity(let object): hasher.combine(ObjectIdentifier(object))
    }
  }
}

extension InMemoryValue: CustomStringConvertible {
  /// The type in angle brackets, which is printed but not parsed.
  public var description: String { "<\(typeName)>" }
}

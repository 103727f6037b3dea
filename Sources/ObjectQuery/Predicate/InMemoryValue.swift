import Foundation

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

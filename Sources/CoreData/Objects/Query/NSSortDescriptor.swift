public import Foundation
import ObjectModel
package import ObjectQuery

/// A comparison of strings.
public struct SortComparison: Sendable, Hashable {
  package let comparison: FetchSortDescriptor.Comparison

  /// Compares characters by their Unicode scalars.
  public static let compare = SortComparison(comparison: .binary)
  /// Ignores case.
  public static let caseInsensitiveCompare = SortComparison(comparison: .caseInsensitive)
  /// Compares by the rules of the user's language.
  public static let localizedCompare = SortComparison(comparison: .localized)
  /// Compares by the rules of the user's language and ignores case.
  public static let localizedCaseInsensitiveCompare = SortComparison(comparison: .localizedCaseInsensitive)
  /// Compares as file lists do: numbers by their value.
  public static let localizedStandardCompare = SortComparison(comparison: .localizedStandard)

  /// Creates the comparison for a method's name, such as `localizedStandardCompare:`; returns nil for other names.
  init?(_ selector: Selector) {
    switch selector.name {
    case "compare:": self = .compare
    case "caseInsensitiveCompare:": self = .caseInsensitiveCompare
    case "localizedCompare:": self = .localizedCompare
    case "localizedCaseInsensitiveCompare:": self = .localizedCaseInsensitiveCompare
    case "localizedStandardCompare:": self = .localizedStandardCompare
    default: return nil
    }
  }

  private init(comparison: FetchSortDescriptor.Comparison) { self.comparison = comparison }
  init(_ comparison: FetchSortDescriptor.Comparison) { self.comparison = comparison }

  var selector: Selector {
    switch comparison {
    case .binary: "compare:"
    case .caseInsensitive: "caseInsensitiveCompare:"
    case .localized: "localizedCompare:"
    case .localizedCaseInsensitive: "localizedCaseInsensitiveCompare:"
    case .localizedStandard: "localizedStandardCompare:"
    }
  }

  func compare(_ one: String, _ other: String) -> ComparisonResult {
    switch comparison {
    case .binary: one < other ? .orderedAscending : one == other ? .orderedSame : .orderedDescending
    case .caseInsensitive: one.caseInsensitiveCompare(other)
    case .localized: one.localizedCompare(other)
    case .localizedCaseInsensitive: one.localizedCaseInsensitiveCompare(other)
    case .localizedStandard: one.localizedStandardCompare(other)
    }
  }
}

/// The name of an Objective-C method. `NSSelectorFromString("localizedStandardCompare:")` compiles on all systems, `#selector` does not.
public struct Selector: Sendable, Hashable, ExpressibleByStringLiteral {
  let name: String
  /// Creates a selector from a method's name.
  public init(_ name: String) { self.name = name }
  /// Creates a selector from a method's name.
  public init(stringLiteral name: String) { self.name = name }
}

/// Returns the selector for a method's name.
public func NSSelectorFromString(_ name: String) -> Selector { Selector(name) }
/// Returns the method's name of a selector.
public func NSStringFromSelector(_ selector: Selector) -> String { selector.name }

/// A sort order by a property, ascending or descending.
///
/// A sort order that stores cannot evaluate, such as one with a closure, can sort arrays; a fetch with it throws.
public final class NSSortDescriptor: NSObject, @unchecked Sendable {  // immutable
  package let outcome: Result<FetchSortDescriptor, any Error>
  /// The property.
  public let key: String?
  /// Whether the order is ascending.
  public let ascending: Bool
  private let comparison: SortComparison
  private let closure: Comparator?

  private init(_ key: String?, _ ascending: Bool, _ comparison: SortComparison, _ closure: Comparator? = nil, _ issue: (any Error)? = nil) {
    (self.key, self.ascending, self.comparison, self.closure) = (key, ascending, comparison, closure)
    let descriptor = FetchSortDescriptor(key ?? "self", ascending: ascending, comparison: comparison.comparison)
    outcome = (issue ?? (closure == nil ? nil : SortDescriptorError.closure(key ?? "self"))).map { .failure($0) } ?? .success(descriptor)
  }

  convenience init(_ descriptor: FetchSortDescriptor) {
    let key: String? = if case .keyPath(let names) = descriptor.expression { names.joined(separator: ".") } else { nil }
    self.init(key, descriptor.isAscending, SortComparison(descriptor.comparison))
  }

  /// Creates a sort order by a property, or by a key path of to-one relationships that ends with a property.
  public convenience init(key: String?, ascending: Bool) { self.init(key, ascending, .compare) }

  /// Creates a sort order by a string property with a comparison.
  ///
  /// - Parameters:
  ///   - key: The property, or a key path of to-one relationships that ends with a property.
  ///   - ascending: Whether the order is ascending.
  ///   - comparison: The comparison of strings.
  public convenience init(key: String?, ascending: Bool, comparison: SortComparison) { self.init(key, ascending, comparison) }

  /// Creates a sort order by a string property with a comparison method.
  ///
  /// - Parameters:
  ///   - key: The property, or a key path of to-one relationships that ends with a property.
  ///   - ascending: Whether the order is ascending.
  ///   - selector: `compare:`, `caseInsensitiveCompare:`, `localizedCompare:`, `localizedCaseInsensitiveCompare:` or
  ///     `localizedStandardCompare:`.
  public convenience init(key: String?, ascending: Bool, selector: Selector?) {
    let comparison = selector.flatMap(SortComparison.init)
    self.init(
      key, ascending, comparison ?? .compare, nil,
      selector.flatMap { comparison == nil ? SortDescriptorError.selector($0.name) : nil })
  }

  /// Creates a sort order with a closure, which stores cannot evaluate.
  ///
  /// - Parameters:
  ///   - key: The property, or a key path of to-one relationships that ends with a property.
  ///   - ascending: Whether the order is ascending.
  ///   - comparator: Compares two values.
  public convenience init(key: String?, ascending: Bool, comparator: @escaping Comparator) {
    self.init(key, ascending, .compare, comparator)
  }

  /// Creates a sort order by a property.
  public convenience init<Root, Value>(keyPath: KeyPath<Root, Value>, ascending: Bool) {
    do { self.init(try ManagedKeyPaths.name(of: keyPath), ascending, .compare) } catch { self.init(nil, ascending, .compare, nil, error) }
  }

  /// Creates a sort order by a property with a closure, which stores cannot evaluate.
  ///
  /// - Parameters:
  ///   - keyPath: The property, or a key path of to-one relationships that ends with a property.
  ///   - ascending: Whether the order is ascending.
  ///   - comparator: Compares two values.
  public convenience init<Root, Value>(keyPath: KeyPath<Root, Value>, ascending: Bool, comparator: @escaping Comparator) {
    do { self.init(try ManagedKeyPaths.name(of: keyPath), ascending, .compare, comparator) } catch {
      self.init(nil, ascending, .compare, comparator, error)
    }
  }

  /// The comparison method for strings; nil for a closure.
  public var selector: Selector? { closure == nil ? comparison.selector : nil }

  /// A closure that compares two values.
  public var comparator: Comparator {
    if let closure { return closure }
    let comparison = comparison
    return { KeyedValue.compare($0, $1, by: comparison) }
  }

  /// Compares two objects: managed objects, dictionaries, or plain values if there is no key.
  public func compare(_ object1: Any, to object2: Any) -> ComparisonResult {
    let (one, other) = (KeyedValue.of(key ?? "", in: object1), KeyedValue.of(key ?? "", in: object2))
    let result = closure.map { $0(one ?? NSNull(), other ?? NSNull()) } ?? KeyedValue.compare(one, other, by: comparison)
    if ascending { return result }
    return result == .orderedSame ? result : result == .orderedAscending ? .orderedDescending : .orderedAscending
  }

  /// The sort descriptor with the reverse order.
  public var reversedSortDescriptor: Any {
    let issue: (any Error)? = if case .failure(let error) = outcome, closure == nil { error } else { nil }
    return NSSortDescriptor(key, !ascending, comparison, closure, issue)
  }

  /// Returns whether both descriptors have the same order. Descriptors with closures are equal only if they are identical.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSSortDescriptor else { return false }
    if closure != nil || other.closure != nil { return other === self }
    return other.key == key && other.ascending == ascending && other.comparison == comparison
  }
  /// A hash of the order.
  public override var hash: Int { (key ?? "").hashValue }
  /// A textual description of the order.
  public override var description: String { "(\(key ?? "self"), \(ascending ? "ascending" : "descending"), \(comparison.selector.name))" }
}

/// The reasons why a fetch cannot use a sort order.
enum SortDescriptorError: LocalizedError {
  case closure(String)
  case selector(String)

  var errorDescription: String? {
    switch self {
    case .closure(let key):
      "the order by “\(key)” compares by a closure, which no store can call; fetch without it, and sort what was fetched"
    case .selector(let name):
      "no order compares by \(name); there are compare:, caseInsensitiveCompare:, localizedCompare:, localizedCaseInsensitiveCompare: and localizedStandardCompare:"
    }
  }
}

// NSSortDescriptor: orders of results as objects.
public import Foundation
import ObjectModel
package import ObjectQuery

/// How texts are compared.
public struct SortComparison: Sendable, Hashable {
  package let comparison: FetchSortDescriptor.Comparison

  /// By characters.
  public static let compare = SortComparison(comparison: .binary)
  /// Without regard to case.
  public static let caseInsensitiveCompare = SortComparison(comparison: .caseInsensitive)
  /// As the user's language has it.
  public static let localizedCompare = SortComparison(comparison: .localized)
  /// As the user's language has it, without regard to case.
  public static let localizedCaseInsensitiveCompare = SortComparison(comparison: .localizedCaseInsensitive)
  /// As files are listed: numbers by their value.
  public static let localizedStandardCompare = SortComparison(comparison: .localizedStandard)

  /// The comparison of a method's name, such as `localizedStandardCompare:`; nil where it is none.
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

/// The name of a method, as Objective-C has it: `NSSelectorFromString("localizedStandardCompare:")` compiles on all systems, where `#selector` does not.
public struct Selector: Sendable, Hashable, ExpressibleByStringLiteral {
  let name: String
  /// The name of a method.
  public init(_ name: String) { self.name = name }
  /// The name of a method.
  public init(stringLiteral name: String) { self.name = name }
}

/// The name of a method.
public func NSSelectorFromString(_ name: String) -> Selector { Selector(name) }
/// The text of a method's name.
public func NSStringFromSelector(_ selector: Selector) -> String { selector.name }

/// An order of results: by a property, upwards or downwards.
///
/// One that no store can answer, such as one by a closure, sorts arrays, and is told by a fetch with it.
public final class NSSortDescriptor: NSObject, @unchecked Sendable {  // it never changes
  package let outcome: Result<FetchSortDescriptor, any Error>
  /// The property.
  public let key: String?
  /// Whether the least comes first.
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

  /// By a property, or by one at the end of a path of to-one relationships.
  public convenience init(key: String?, ascending: Bool) { self.init(key, ascending, .compare) }

  /// By a text property, compared in a way of its own.
  ///
  /// - Parameters:
  ///   - key: The property, or a path of to-one relationships that ends with one.
  ///   - ascending: Whether the least comes first.
  ///   - comparison: How texts are compared.
  public convenience init(key: String?, ascending: Bool, comparison: SortComparison) { self.init(key, ascending, comparison) }

  /// By a text property, compared by a method.
  ///
  /// - Parameters:
  ///   - key: The property, or a path of to-one relationships that ends with one.
  ///   - ascending: Whether the least comes first.
  ///   - selector: `compare:`, `caseInsensitiveCompare:`, `localizedCompare:`, `localizedCaseInsensitiveCompare:` or `localizedStandardCompare:`.
  public convenience init(key: String?, ascending: Bool, selector: Selector?) {
    let comparison = selector.flatMap(SortComparison.init)
    self.init(
      key, ascending, comparison ?? .compare, nil,
      selector.flatMap { comparison == nil ? SortDescriptorError.selector($0.name) : nil })
  }

  /// By a closure, which no store can ask.
  ///
  /// - Parameters:
  ///   - key: The property, or a path of to-one relationships that ends with one.
  ///   - ascending: Whether the least comes first.
  ///   - comparator: Compares two values.
  public convenience init(key: String?, ascending: Bool, comparator: @escaping Comparator) {
    self.init(key, ascending, .compare, comparator)
  }

  /// By a property.
  public convenience init<Root, Value>(keyPath: KeyPath<Root, Value>, ascending: Bool) {
    do { self.init(try ManagedKeyPaths.name(of: keyPath), ascending, .compare) } catch { self.init(nil, ascending, .compare, nil, error) }
  }

  /// By a property, compared by a closure, which no store can ask.
  ///
  /// - Parameters:
  ///   - keyPath: The property, or a path of to-one relationships that ends with one.
  ///   - ascending: Whether the least comes first.
  ///   - comparator: Compares two values.
  public convenience init<Root, Value>(keyPath: KeyPath<Root, Value>, ascending: Bool, comparator: @escaping Comparator) {
    do { self.init(try ManagedKeyPaths.name(of: keyPath), ascending, .compare, comparator) } catch {
      self.init(nil, ascending, .compare, comparator, error)
    }
  }

  /// How texts are compared, as a method's name; nil for a closure.
  public var selector: Selector? { closure == nil ? comparison.selector : nil }

  /// What compares two values.
  public var comparator: Comparator {
    if let closure { return closure }
    let comparison = comparison
    return { KeyedValue.compare($0, $1, by: comparison) }
  }

  /// How two objects stand in the order: managed objects, dictionaries, or plain values where there is no key.
  public func compare(_ object1: Any, to object2: Any) -> ComparisonResult {
    let (one, other) = (KeyedValue.of(key ?? "", in: object1), KeyedValue.of(key ?? "", in: object2))
    let result = closure.map { $0(one ?? NSNull(), other ?? NSNull()) } ?? KeyedValue.compare(one, other, by: comparison)
    if ascending { return result }
    return result == .orderedSame ? result : result == .orderedAscending ? .orderedDescending : .orderedAscending
  }

  /// The opposite order.
  public var reversedSortDescriptor: Any {
    let issue: (any Error)? = if case .failure(let error) = outcome, closure == nil { error } else { nil }
    return NSSortDescriptor(key, !ascending, comparison, closure, issue)
  }

  /// Descriptors are equal where their orders are; those by closures where they are the same.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSSortDescriptor else { return false }
    if closure != nil || other.closure != nil { return other === self }
    return other.key == key && other.ascending == ascending && other.comparison == comparison
  }
  /// The hash of the order.
  public override var hash: Int { (key ?? "").hashValue }
  /// The order as text.
  public override var description: String { "(\(key ?? "self"), \(ascending ? "ascending" : "descending"), \(comparison.selector.name))" }
}

/// Why an order cannot be that of a fetch.
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

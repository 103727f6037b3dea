/// The quantifier of a comparison with a to-many left side.
public enum ComparisonModifier: String, Sendable, Hashable {
  /// The left side is a single value.
  case direct = ""
  /// At least one member matches; false for an empty collection.
  case any = "ANY"
  /// Every member matches; true for an empty collection.
  case all = "ALL"
  /// No member matches; true for an empty collection.
  case none = "NONE"
}

/// Options of string comparisons, such as `[cd]` after an operator in the format language.
///
/// ```swift
/// let request = Book.all.where { $0.title.contains("été", [.caseInsensitive, .diacriticInsensitive]) }
/// let same = try FetchPredicate(format: "title CONTAINS[cd] %@", "été")
/// ```
///
/// Without options, strings are equal if their characters are equal. A comparison with options scans every row, unless the attribute has an
/// index with the same collation (``FetchIndexElement``), which equality and prefix comparisons use. ``localeSensitive`` never uses an
/// index.
public struct ComparisonOptions: OptionSet, Sendable, Hashable {
  /// The raw bits.
  public let rawValue: UInt8
  /// Creates options from raw bits. Undefined bits are ignored.
  public init(rawValue: UInt8) { self.rawValue = rawValue & 15 }
  /// `[c]`: ignores case.
  public static let caseInsensitive = ComparisonOptions(rawValue: 1)
  /// `[d]`: ignores diacritics.
  public static let diacriticInsensitive = ComparisonOptions(rawValue: 2)
  /// `[n]`: both sides are already normalized, and are compared byte by byte.
  public static let normalized = ComparisonOptions(rawValue: 4)
  /// `[l]`: compares by the rules of the current locale.
  public static let localeSensitive = ComparisonOptions(rawValue: 8)
}

extension ComparisonOptions {
  /// The letters of the options in the format language, in canonical order.
  static let letters: [(letter: Character, option: ComparisonOptions)] = [
    ("c", .caseInsensitive), ("d", .diacriticInsensitive), ("n", .normalized), ("l", .localeSensitive),
  ]

  /// The letters of these options, such as `cd`.
  var text: String { String(ComparisonOptions.letters.filter { contains($0.option) }.map(\.letter)) }
}

// MARK: - Comparisons with lists

extension FetchComparison {
  /// The equivalent `value IN list` for `list CONTAINS value`; nil for other comparisons.
  var inverted: FetchComparison? {
    guard op == .contains, modifier == .direct, left.listItems != nil else { return nil }
    return FetchComparison(left: right, op: .in, right: left, options: options)
  }

  /// The predicate with one comparison for each member, for ANY, ALL and NONE of a literal list; nil for other comparisons.
  var expanded: FetchPredicate? {
    guard modifier != .direct, let items = left.listItems else { return nil }
    let members = items.map { FetchPredicate.comparison(FetchComparison(left: $0, op: op, right: right, options: options)) }
    return switch modifier {
    case .all: .and(members)
    case .none: .not(.or(members))
    default: .or(members)
    }
  }
}

extension FetchExpression {
  /// The members of a list that is a literal or an argument; nil for other expressions.
  fileprivate var listItems: [FetchExpression]? {
    switch self {
    case .constant(.list(let items)): items.map { .constant($0) }
    case .aggregate(let items): items
    default: nil
    }
  }
}

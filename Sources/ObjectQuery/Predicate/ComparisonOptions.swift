// ComparisonOptions: the operators of comparisons, their modifiers and string options.

/// How the two sides of a comparison are compared.
public enum ComparisonOperator: String, Sendable, Hashable, CaseIterable {
  /// Equal.
  case equal = "=="
  /// Not equal.
  case notEqual = "!="
  /// Less.
  case less = "<"
  /// Less or equal.
  case lessOrEqual = "<="
  /// Greater.
  case greater = ">"
  /// Greater or equal.
  case greaterOrEqual = ">="
  /// Between the two values of a list, both included.
  case between = "BETWEEN"
  /// One of a list or collection; or a substring of a string.
  case `in` = "IN"
  /// Contains a substring, or a collection contains a member.
  case contains = "CONTAINS"
  /// Begins with a string.
  case beginsWith = "BEGINSWITH"
  /// Ends with a string.
  case endsWith = "ENDSWITH"
  /// Matches a pattern of `*` and `?`.
  case like = "LIKE"
  /// Matches a regular expression as a whole.
  case matches = "MATCHES"
  /// Has the words that a ``TextQuery`` looks for.
  case search = "SEARCH"
}

/// Which members of a to-many left side a comparison asks about.
public enum ComparisonModifier: String, Sendable, Hashable {
  /// The left side is one value.
  case direct = ""
  /// Some member meets the comparison; false for an empty collection.
  case any = "ANY"
  /// Every member meets it; true for an empty collection.
  case all = "ALL"
  /// No member meets it; true for an empty collection.
  case none = "NONE"
}

/// How strings are compared: what `[cd]` behind an operator says in the format language.
///
/// ```swift
/// let request = Book.all.where { $0.title.contains("été", [.caseInsensitive, .diacriticInsensitive]) }
/// let same = try FetchPredicate(format: "title CONTAINS[cd] %@", "été")
/// ```
///
/// Without options strings are equal where their characters are. A comparison with options looks at each row, unless the attribute has an index with the same
/// collation (``FetchIndexElement``), which equality and prefixes use. ``localeSensitive`` never uses an index.
public struct ComparisonOptions: OptionSet, Sendable, Hashable {
  /// The raw bits.
  public let rawValue: UInt8
  /// Makes options of raw bits; bits that are no option are dropped.
  public init(rawValue: UInt8) { self.rawValue = rawValue & 15 }
  /// `[c]`: upper and lower case are equal.
  public static let caseInsensitive = ComparisonOptions(rawValue: 1)
  /// `[d]`: letters are equal whatever their accents.
  public static let diacriticInsensitive = ComparisonOptions(rawValue: 2)
  /// `[n]`: the caller promises that both sides are normalised; they are compared byte by byte.
  public static let normalized = ComparisonOptions(rawValue: 4)
  /// `[l]`: compared by the rules of the current locale.
  public static let localeSensitive = ComparisonOptions(rawValue: 8)
}

extension ComparisonOptions {
  /// The letters of the options in format language, in the order in which they are written.
  static let letters: [(letter: Character, option: ComparisonOptions)] = [
    ("c", .caseInsensitive), ("d", .diacriticInsensitive), ("n", .normalized), ("l", .localeSensitive),
  ]

  /// The letters of these options, such as `cd`.
  var text: String { String(ComparisonOptions.letters.filter { contains($0.option) }.map(\.letter)) }
}

import ObjectModel

/// The meaning of a placeholder.
enum SQLBinder: Hashable, Sendable {
  /// A constant of the fetch: a value, or the key of an object.
  case constant(Int)
  /// A member of a list constant. If the list is shorter, its last member.
  case listMember(Int, Int)
  /// All members of a list constant as one `ValueList`. Objects are represented by their unique keys in ascending order.
  case list(Int)
  /// All constants of the fetch in one blob (``PackedConstants``). It is always the first placeholder, however often the text refers to it.
  case packedConstants
  /// The exclusive upper bound of all texts that start with a constant.
  case prefixEnd(Int)
  case limit
  case offset
  /// The limit of a count that chooses between plans.
  case probe

  var isList: Bool {
    if case .list = self { true } else { false }
  }
}

/// A piece of SQL text with its placeholders. Values never become text.
///
/// An interpolation such as `"\(name) = \(value)"` inserts names as text, and fragments with their placeholders.
struct SQLFragment: ExpressibleByStringInterpolation, Sendable {
  var text: String
  var binders: [SQLBinder]

  init(_ text: String, binders: [SQLBinder] = []) {
    self.text = text
    self.binders = binders
  }

  init(stringLiteral value: String) { self.init(value) }

  init(stringInterpolation: Interpolation) { self = stringInterpolation.fragment }

  init(_ binder: SQLBinder) { self.init("?", binders: [binder]) }

  struct Interpolation: StringInterpolationProtocol {
    var fragment = SQLFragment("")
    init(literalCapacity: Int, interpolationCount: Int) { fragment.text.reserveCapacity(literalCapacity + interpolationCount * 16) }
    mutating func appendLiteral(_ literal: String) { fragment.text += literal }
    /// Appends a quoted name or an alias.
    mutating func appendInterpolation(_ name: String) { fragment.text += name }
    mutating func appendInterpolation(_ number: Int) { fragment.text += String(number) }
    mutating func appendInterpolation(_ other: SQLFragment) { fragment.append(other) }
  }

  mutating func append(_ other: SQLFragment) {
    text += other.text
    binders += other.binders
  }

  var hasSubquery: Bool { text.contains("SELECT ") }

  /// Whether the fragment, a query, reads only rows of one table, each on its own.
  var isOfOneTable: Bool { !text.dropFirst().contains("SELECT ") && !text.contains(" JOIN ") }

  var parenthesized: SQLFragment { "(\(self))" }

  /// Joins fragments. Long sequences are joined in parenthesized groups, since SQLite's parse tree is as deep as a sequence is long.
  static func joined(_ fragments: [SQLFragment], by separator: String) -> SQLFragment {
    let groupSize = 40
    guard fragments.count > groupSize, separator != ", " else {
      var result = SQLFragment("")
      for (index, fragment) in fragments.enumerated() {
        if index > 0 { result.text += separator }
        result.append(fragment)
      }
      return result
    }
    let size = max(groupSize, (fragments.count + groupSize - 1) / groupSize)
    let groups = stride(from: 0, to: fragments.count, by: size).map { start in
      joined(Array(fragments[start..<min(start + size, fragments.count)]), by: separator).parenthesized
    }
    return joined(groups, by: separator)
  }
}

/// Formats values as SQL text. Used only for conditions of partial indexes, whose constants come from the model.
enum SQLLiteral {
  static func text(_ slot: Slot) -> String {
    switch slot {
    case .null: "NULL"
    case .int(let value): value == .min ? "(-9223372036854775807 - 1)" : String(value)
    case .real(let value): value.isFinite ? "\(value)" : value > 0 ? "9e999" : "-9e999"
    case .text(let value):
      // A NUL character would end the statement.
      value.utf8.contains(0)
        ? "CAST(x'\(value.utf8.map(hex).joined())' AS TEXT)" : "'\(value.replacing("'", with: "''"))'"
    case .bytes(let value): "x'\(value.map(hex).joined())'"
    }
  }

  private static func hex(_ byte: UInt8) -> String {
    let text = String(byte, radix: 16)
    return text.count == 1 ? "0" + text : text
  }
}

/// Joins SQL conditions into balanced expressions.
///
/// SQLite parses `a OR b OR c` as left-nested and limits the expression depth to 1,000. Nesting halves in parentheses keeps the depth
/// logarithmic, however many columns a table has.
enum BalancedCondition {
  /// The maximum number of conditions joined without nesting.
  private static let maximumRow = 100

  /// Returns the disjunction of the conditions. The caller parenthesizes conditions that need it.
  static func any(_ conditions: [String]) -> String { joined(conditions[...], " OR ") }

  /// Returns the conjunction of the conditions. The caller parenthesizes conditions that need it.
  static func all(_ conditions: [String]) -> String { joined(conditions[...], " AND ") }

  private static func joined(_ conditions: ArraySlice<String>, _ word: String) -> String {
    guard conditions.count > maximumRow else { return conditions.joined(separator: word) }
    let middle = conditions.startIndex + conditions.count / 2
    return "(\(joined(conditions[..<middle], word)))\(word)(\(joined(conditions[middle...], word)))"
  }
}

/// Joins queries into compound queries. SQLite limits a compound `SELECT` to 500 terms.
enum CompoundSelect {
  private static let maximumRow = 100

  static func joined(_ queries: [String], by word: String) -> String {
    guard queries.count > maximumRow else { return queries.joined(separator: " \(word) ") }
    let groups = stride(from: 0, to: queries.count, by: maximumRow).map { start in
      "SELECT * FROM (\(queries[start..<min(start + maximumRow, queries.count)].joined(separator: " \(word) ")))"
    }
    return joined(groups, by: word)
  }
}

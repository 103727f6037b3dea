// SQLFragment: SQL text with what its placeholders stand for. Values never become text.

/// What a placeholder stands for.
enum SQLBinder: Hashable, Sendable {
  /// A constant of the fetch: a value, or the key of an object.
  case constant(Int)
  /// A member of a constant that is a list; the last one again where the list is shorter.
  case listMember(Int, Int)
  /// All members of a constant that is a list, in one (`ValueList`); objects in the order of their keys, each once.
  case list(Int)
  /// All values of the fetch in one (``PackedConstants``); always the first placeholder, however often it stands in the text.
  case packedConstants
  /// The least text behind all texts that begin with a constant.
  case prefixEnd(Int)
  case limit
  case offset
  /// The bound of a count that chooses between plans.
  case probe
}

/// A piece of SQL: `"\(name) = \(value)"` joins names (as text) and pieces (with their placeholders).
struct SQLFragment: ExpressibleByStringInterpolation, Sendable {
  var text: String
  var binders: [SQLBinder]

  init(_ text: String, binders: [SQLBinder] = []) {
    self.text = text
    self.binders = binders
  }

  init(stringLiteral value: String) { self.init(value) }

  init(stringInterpolation: Interpolation) { self = stringInterpolation.fragment }

  /// One placeholder.
  init(_ binder: SQLBinder) { self.init("?", binders: [binder]) }

  struct Interpolation: StringInterpolationProtocol {
    var fragment = SQLFragment("")
    init(literalCapacity: Int, interpolationCount: Int) { fragment.text.reserveCapacity(literalCapacity + interpolationCount * 16) }
    mutating func appendLiteral(_ literal: String) { fragment.text += literal }
    /// Adds a quoted name or an alias.
    mutating func appendInterpolation(_ name: String) { fragment.text += name }
    mutating func appendInterpolation(_ number: Int) { fragment.text += String(number) }
    mutating func appendInterpolation(_ other: SQLFragment) { fragment.append(other) }
  }

  mutating func append(_ other: SQLFragment) {
    text += other.text
    binders += other.binders
  }

  /// Whether it reads a table by itself.
  var hasSubquery: Bool { text.contains("SELECT ") }

  /// In parentheses.
  var parenthesized: SQLFragment { "(\(self))" }

  /// Joins pieces; long rows in groups of their own, since SQLite builds a tree as deep as a row is long.
  static func joined(_ pieces: [SQLFragment], by separator: String) -> SQLFragment {
    let groupSize = 40
    guard pieces.count > groupSize, separator != ", " else {
      var result = SQLFragment("")
      for (index, piece) in pieces.enumerated() {
        if index > 0 { result.text += separator }
        result.append(piece)
      }
      return result
    }
    let size = max(groupSize, (pieces.count + groupSize - 1) / groupSize)
    let groups = stride(from: 0, to: pieces.count, by: size).map { start in
      joined(Array(pieces[start..<min(start + size, pieces.count)]), by: separator).parenthesized
    }
    return joined(groups, by: separator)
  }
}

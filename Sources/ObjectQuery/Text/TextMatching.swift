package import Foundation

/// The string operators on UTF-8 bytes, so that a store's SQL functions can call them with their own buffers.
package enum TextMatching {
  /// Returns whether a text begins with another. The empty text is a prefix of every text.
  package static func begins(_ text: UnsafeBufferPointer<UInt8>, with prefix: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let start = prefix.baseAddress, !prefix.isEmpty else { return true }
    guard let base = text.baseAddress, text.count >= prefix.count else { return false }
    return memcmp(base, start, prefix.count) == 0
  }

  /// Returns whether a text ends with another. The empty text is a suffix of every text.
  package static func ends(_ text: UnsafeBufferPointer<UInt8>, with suffix: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let start = suffix.baseAddress, !suffix.isEmpty else { return true }
    guard let base = text.baseAddress, text.count >= suffix.count else { return false }
    return memcmp(base + (text.count - suffix.count), start, suffix.count) == 0
  }

  /// Returns whether a text contains another. Every text contains the empty text. Complexity: O(*n*) in the length of the text, except for
  /// needles that nearly match at many positions.
  package static func contains(_ text: UnsafeBufferPointer<UInt8>, _ needle: UnsafeBufferPointer<UInt8>) -> Bool {
    firstPosition(of: needle, in: text) != nil
  }

  /// Returns the position of the first occurrence of one text in another; 0 for the empty text.
  static func firstPosition(of needle: UnsafeBufferPointer<UInt8>, in text: UnsafeBufferPointer<UInt8>) -> Int? {
    guard let start = needle.baseAddress, !needle.isEmpty else { return 0 }
    guard let base = text.baseAddress, text.count >= needle.count else { return nil }
    let first = Int32(start[0])
    var rest = base
    var candidates = text.count - needle.count + 1
    while candidates > 0, let found = memchr(rest, first, candidates) {
      let match = UnsafePointer(found.assumingMemoryBound(to: UInt8.self))
      if memcmp(match, start, needle.count) == 0 { return match - base }
      candidates -= match - rest + 1
      rest = match + 1
    }
    return nil
  }

  /// Returns the order of two texts by their bytes: negative, zero or positive.
  package static func compare(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Int {
    let common = min(left.count, right.count)
    if common > 0, let first = left.baseAddress, let second = right.baseAddress {
      let order = memcmp(first, second, common)
      if order != 0 { return Int(order) }
    }
    return left.count - right.count
  }

  /// Returns the order of two texts by their UTF-8 bytes. Swift's `==` treats both normal forms of a letter as equal.
  package static func compare(_ left: String, _ right: String) -> Int {
    withUTF8(of: left) { left in withUTF8(of: right) { compare(left, $0) } }
  }

  /// Returns whether two texts satisfy an operator under options.
  ///
  /// - Parameters:
  ///   - left: The left side.
  ///   - op: `==`, an order, or a string operator. Patterns of LIKE and MATCHES and queries are compiled at each call; see ``LikePattern``,
  ///     ``WholeTextPattern``, ``TextQuery``.
  ///   - right: The right side.
  ///   - options: The options for comparing strings.
  /// - Returns: Whether they satisfy the operator; false if it is not a text operator, or the pattern is invalid.
  package static func matches(_ left: String, _ op: ComparisonOperator, _ right: String, _ options: ComparisonOptions) -> Bool {
    switch op {
    case .like: return LikePattern(right, options).matches(left)
    case .matches: return WholeTextPattern(right, options)?.matches(left) ?? false
    case .search: return TextQuery(typed: right).matches(left)
    default:
      let (left, right) = (TextFolding.fold(left, options), TextFolding.fold(right, options))
      return matchesFolded(left, op, right, options)
    }
  }

  /// Returns whether two texts that are already folded satisfy an operator.
  package static func matchesFolded(_ left: String, _ op: ComparisonOperator, _ right: String, _ options: ComparisonOptions) -> Bool {
    if options.contains(.localeSensitive), !op.isTextOperator {
      return op.accepts(order: compareLocalized(left, right, caseInsensitive: false))
    }
    return withUTF8(of: left) { left in withUTF8(of: right) { matchesFolded(utf8: left, op, $0) } }
  }

  /// Returns whether two texts that are already folded satisfy an operator, without a locale: `==`, an order, BEGINSWITH, ENDSWITH or
  /// CONTAINS.
  package static func matchesFolded(
    utf8 left: UnsafeBufferPointer<UInt8>, _ op: ComparisonOperator, _ right: UnsafeBufferPointer<UInt8>
  ) -> Bool {
    switch op {
    case .beginsWith: begins(left, with: right)
    case .endsWith: ends(left, with: right)
    case .contains: contains(left, right)
    default: op.accepts(order: compare(left, right))
    }
  }

  /// Returns the order of two texts by the rules of a locale; nil is the current one.
  package static func compareLocalized(
    _ left: String, _ right: String, caseInsensitive: Bool, numeric: Bool = false, locale: Locale? = nil
  ) -> Int {
    let locale = locale ?? .current
    // Without `.literal`, and with `.caseInsensitive`, Foundation's comparison is not transitive: "aä" < "z" < "ä" < "aä" in Swedish.
    let options: String.CompareOptions = numeric ? [.literal, .numeric] : .literal
    let (left, right) = (comparable(left, caseInsensitive, locale), comparable(right, caseInsensitive, locale))
    return left.compare(right, options: options, range: nil, locale: locale).rawValue
  }

  /// Returns the text in a form in which literal comparison finds equal texts equal: composed and, if case is ignored, folded.
  private static func comparable(_ text: String, _ caseInsensitive: Bool, _ locale: Locale) -> String {
    let composed = composed(text)
    return caseInsensitive ? Self.composed(composed.folding(options: .caseInsensitive, locale: locale)) : composed
  }

  private static func composed(_ text: String) -> String {
    text.utf8.allSatisfy { $0 < 0x80 } ? text : text.precomposedStringWithCanonicalMapping
  }
}

extension ComparisonOperator {
  /// Returns whether an order of the two sides (negative, zero, positive) satisfies the operator; false for operators other than equality
  /// and order.
  package func accepts(order: Int) -> Bool {
    switch self {
    case .equal: order == 0
    case .notEqual: order != 0
    case .less: order < 0
    case .lessOrEqual: order <= 0
    case .greater: order > 0
    case .greaterOrEqual: order >= 0
    default: false
    }
  }
}

// DerivationExpression: the forms that the expression of a derived attribute may have.

/// What a derived attribute is computed with.
public enum DerivationOperation: String, Sendable, Hashable, CaseIterable {
  /// The value at the end of the path.
  case copy
  /// The text at the end of the path without case and diacritics.
  case canonical
  /// The text at the end of the path in upper case.
  case uppercase
  /// The text at the end of the path in lower case.
  case lowercase
  /// The number of objects at the end of the path.
  case count
  /// The sum of the values at the end of the path; 0 for none.
  case sum
  /// The least of the values.
  case minimum
  /// The greatest of the values.
  case maximum
  /// The mean of the values.
  case average
  /// The moment at which the object was saved last.
  case now

  /// Whether many values become one.
  public var isAggregate: Bool {
    switch self {
    case .count, .sum, .minimum, .maximum, .average: true
    case .copy, .canonical, .uppercase, .lowercase, .now: false
    }
  }

  /// Whether a text is changed.
  public var isText: Bool { self == .canonical || self == .uppercase || self == .lowercase }

  /// The name in a path, such as `@count`; nil for other forms.
  var pathName: String? {
    switch self {
    case .count: "@count"
    case .sum: "@sum"
    case .minimum: "@min"
    case .maximum: "@max"
    case .average: "@avg"
    default: nil
    }
  }
}

/// An expression taken apart: an operation and a path of names.
struct DerivationExpression: Sendable, Hashable {
  let operation: DerivationOperation
  let path: [String]

  /// The forms, in words, for messages.
  static let forms =
    "possible are a path such as 'author.name'; 'canonical:(name)', 'uppercase:(name)' or 'lowercase:(name)' with such a path; 'items.@count'; "
    + "'items.@sum.price' or 'items.price.@sum' with @sum, @min, @max or @avg; and 'now()'"

  /// Reads an expression; nil when it has none of the forms.
  init?(_ text: String) {
    let text = Self.trimmed(Substring(text))
    if text == "now()" {
      operation = .now
      path = []
      return
    }
    for function in [DerivationOperation.canonical, .uppercase, .lowercase] where text.hasPrefix(function.rawValue + ":") {
      let argument = Self.trimmed(text.dropFirst(function.rawValue.count + 1))
      guard argument.first == "(", argument.last == ")", argument.count > 2,
        let path = Self.names(Self.trimmed(argument.dropFirst().dropLast())), !path.contains(where: { $0.hasPrefix("@") })
      else { return nil }
      operation = function
      self.path = path
      return
    }
    guard var names = Self.names(text) else { return nil }
    guard let position = names.firstIndex(where: { $0.hasPrefix("@") }) else {
      operation = .copy
      path = names
      return
    }
    let name = names.remove(at: position)
    guard let aggregate = DerivationOperation.allCases.first(where: { $0.pathName == name }), position > 0,
      !names.contains(where: { $0.hasPrefix("@") }),
      // Nothing follows a count.
      aggregate != .count || position == names.count
    else { return nil }
    operation = aggregate
    path = names
  }

  private static func names(_ text: Substring) -> [String]? {
    let names = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    let isGood = names.allSatisfy { name in
      !name.isEmpty && name != "@" && !name.contains { $0.isWhitespace || "()'\",:".contains($0) }
    }
    return isGood ? names : nil
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var text = text
    while text.first?.isWhitespace == true { text.removeFirst() }
    while text.last?.isWhitespace == true { text.removeLast() }
    return text
  }
}

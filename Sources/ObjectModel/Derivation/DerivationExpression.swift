/// The operation of a derived attribute.
public enum DerivationOperation: String, Sendable, Hashable, CaseIterable {
  /// The value at the end of the path.
  case copy
  /// The text at the end of the path, without case and diacritics.
  case canonical
  /// The text at the end of the path in uppercase.
  case uppercase
  /// The text at the end of the path in lowercase.
  case lowercase
  /// The number of objects at the end of the path.
  case count
  /// The sum of the values at the end of the path; 0 if there are no values.
  case sum
  /// The minimum of the values.
  case minimum
  /// The maximum of the values.
  case maximum
  /// The mean of the values.
  case average
  /// The time of the object's last save.
  case now

  /// Whether the operation aggregates several values.
  public var isAggregate: Bool {
    switch self {
    case .count, .sum, .minimum, .maximum, .average: true
    case .copy, .canonical, .uppercase, .lowercase, .now: false
    }
  }

  /// Whether the operation transforms text.
  public var isText: Bool { self == .canonical || self == .uppercase || self == .lowercase }

  /// The name in a path, such as `@count`; nil for operations of other forms.
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

/// A parsed derivation expression: an operation and a path of names.
struct DerivationExpression: Sendable, Hashable {
  let operation: DerivationOperation
  let path: [String]

  /// The supported forms, for error messages.
  static let forms =
    "possible are a path such as 'author.name'; 'canonical:(name)', 'uppercase:(name)' or 'lowercase:(name)' with such a path; 'items.@count'; "
    + "'items.@sum.price' or 'items.price.@sum' with @sum, @min, @max or @avg; and 'now()'"

  /// Parses an expression; nil if it has an unsupported form.
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
      // `@count` must be the last name.
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

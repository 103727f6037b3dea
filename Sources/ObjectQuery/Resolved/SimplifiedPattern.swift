/// The meaning of a LIKE or MATCHES pattern, as a simpler comparison that can use an index.
enum SimplifiedPattern: Equatable {
  /// The pattern is equivalent to an operator with a text.
  case comparison(ComparisonOperator, String)
  /// The pattern requires a prefix, among other conditions.
  case beginning(String)
  /// The pattern has no simpler equivalent.
  case pattern

  init(like pattern: String) {
    var literals = [String.UnicodeScalarView()]
    var (starts, ends, hasOthers) = (false, false, false)
    var isEscaped = false
    for scalar in pattern.unicodeScalars {
      let isWildcard = !isEscaped && (scalar == "*" || scalar == "?")
      guard isWildcard || isEscaped || scalar != "\\" else {
        isEscaped = true
        continue
      }
      isEscaped = false
      if isWildcard {
        if scalar == "?" { hasOthers = true }
        if literals.count == 1, literals[0].isEmpty { starts = true }
        ends = true
        literals.append(String.UnicodeScalarView())
      } else {
        ends = false
        literals[literals.count - 1].append(scalar)
      }
    }
    // A trailing backslash is literal.
    if isEscaped {
      literals[literals.count - 1].append("\\")
      ends = false
    }
    let texts = literals.filter { !$0.isEmpty }.map { String($0) }
    if !hasOthers, texts.count <= 1 {
      let text = texts.first ?? ""
      switch (starts, ends) {
      case (false, false): self = .comparison(.equal, text)
      case (false, true): self = .comparison(.beginsWith, text)
      case (true, false): self = .comparison(.endsWith, text)
      case (true, true): self = text.isEmpty ? .comparison(.beginsWith, "") : .comparison(.contains, text)
      }
    } else {
      self = literals[0].isEmpty ? .pattern : .beginning(String(literals[0]))
    }
  }

  /// Creates the meaning of a regular expression for the whole text, as far as literal characters at its beginning determine it.
  init(matches pattern: String) {
    // An alternative may begin differently, and flags change the meaning of letters.
    guard !pattern.unicodeScalars.contains("|"), !pattern.unicodeScalars.starts(with: "(?".unicodeScalars) else {
      self = .pattern
      return
    }
    var literal = String.UnicodeScalarView()
    var next: Unicode.Scalar?
    for scalar in pattern.unicodeScalars {
      next = scalar
      guard SimplifiedPattern.isPlain(scalar) else { break }
      literal.append(scalar)
      next = nil
    }
    // The next character may be a quantifier for the last letter, or a combining mark.
    if let next, "*+?{".unicodeScalars.contains(next) || next.value >= 0x80 { literal.removeLast(min(1, literal.count)) }
    self = literal.isEmpty ? .pattern : .beginning(String(literal))
  }

  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", " ", "-", "_", ":", "/", "@", ",": true
    default: false
    }
  }
}

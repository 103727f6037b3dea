// PatternMeaning: what a pattern asks in simpler words, which an index can answer.

/// What a pattern of LIKE or MATCHES asks.
enum PatternMeaning: Equatable {
  /// The same as an operator does with a text.
  case comparison(ComparisonOperator, String)
  /// A text that begins with another, beside all else.
  case beginning(String)
  /// Nothing that could be said otherwise.
  case pattern

  /// What a pattern of LIKE asks.
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
    // A backslash at the end stands for itself.
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

  /// What a regular expression for the whole text asks, as far as plain letters at its beginning tell.
  init(matches pattern: String) {
    // An alternative may begin otherwise; flags change what letters mean.
    guard !pattern.unicodeScalars.contains("|"), !pattern.unicodeScalars.starts(with: "(?".unicodeScalars) else {
      self = .pattern
      return
    }
    var literal = String.UnicodeScalarView()
    var next: Unicode.Scalar?
    for scalar in pattern.unicodeScalars {
      next = scalar
      guard PatternMeaning.isPlain(scalar) else { break }
      literal.append(scalar)
      next = nil
    }
    // What follows may say how often the last letter stands there, or put a mark on it.
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

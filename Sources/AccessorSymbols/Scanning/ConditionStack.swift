// ConditionStack: the conditions that `#if` puts on what is between it and `#endif`.

/// The conditions that hold where a scanner stands.
struct ConditionStack {
  /// Of each open `#if` the conditions that were passed, and the one that holds; nil for none, as behind `#else`.
  private var open: [(passed: [String], here: String?)] = []

  mutating func note(_ directive: String, _ condition: String) {
    switch directive {
    case "if": open.append(([], condition))
    case "elseif", "else":
      guard let last = open.popLast() else { return }
      open.append((last.passed + (last.here.map { [$0] } ?? []), directive == "else" ? nil : condition))
    default: _ = open.popLast()
    }
  }

  /// The conditions, from the outermost on.
  var current: [String] {
    open.flatMap { frame in frame.passed.map { "!(\($0))" } + (frame.here.map { [$0] } ?? []) }
  }
}

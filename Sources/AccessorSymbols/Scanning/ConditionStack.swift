/// The `#if` conditions at the current position of a scanner.
struct ConditionStack {
  /// For each open `#if`, the conditions of earlier branches and that of the current branch; `nil` after `#else`.
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

  /// The conditions, outermost first.
  var current: [String] {
    open.flatMap { frame in frame.passed.map { "!(\($0))" } + (frame.here.map { [$0] } ?? []) }
  }
}

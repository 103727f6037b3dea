/// A buffer for lines of source with their indentation.
struct SwiftEmitter {
  private var lines: [String] = []
  private var depth = 0

  /// Adds a line. An empty line is a separator.
  mutating func line(_ text: String = "") {
    lines.append(text.isEmpty ? "" : String(repeating: "  ", count: depth) + text)
  }

  /// Adds a block: its head with an opening brace, its indented lines, and the closing brace.
  mutating func block(_ head: String, _ body: (inout SwiftEmitter) -> Void) {
    line(head + " {")
    depth += 1
    body(&self)
    depth -= 1
    line("}")
  }

  /// Adds indented lines between a head and a tail.
  mutating func enclosed(_ head: String, _ tail: String, _ body: (inout SwiftEmitter) -> Void) {
    line(head)
    depth += 1
    body(&self)
    depth -= 1
    line(tail)
  }

  var text: String { lines.joined(separator: "\n") + "\n" }
}

/// The modules that the source of a file must import.
struct ImportNeeds: Equatable {
  /// Whether public signatures use Foundation.
  var foundationInSignatures = false
  /// Whether the code uses Foundation.
  var foundation = false
  /// Whether transformable attributes use types of the application's modules.
  var others = false

  mutating func add(_ other: ImportNeeds) {
    foundationInSignatures = foundationInSignatures || other.foundationInSignatures
    foundation = foundation || other.foundation
    others = others || other.others
  }
}

/// The import lines of a file.
struct ImportLines {
  private enum Level: Int { case `internal`, package, `public` }
  private var levels: [String: Level] = [:]

  /// Adds the imports of a model's source. Only modules used in signatures are imported publicly; otherwise, the compiler would warn.
  @_optimize(none) mutating func add(_ needs: ImportNeeds, _ options: CodeGenerationOptions) {
    let level: Level =
      switch options.access {
      case .internal: .internal
      case .package: .package
      case .open, .public: .public
      }
    add("CipherData", level)
    if needs.foundation || needs.foundationInSignatures { add("Foundation", needs.foundationInSignatures ? level : .internal) }
    if needs.others { for module in options.imports { add(module, level) } }
  }

  private mutating func add(_ module: String, _ level: Level) {
    if level.rawValue >= levels[module]?.rawValue ?? 0 { levels[module] = level }
  }

  /// The lines, the library's first.
  @_optimize(none) var lines: [String] {
    let first = ["CipherData", "Foundation"]
    let others = levels.keys.filter { !first.contains($0) }.sorted()
    return (first + others).compactMap { (module: String) -> String? in
      guard let level = levels[module] else { return nil }
      // The members for generated code are invisible to imports without the attribute.
      let attribute = module == "CipherData" ? "@_spi(Generated) " : ""
      switch level {
      case .internal: return "\(attribute)import \(module)"
      case .package: return "\(attribute)package import \(module)"
      case .public: return "\(attribute)public import \(module)"
      }
    }
  }
}

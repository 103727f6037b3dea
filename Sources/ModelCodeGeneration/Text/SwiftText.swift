// SwiftText: names and values of a model as Swift source.
import Foundation
import ObjectModel

/// Writes names and values as Swift source. Nothing that a model file says reaches the source but through here.
enum SwiftText {
  /// Words that cannot be names without backticks.
  private static let keywords: Set<String> = [
    "Any", "Self", "as", "associatedtype", "await", "break", "case", "catch", "class", "continue", "default", "defer", "deinit", "do",
    "else", "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard", "if", "import", "in", "init", "inout",
    "internal", "is", "let", "nil", "operator", "precedencegroup", "private", "protocol", "public", "repeat", "rethrows", "return", "self",
    "static", "struct", "subscript", "super", "switch", "throw", "throws", "true", "try", "typealias", "var", "where", "while", "_",
  ]

  /// Whether a text is a Swift identifier.
  static func isIdentifier(_ text: String) -> Bool {
    guard let first = text.unicodeScalars.first, isHead(first), text != "_" else { return false }
    return text.unicodeScalars.dropFirst().allSatisfy(isBody)
  }

  private static func isHead(_ scalar: Unicode.Scalar) -> Bool { scalar == "_" || scalar.properties.isXIDStart }
  private static func isBody(_ scalar: Unicode.Scalar) -> Bool { scalar == "_" || scalar.properties.isXIDContinue }

  /// A name as an identifier without backticks: what cannot be in one becomes an underscore.
  static func plainIdentifier(_ name: String) -> String {
    var result = String(String.UnicodeScalarView(name.unicodeScalars.map { isBody($0) ? $0 : "_" }))
    if let first = result.unicodeScalars.first, !isHead(first) { result = "_" + result }
    return result.allSatisfy { $0 == "_" } ? result + "unnamed" : result
  }

  /// Members of every object, struct or type that a property of the name would hide or that Swift keeps for itself. Core Data allows properties of these names.
  private static let memberNames: Set<String> = [
    "Protocol", "Self", "Type", "committedValues", "hashValue", "isUsable", "makeExternalDataWriter", "objectWillChange",
    "validateForDelete",
    "validateForInsert", "validateForUpdate",
  ]

  /// The identifiers of properties beside each other. Plain names keep their own whatever else is declared beside them; names that differ only in what
  /// Swift cannot write get numbers.
  @_optimize(none) static func identifiers(of names: [String], _ taken: inout Set<String>) -> [String: String] {
    var result: [String: String] = [:]
    for name in names.filter(isIdentifier) + names.filter({ !isIdentifier($0) }) {
      let plain = memberNames.contains(name) ? name + "Value" : plainIdentifier(name)
      var identifier = plain
      var copy = 2
      while !taken.insert(identifier).inserted {
        identifier = "\(plain)\(copy)"
        copy += 1
      }
      result[name] = identifier
    }
    return result
  }

  /// A name where source expects one, in backticks if it is a keyword.
  static func escaped(_ identifier: String) -> String { keywords.contains(identifier) ? "`\(identifier)`" : identifier }

  /// The identifier with its first letter raised, for `addToTags`.
  static func capitalized(_ identifier: String) -> String {
    identifier.prefix(1).uppercased() + identifier.dropFirst()
  }

  /// A string literal of one line.
  @_optimize(none) static func literal(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      default:
        // Controls, and whatever could change the direction or the look of the source.
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned, .nonspacingMark, .enclosingMark:
          result += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
        default: result.unicodeScalars.append(scalar)
        }
      }
    }
    return result + "\""
  }

  /// A text for a comment of one line.
  static func comment(_ text: String) -> String {
    String(literal(text).dropFirst().dropLast())
  }

  /// A slot as an expression.
  static func slot(_ slot: Slot, data: String = "Data") -> String {
    switch slot {
    case .null: ".null"
    case .int(let value): ".int(\(value))"
    case .real(let value): ".real(\(real(value)))"
    case .text(let value): ".text(\(literal(value)))"
    case .bytes(let value): ".bytes(\(data)([\(value.map(String.init).joined(separator: ", "))]))"
    }
  }

  private static func real(_ value: Double) -> String {
    if value.isNaN { return ".nan" }
    if value.isInfinite { return value < 0 ? "-.infinity" : ".infinity" }
    return "\(value)"
  }

  /// A Swift type that a model names, if it is written as one: names, dots, brackets, commas, colons and question marks only.
  @_optimize(none) static func type(_ text: String) -> String? {
    let allowed = text.unicodeScalars.allSatisfy { isBody($0) || ".<>[]:,? ()&".unicodeScalars.contains($0) }
    guard allowed, text.unicodeScalars.contains(where: isHead) else { return nil }
    var depth: [Unicode.Scalar] = []
    let pairs: [Unicode.Scalar: Unicode.Scalar] = [">": "<", "]": "[", ")": "("]
    for scalar in text.unicodeScalars {
      if "<[(".unicodeScalars.contains(scalar) { depth.append(scalar) }
      if let open = pairs[scalar], depth.popLast() != open { return nil }
    }
    return depth.isEmpty ? text : nil
  }
}

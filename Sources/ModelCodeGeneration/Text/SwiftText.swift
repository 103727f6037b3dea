import Foundation
import ObjectModel

/// Converts names and values to Swift source. All text from a model file passes through here before it reaches the source.
enum SwiftText {
  /// Words that cannot be names without backticks.
  private static let keywords: Set<String> = [
    "Any", "Self", "as", "associatedtype", "await", "break", "case", "catch", "class", "continue", "default", "defer", "deinit", "do",
    "else", "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard", "if", "import", "in", "init", "inout",
    "internal", "is", "let", "nil", "operator", "precedencegroup", "private", "protocol", "public", "repeat", "rethrows", "return", "self",
    "static", "struct", "subscript", "super", "switch", "throw", "throws", "true", "try", "typealias", "var", "where", "while", "_",
  ]

  /// Returns whether a text is a Swift identifier.
  static func isIdentifier(_ text: String) -> Bool {
    guard let first = text.unicodeScalars.first, isHead(first), text != "_" else { return false }
    return text.unicodeScalars.dropFirst().allSatisfy(isBody)
  }

  private static func isHead(_ scalar: Unicode.Scalar) -> Bool { scalar == "_" || scalar.properties.isXIDStart }
  private static func isBody(_ scalar: Unicode.Scalar) -> Bool { scalar == "_" || scalar.properties.isXIDContinue }

  /// Returns a name as an identifier without backticks, with invalid characters replaced by underscores.
  static func plainIdentifier(_ name: String) -> String {
    var result = String(String.UnicodeScalarView(name.unicodeScalars.map { isBody($0) ? $0 : "_" }))
    if let first = result.unicodeScalars.first, !isHead(first) { result = "_" + result }
    return result.allSatisfy { $0 == "_" } ? result + "unnamed" : result
  }

  /// Members of every object, struct, or type that a property of the same name would shadow, and names that Swift reserves. Core Data
  /// allows properties with these names.
  private static let memberNames: Set<String> = [
    "Protocol", "Self", "Type", "committedValues", "hashValue", "isUsable", "makeExternalDataWriter", "objectWillChange",
    "validateForDelete",
    "validateForInsert", "validateForUpdate",
  ]

  /// Returns unique identifiers for the properties of a type. Valid names are kept; names that differ only in characters that are invalid
  /// in Swift get numeric suffixes.
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

  /// Returns an identifier, in backticks if it is a keyword.
  static func escaped(_ identifier: String) -> String { keywords.contains(identifier) ? "`\(identifier)`" : identifier }

  /// Returns the identifier with its first letter capitalized, as for `addToTags`.
  static func capitalized(_ identifier: String) -> String {
    identifier.prefix(1).uppercased() + identifier.dropFirst()
  }

  /// Returns a single-line string literal.
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
        // Control characters, and those that can change the direction or the appearance of the source.
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned, .nonspacingMark, .enclosingMark:
          result += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
        default: result.unicodeScalars.append(scalar)
        }
      }
    }
    return result + "\""
  }

  /// Returns text for a single-line comment.
  static func comment(_ text: String) -> String {
    String(literal(text).dropFirst().dropLast())
  }

  /// Returns a slot's value as an expression.
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

  /// Returns a Swift type that a model names if it is written as one: with names, dots, brackets, commas, colons, and question marks only.
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

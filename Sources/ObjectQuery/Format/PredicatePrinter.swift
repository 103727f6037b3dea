import Foundation
import ObjectModel

/// Prints predicates in the format language. Predicates that are nested too deep are not printed, which bounds the recursion.
enum PredicatePrinter {
  static func text(of predicate: FetchPredicate) -> String {
    guard (try? PredicateDepth.check(predicate)) != nil else { return "(nested deeper than \(PredicateDepth.limit) levels)" }
    var text = ""
    write(predicate, to: &text)
    return text
  }

  static func text(of expression: FetchExpression) -> String {
    guard PredicateDepth.allows(expression) else { return "(nested deeper than \(PredicateDepth.limit) levels)" }
    var text = ""
    write(expression, to: &text)
    return text
  }

  private static func write(_ predicate: FetchPredicate, to text: inout String) {
    switch predicate {
    case .block(let block): text += block.description
    case .constant(let value): text += value ? "TRUEPREDICATE" : "FALSEPREDICATE"
    case .and(let items): write(items, joinedBy: " AND ", empty: "TRUEPREDICATE", to: &text)
    case .or(let items): write(items, joinedBy: " OR ", empty: "FALSEPREDICATE", to: &text)
    case .not(let item):
      text += "NOT ("
      write(item, to: &text)
      text += ")"
    case .comparison(let comparison):
      if comparison.modifier != .direct { text += comparison.modifier.rawValue + " " }
      write(comparison.left, to: &text)
      let options = comparison.options.text
      text += " " + comparison.op.rawValue + (options.isEmpty ? "" : "[\(options)]") + " "
      if comparison.op == .search, case .constant(.string(let query)) = comparison.right, (try? TextQuery(query)) == nil {
        // User input: parsing a literal is stricter.
        text += cast(query, .string)
      } else {
        write(comparison.right, to: &text)
      }
    }
  }

  private static func write(_ items: [FetchPredicate], joinedBy word: String, empty: String, to text: inout String) {
    guard !items.isEmpty else {
      text += empty
      return
    }
    for (index, item) in items.enumerated() {
      if index > 0 { text += word }
      let isCompound =
        switch item {
        case .and(let inner), .or(let inner): items.count > 1 && inner.count > 1
        default: false
        }
      if isCompound { text += "(" }
      write(item, to: &text)
      if isCompound { text += ")" }
    }
  }

  // MARK: Expressions

  private static let infix: [String: String] = [
    "add:to:": "+", "from:subtract:": "-", "multiply:by:": "*", "divide:by:": "/", "raise:toPower:": "**", "bitwiseAnd:with:": "&",
    "bitwiseOr:with:": "|", "bitwiseXor:with:": "^", "leftshift:by:": "<<", "rightshift:by:": ">>",
  ]

  private static func write(_ expression: FetchExpression, to text: inout String) {
    switch expression {
    case .constant(let value): write(value, to: &text)
    case .evaluatedObject: text += "SELF"
    case .keyPath(let names): writeKeys(names, isStart: true, to: &text)
    case .variable(let name): text += variable(name)
    case .path(let base, let names):
      // Without parentheses, the keys would extend the preceding path.
      let isPath =
        switch base {
        case .keyPath, .path: true
        default: false
        }
      if isPath { text += "(" }
      write(base, to: &text)
      text += isPath ? ")." : "."
      writeKeys(names, isStart: false, to: &text)
    case .aggregate(let items):
      text += "{"
      writeList(items, to: &text)
      text += "}"
    case .function(let name, let arguments):
      if arguments.count == 2, let symbol = infix[name] {
        text += "("
        write(arguments[0], to: &text)
        text += " " + symbol + " "
        write(arguments[1], to: &text)
        text += ")"
      } else {
        writeCall(name, arguments, to: &text)
      }
    case .subquery(let collection, let variable, let predicate):
      text += "SUBQUERY("
      write(collection, to: &text)
      text += ", " + PredicatePrinter.variable(variable) + ", "
      write(predicate, to: &text)
      text += ")"
    case .conditional(let condition, let first, let second):
      text += "TERNARY("
      write(condition, to: &text)
      text += ", "
      writeList([first, second], to: &text)
      text += ")"
    case .element(let base, let index):
      write(base, to: &text)
      text += PredicatePrinter.text(of: index)
    }
  }

  private static func variable(_ name: String) -> String { "$" + (PredicateToken.isName(name) ? name : quoted(name)) }

  private static func writeCall(_ name: String, _ arguments: [FetchExpression], to text: inout String) {
    if name == FetchExpression.castFunction, arguments.count == 2, isCast(arguments[0]), case .constant(.string(let type)) = arguments[1],
      PredicateCast(name: type) != nil
    {
      text += "CAST("
      writeList(arguments, to: &text)
      text += ")"
    } else if isCallable(name), PredicateParser.selector(name, arguments.count) == name {
      text += name + "("
      writeList(arguments, to: &text)
      text += ")"
    } else {
      text += "FUNCTION("
      writeList(Array(arguments.prefix(1)) + [.constant(.string(name))] + arguments.dropFirst(), to: &text)
      text += ")"
    }
  }

  /// Returns whether CAST of an expression is still one after parsing. CAST of a literal is evaluated by the parser.
  private static func isCast(_ expression: FetchExpression) -> Bool {
    if case .constant(let value) = expression { return value.isNull }
    return true
  }

  /// Returns whether a function can be called by its name alone.
  private static func isCallable(_ name: String) -> Bool {
    let parts = name.split(separator: ":", omittingEmptySubsequences: false)
    guard let first = parts.first, PredicateToken.isName(String(first)), !PredicateToken.reserved.contains(name.uppercased()) else {
      return false
    }
    // A colon is followed by a name, another colon, or the end.
    return parts.dropFirst().allSatisfy { $0.isEmpty || PredicateToken.isName(String($0)) }
  }

  static func text(of index: FetchExpression.CollectionIndex) -> String {
    switch index {
    case .first: "[FIRST]"
    case .last: "[LAST]"
    case .size: "[SIZE]"
    case .at(let position): "[\(position)]"
    }
  }

  private static func writeList(_ items: [FetchExpression], to text: inout String) {
    for (index, item) in items.enumerated() {
      if index > 0 { text += ", " }
      write(item, to: &text)
    }
  }

  private static func writeKeys(_ names: [String], isStart: Bool, to text: inout String) {
    for (index, name) in names.enumerated() {
      if index > 0 { text += "." }
      if name.hasPrefix("@"), PredicateToken.isName(String(name.dropFirst())) {
        text += name
      } else if !PredicateToken.isName(name) {
        text += "#" + quoted(name)
      } else if isStart, index == 0, PredicateToken.reserved.contains(name.uppercased()) {
        text += "#" + name
      } else {
        text += name
      }
    }
  }

  // MARK: Constants

  private static func write(_ constant: FetchConstant, to text: inout String) {
    switch constant {
    case .null: text += "NULL"
    case .bool(let value): text += value ? "TRUE" : "FALSE"
    case .int(let value): text += String(value)
    case .real(let value): text += value.isFinite ? String(value) : cast("\(value)", .double)
    case .decimal(let value): text += cast(NSDecimalNumber(decimal: value).description(withLocale: posix), .decimal)
    case .string(let value): text += quoted(value)
    case .date(let value):
      let seconds = value.timeIntervalSinceReferenceDate
      text += seconds.isFinite ? "CAST(\(seconds), \"Date\")" : cast("\(seconds)", .date)
    case .data(let value): text += cast(value.base64EncodedString(), .data)
    case .uuid(let value): text += cast(value.uuidString, .uuid)
    case .url(let value): text += cast(value.absoluteString, .url)
    case .object(let value): text += cast(value.uriString, .objectID)
    case .entity(let value): text += cast(value, .entity)
    case .inMemory(let value): text += value.description
    case .list(let items):
      text += "{"
      for (index, item) in items.enumerated() {
        if index > 0 { text += ", " }
        write(item, to: &text)
      }
      text += "}"
    }
  }

  private static var posix: Locale { Locale(identifier: "en_US_POSIX") }

  private static func cast(_ value: String, _ type: PredicateCast) -> String {
    "CAST(" + quoted(value) + ", \"" + type.rawValue + "\")"
  }

  private static func quoted(_ value: String) -> String {
    var text = "\""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      case _ where scalar.value < 0x20 || scalar.value == 0x7F:
        let digits = String(scalar.value, radix: 16)
        text += "\\x" + String(repeating: "0", count: 2 - digits.count) + digits
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text + "\""
  }
}

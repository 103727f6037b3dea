// Quoting of names for SQL.

package import StoreKeys

/// Names in SQL text.
package enum Identifier {
  /// The name in double quotes, inner quotes doubled. A NUL would end the statement's text early and is refused.
  package static func quoted(_ name: String) throws(StoreAccessError) -> String {
    guard !name.isEmpty, !name.utf8.contains(0) else {
      throw StoreAccessError(.misuse(.unusableName), path: nil, operation: .quote)
    }
    var result = "\""
    for character in name.unicodeScalars {
      if character == "\"" { result += "\"\"" } else { result.unicodeScalars.append(character) }
    }
    result += "\""
    return result
  }

  /// The name that ``quoted(_:)`` has quoted.
  package static func unquoted(_ quoted: String) -> String {
    String(quoted.dropFirst().dropLast()).replacing("\"\"", with: "\"")
  }

  /// Text as an SQL string literal, inner quotes doubled; for the few places where SQLite takes no bound value.
  package static func literal(_ text: String) throws(StoreAccessError) -> String {
    guard !text.utf8.contains(0) else {
      throw StoreAccessError(.misuse(.unusableText), path: nil, operation: .quote)
    }
    var result = "'"
    for character in text.unicodeScalars {
      if character == "'" { result += "''" } else { result.unicodeScalars.append(character) }
    }
    result += "'"
    return result
  }
}

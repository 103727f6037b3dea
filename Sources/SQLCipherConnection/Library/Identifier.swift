package import StoreKeys

/// Quoting of names and text in SQL.
package enum Identifier {
  /// Returns the name in double quotes, with inner quotes doubled. Rejects a NUL, which would end the statement's text.
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

  /// Returns the name that ``quoted(_:)`` quoted.
  package static func unquoted(_ quoted: String) -> String {
    String(quoted.dropFirst().dropLast()).replacing("\"\"", with: "\"")
  }

  /// Returns the text as an SQL string literal, with inner quotes doubled, for the few positions where SQLite accepts no bound value.
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

/// Spelling suggestions for unknown names.
package enum SimilarName {
  /// Returns the candidate that differs from a name only in case, or by one inserted, omitted, replaced or transposed letter.
  package static func of(_ name: String, among names: some Sequence<String>) -> String? {
    names.first { $0.lowercased() == name.lowercased() } ?? names.first { isSimilar($0, name) }
  }

  /// Returns the end of an error message about an unknown name: the suggestion, or the list of known names.
  package static func advice(for name: String, among names: [String]) -> String? {
    if let close = of(name, among: names) { return "did you mean “\(close)”?" }
    if names.isEmpty { return nil }
    let rest = names.count > 20 ? " and \(names.count - 20) more" : ""
    return "it has \(names.sorted().prefix(20).joined(separator: ", "))\(rest)"
  }

  private static func isSimilar(_ left: String, _ right: String) -> Bool {
    let (left, right) = (Array(left), Array(right))
    guard abs(left.count - right.count) <= 1, min(left.count, right.count) > 2 else { return false }
    let prefix = zip(left, right).prefix { $0 == $1 }.count
    let tailLeft = Array(left[prefix...])
    let tailRight = Array(right[prefix...])
    if tailLeft.dropFirst() == tailRight.dropFirst() || tailLeft.dropFirst() == tailRight[...] || tailLeft[...] == tailRight.dropFirst() {
      return true
    }
    return tailLeft.count > 1 && tailRight.count > 1 && tailLeft[0] == tailRight[1] && tailLeft[1] == tailRight[0]
      && tailLeft.dropFirst(2) == tailRight.dropFirst(2)
  }
}

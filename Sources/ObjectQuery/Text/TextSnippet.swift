/// An excerpt of a text, with the ranges of matches in it.
public struct TextSnippet: Sendable, Hashable {
  /// The excerpt, with an ellipsis where text is omitted.
  public let text: String
  /// The ranges of the matches, in order, without overlaps.
  public let ranges: [Range<String.Index>]

  /// Returns the excerpt with markers around the matches, such as `<b>` and `</b>`. The text itself is not escaped.
  public func marked(_ opening: String, _ closing: String) -> String {
    var result = ""
    var position = text.startIndex
    for range in ranges {
      result += text[position..<range.lowerBound] + opening + text[range] + closing
      position = range.upperBound
    }
    return result + text[position...]
  }
}

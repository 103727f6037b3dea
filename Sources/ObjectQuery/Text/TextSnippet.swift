// TextSnippet: the part of a text that shows what a search has found.

/// A part of a text with the places of what was found in it.
public struct TextSnippet: Sendable, Hashable {
  /// The part, with an ellipsis where the text goes on.
  public let text: String
  /// The places of what was found, in order; none overlaps another.
  public let ranges: [Range<String.Index>]

  /// The part with marks around what was found, such as `<b>` and `</b>`. The text itself is not escaped.
  public func marked(_ opening: String, _ closing: String) -> String {
    var result = ""
    var place = text.startIndex
    for range in ranges {
      result += text[place..<range.lowerBound] + opening + text[range] + closing
      place = range.upperBound
    }
    return result + text[place...]
  }
}

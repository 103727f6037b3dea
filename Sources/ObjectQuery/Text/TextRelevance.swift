/// The relevance of texts to queries, as a number to sort by.
///
/// The formula is BM25 without the terms that depend on other texts. Each word or phrase contributes by its number of occurrences, with
/// diminishing returns, and less in long texts. A phrase counts as its words. The relevance of an object is therefore the same in any
/// store, saved or not, and independent of other objects.
package enum TextRelevance {
  /// The saturation of repeated occurrences (*k₁* of BM25).
  private static let saturation = 1.2
  /// The weight of the text length (*b* of BM25).
  private static let lengthShare = 0.75
  /// The assumed average number of words in a text.
  private static let middleLength = 100.0

  /// Returns the relevance of an object with the given texts; 0 without any match.
  package static func of(_ query: TextQuery, _ texts: [String]) -> Double {
    let sought = query.sought
    return texts.reduce(0) { $0 + of(sought, words: TextWords.normalized($1)) }
  }

  /// Returns the contribution of one text, given its words in the form of ``TextWords/normalized(utf8:)``.
  package static func of(_ sought: [TextPhrase], words: [UInt8]) -> Double {
    guard !words.isEmpty else { return 0 }
    let length = Double(words.count { $0 == TextWords.space } - 1)
    let damping = saturation * (1 - lengthShare + lengthShare * length / middleLength)
    return words.withUnsafeBufferPointer { words in
      sought.reduce(0) { sum, phrase in
        let number = Double(phrase.occurrences(in: words))
        return sum + Double(phrase.count) * number * (saturation + 1) / (number + damping)
      }
    }
  }
}

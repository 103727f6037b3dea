// TextRelevance: how much of a query is in a text, as a number to order by.

/// The relevance of texts to queries.
///
/// It is that of BM25 without what depends on other texts: of each word or phrase that is sought, how often the text has it, less for each further time and
/// less in a long text; a phrase counts as its words. So it is the same for an object in any store, saved or not, and no other object changes it.
package enum TextRelevance {
  /// How soon further occurrences count less.
  private static let saturation = 1.2
  /// How much the length of a text matters.
  private static let lengthShare = 0.75
  /// The number of words of a text of middle length.
  private static let middleLength = 100.0

  /// The relevance of an object whose texts are given; 0 where nothing sought is in them.
  package static func of(_ query: TextQuery, _ texts: [String]) -> Double {
    let sought = query.sought
    return texts.reduce(0) { $0 + of(sought, words: TextWords.normalized($1)) }
  }

  /// The part of one text, whose words are given as ``TextWords/normalized(utf8:)`` gives them.
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

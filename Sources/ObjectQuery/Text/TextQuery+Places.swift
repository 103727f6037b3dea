// TextQuery+Places: where in a text a query's words are, and the part of the text that shows most of them.

extension TextQuery {
  /// Where a text has the words and phrases that the query looks for: in order, adjoining ones of a phrase as one, overlapping ones joined. Complexity:
  /// linear in the text for each word or phrase.
  public func ranges(in text: String) -> [Range<String.Index>] {
    let words = TextWords.places(in: text)
    return places(among: words).map { words[$0.lowerBound].range.lowerBound..<words[$0.upperBound - 1].range.upperBound }
  }

  /// The part of a text that shows most of what the query looks for, near its beginning; its beginning where the text has nothing of it.
  ///
  /// - Parameters:
  ///   - text: The text.
  ///   - count: The greatest number of words of the part.
  ///   - ellipsis: What stands where the text goes on.
  public func snippet(of text: String, words count: Int = 24, ellipsis: String = "…") -> TextSnippet {
    let words = TextWords.places(in: text)
    let found = places(among: words)
    let length = max(count, 1)
    guard words.count > length else {
      return TextSnippet(
        text: text, ranges: found.map { words[$0.lowerBound].range.lowerBound..<words[$0.upperBound - 1].range.upperBound })
    }
    // Some words before the first place that is shown.
    let lead = length / 6
    var best = (start: 0, shown: 0)
    for place in found {
      let start = min(max(place.lowerBound - lead, 0), words.count - length)
      let shown = found.count { $0.lowerBound >= start && $0.upperBound <= start + length }
      if shown > best.shown { best = (start, shown) }
    }
    let last = best.start + length - 1
    let start = best.start == 0 ? text.startIndex : words[best.start].range.lowerBound
    let end = last == words.count - 1 ? text.endIndex : words[last].range.upperBound
    let head = start == text.startIndex ? "" : ellipsis
    let shown = head + text[start..<end] + (end == text.endIndex ? "" : ellipsis)
    // Places are counted in bytes, which both texts have in common.
    func place(_ index: String.Index) -> String.Index {
      shown.utf8.index(shown.startIndex, offsetBy: head.utf8.count + text.utf8.distance(from: start, to: index))
    }
    return TextSnippet(
      text: shown,
      ranges: found.filter { $0.lowerBound >= best.start && $0.upperBound <= last + 1 }.map {
        place(words[$0.lowerBound].range.lowerBound)..<place(words[$0.upperBound - 1].range.upperBound)
      })
  }

  /// The runs of words that are found, in order, without overlaps.
  private func places(among words: [TextWords.Place]) -> [Range<Int>] {
    var found: [Range<Int>] = []
    for phrase in sought {
      let parts = phrase.words
      guard words.count >= parts.count, let last = parts.last else { continue }
      for start in 0...(words.count - parts.count) {
        let end = start + parts.count - 1
        guard phrase.isPrefix ? words[end].word.utf8.starts(with: last.utf8) : words[end].word.utf8.elementsEqual(last.utf8) else {
          continue
        }
        if zip(parts.dropLast(), words[start...]).allSatisfy({ $0.utf8.elementsEqual($1.word.utf8) }) { found.append(start..<(end + 1)) }
      }
    }
    var result: [Range<Int>] = []
    for range in found.sorted(by: { $0.lowerBound != $1.lowerBound ? $0.lowerBound < $1.lowerBound : $0.upperBound > $1.upperBound }) {
      if let last = result.last, range.lowerBound < last.upperBound {
        result[result.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      } else {
        result.append(range)
      }
    }
    return result
  }
}

extension TextWords {
  /// A word and where it stands.
  struct Place {
    var word: String
    var range: Range<String.Index>
  }

  /// The words of a text with their places.
  static func places(in text: String) -> [Place] {
    var places: [Place] = []
    var start: String.Index?
    var open = Kind.separator
    let scalars = text.unicodeScalars
    func close(at end: String.Index) {
      if let first = start {
        for word in words(of: String(text[first..<end])) { places.append(Place(word: word, range: first..<end)) }
      }
      start = nil
      open = .separator
    }
    var index = scalars.startIndex
    while index < scalars.endIndex {
      let kind = kind(of: scalars[index])
      switch kind {
      case .separator: close(at: index)
      case .joining where open == .joining, .mark, .ignored: break
      case .joining, .single:
        close(at: index)
        start = index
        open = kind
      }
      index = scalars.index(after: index)
    }
    close(at: scalars.endIndex)
    return places
  }
}

extension TextPhrase {
  /// The words, in order.
  var words: [String] { pattern.split(separator: TextWords.space).map { String(decoding: $0, as: UTF8.self) } }
}

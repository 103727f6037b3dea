extension TextQuery {
  /// Returns the ranges of the matched words and phrases in a text, in order. A phrase is one range, and overlapping ranges are joined.
  ///
  /// - Complexity: O(*n* · *m*), where *n* is the length of the text and *m* the number of words and phrases.
  public func ranges(in text: String) -> [Range<String.Index>] {
    let words = TextWords.positions(in: text)
    return positions(among: words).map { words[$0.lowerBound].range.lowerBound..<words[$0.upperBound - 1].range.upperBound }
  }

  /// Returns the excerpt of a text with the most matches, as close to its beginning as possible; its beginning if there are no matches.
  ///
  /// - Parameters:
  ///   - text: The text.
  ///   - count: The maximum number of words in the excerpt.
  ///   - ellipsis: The text that marks omissions.
  public func snippet(of text: String, words count: Int = 24, ellipsis: String = "…") -> TextSnippet {
    let words = TextWords.positions(in: text)
    let found = positions(among: words)
    let length = max(count, 1)
    guard words.count > length else {
      return TextSnippet(
        text: text, ranges: found.map { words[$0.lowerBound].range.lowerBound..<words[$0.upperBound - 1].range.upperBound })
    }
    // The number of words before the first match shown.
    let lead = length / 6
    var best = (start: 0, shown: 0)
    for position in found {
      let start = min(max(position.lowerBound - lead, 0), words.count - length)
      let shown = found.count { $0.lowerBound >= start && $0.upperBound <= start + length }
      if shown > best.shown { best = (start, shown) }
    }
    let last = best.start + length - 1
    let start = best.start == 0 ? text.startIndex : words[best.start].range.lowerBound
    let end = last == words.count - 1 ? text.endIndex : words[last].range.upperBound
    let head = start == text.startIndex ? "" : ellipsis
    let shown = head + text[start..<end] + (end == text.endIndex ? "" : ellipsis)
    // Positions are counted in bytes, which both texts have in common.
    func position(_ index: String.Index) -> String.Index {
      shown.utf8.index(shown.startIndex, offsetBy: head.utf8.count + text.utf8.distance(from: start, to: index))
    }
    return TextSnippet(
      text: shown,
      ranges: found.filter { $0.lowerBound >= best.start && $0.upperBound <= last + 1 }.map {
        position(words[$0.lowerBound].range.lowerBound)..<position(words[$0.upperBound - 1].range.upperBound)
      })
  }

  /// Returns the matched runs of words, in order, without overlaps.
  private func positions(among words: [TextWords.Position]) -> [Range<Int>] {
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
  struct Position {
    var word: String
    var range: Range<String.Index>
  }

  static func positions(in text: String) -> [Position] {
    var positions: [Position] = []
    var start: String.Index?
    var open = Kind.separator
    let scalars = text.unicodeScalars
    func close(at end: String.Index) {
      if let first = start {
        for word in words(of: String(text[first..<end])) { positions.append(Position(word: word, range: first..<end)) }
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
    return positions
  }
}

extension TextPhrase {
  var words: [String] { pattern.split(separator: TextWords.space).map { String(decoding: $0, as: UTF8.self) } }
}

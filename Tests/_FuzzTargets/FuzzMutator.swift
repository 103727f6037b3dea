public import Foundation

/// Makes inputs from other inputs and a dictionary at random. The same seed yields the same inputs.
public struct FuzzMutator {
  private let target: FuzzTarget
  private let corpus: [Data]
  private let longest: Int

  /// - Parameters:
  ///   - corpus: Inputs in addition to the target's own.
  ///   - longest: The maximum size of an input in bytes.
  public init(_ target: FuzzTarget, corpus: [Data] = [], longest: Int = 1 << 16) {
    self.target = target
    self.corpus = target.seeds + corpus
    self.longest = longest
  }

  /// Returns the next input.
  public func input(_ random: inout some RandomNumberGenerator) -> Data {
    var input = corpus.randomElement(using: &random) ?? Data()
    for _ in 0..<Int.random(in: 1...6, using: &random) { mutate(&input, &random) }
    return Data(input.prefix(longest))
  }

  private func mutate(_ input: inout Data, _ random: inout some RandomNumberGenerator) {
    let place = Int.random(in: 0...input.count, using: &random)
    let length = min(input.count - place, 1 << Int.random(in: 0...6, using: &random))
    let range = place..<place + length
    switch Int.random(in: 0..<9, using: &random) {
    case 0: if place < input.count { input[place] ^= 1 << UInt8.random(in: 0..<8, using: &random) }
    case 1: if place < input.count { input[place] = [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &random) ?? 0 }
    case 2: input.removeSubrange(range)
    case 3: input.insert(contentsOf: input.subdata(in: range), at: place)
    case 4: input.insert(contentsOf: (target.dictionary.randomElement(using: &random) ?? "").utf8, at: place)
    case 5: input.replaceSubrange(range, with: (target.dictionary.randomElement(using: &random) ?? "").utf8)
    case 6:
      // A part of another input.
      guard let other = corpus.randomElement(using: &random), !other.isEmpty else { return }
      let start = Int.random(in: 0..<other.count, using: &random)
      input.replaceSubrange(range, with: other[start..<min(other.count, start + 64)])
    case 7:
      // Repetition, for nesting and long lists.
      let piece = target.dictionary.randomElement(using: &random) ?? "("
      let count = 1 << Int.random(in: 0...11, using: &random)
      if piece.utf8.count * count < longest { input.insert(contentsOf: String(repeating: piece, count: count).utf8, at: place) }
    default: input = Data(input.prefix(place))
    }
  }
}

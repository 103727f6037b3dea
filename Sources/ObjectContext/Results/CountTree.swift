// CountTree: running sums of counts that change, for finding the n-th of many things that lie in pieces.

/// The counts of pieces, in their order: what all pieces before one have together, and which piece has the n-th, each in a number of steps that grows with the logarithm
/// of the number of pieces.
package struct CountTree {
  /// Fenwick's tree, from index 1.
  private var sums: [Int] = [0]

  /// No pieces.
  package init() {}

  /// The tree of some counts. Linear in their number.
  package init(_ counts: some Collection<Int>) {
    sums = [0] + counts
    for index in 1..<sums.count {
      let next = index + (index & -index)
      if next < sums.count { sums[next] += sums[index] }
    }
  }

  /// What the pieces before one have.
  package func sum(before piece: Int) -> Int {
    var (index, total) = (piece, 0)
    while index > 0 {
      total += sums[index]
      index &= index - 1
    }
    return total
  }

  /// What all pieces have.
  package var total: Int { sum(before: sums.count - 1) }

  /// Changes the count of a piece.
  package mutating func add(_ difference: Int, to piece: Int) {
    if difference == 0 { return }
    var index = piece + 1
    while index < sums.count {
      sums[index] += difference
      index += index & -index
    }
  }

  /// The piece that has the n-th, counted from 0, and how many the pieces before it have. There is one.
  package func piece(having number: Int) -> (piece: Int, before: Int) {
    var (piece, before) = (0, 0)
    var step = 1
    while step * 2 < sums.count { step *= 2 }
    while step > 0 {
      let next = piece + step
      if next < sums.count, before + sums[next] <= number {
        piece = next
        before += sums[next]
      }
      step /= 2
    }
    return (piece, before)
  }
}

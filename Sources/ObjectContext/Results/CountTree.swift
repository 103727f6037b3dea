/// The counts of a sequence of chunks, as a Fenwick tree.
///
/// Finding the sum of the preceding counts, or the chunk that contains the *n*th element, takes O(log *n*) in the number of chunks.
package struct CountTree {
  /// The sums of the tree. The first node has index 1.
  private var sums: [Int] = [0]

  /// Creates a tree without chunks.
  package init() {}

  /// Creates a tree of counts.
  ///
  /// - Complexity: O(*n*) in the number of counts.
  package init(_ counts: some Collection<Int>) {
    sums = [0] + counts
    for index in 1..<sums.count {
      let next = index + (index & -index)
      if next < sums.count { sums[next] += sums[index] }
    }
  }

  /// Returns the sum of the counts before a chunk.
  package func sum(before chunk: Int) -> Int {
    var (index, total) = (chunk, 0)
    while index > 0 {
      total += sums[index]
      index &= index - 1
    }
    return total
  }

  /// The sum of all counts.
  package var total: Int { sum(before: sums.count - 1) }

  /// Changes the count of a chunk by a difference.
  package mutating func add(_ difference: Int, to chunk: Int) {
    if difference == 0 { return }
    var index = chunk + 1
    while index < sums.count {
      sums[index] += difference
      index += index & -index
    }
  }

  /// Returns the chunk that contains the element at an index, and the sum of the counts before it. The index must be less than `total`.
  package func chunk(having number: Int) -> (chunk: Int, before: Int) {
    var (chunk, before) = (0, 0)
    var step = 1
    while step * 2 < sums.count { step *= 2 }
    while step > 0 {
      let next = chunk + step
      if next < sums.count, before + sums[next] <= number {
        chunk = next
        before += sums[next]
      }
      step /= 2
    }
    return (chunk, before)
  }
}

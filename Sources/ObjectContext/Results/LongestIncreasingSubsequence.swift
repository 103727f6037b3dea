/// The longest increasing subsequence, which determines the elements that can stay while others move.
enum LongestIncreasingSubsequence {
  /// Returns, for each of several distinct numbers, whether it belongs to the longest increasing subsequence.
  ///
  /// - Complexity: O(*n* log *n*).
  static func members(of numbers: [Int]) -> [Bool] {
    var isMember = [Bool](repeating: false, count: numbers.count)
    // Usually the order has not changed.
    if zip(numbers, numbers.dropFirst()).allSatisfy({ $0 < $1 }) { return isMember.map { _ in true } }
    var ends: [Int] = []
    var before = [Int](repeating: -1, count: numbers.count)
    for index in numbers.indices {
      var (low, high) = (0, ends.count)
      while low < high {
        let middle = (low + high) / 2
        if numbers[ends[middle]] < numbers[index] { low = middle + 1 } else { high = middle }
      }
      before[index] = low > 0 ? ends[low - 1] : -1
      if low == ends.count { ends.append(index) } else { ends[low] = index }
    }
    var index = ends.last ?? -1
    while index >= 0 {
      isMember[index] = true
      index = before[index]
    }
    return isMember
  }
}

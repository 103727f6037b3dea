// LongestRun: which of some things may stay where they are while the others move.

/// The longest part of a sequence that ascends.
enum LongestRun {
  /// Whether each of some different numbers is in the longest part that ascends. n log n.
  static func members(of numbers: [Int]) -> [Bool] {
    var isMember = [Bool](repeating: false, count: numbers.count)
    // As a rule nothing has changed places.
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

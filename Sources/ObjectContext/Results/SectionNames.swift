import ObjectModel

/// Maps the values that name sections to small numbers, and counts the results of each section. The numbers of empty sections are reused.
struct SectionNames {
  private var numbers: [Slot: Int32] = [:]
  private var values: [Slot] = []
  private var counts: [Int] = []
  private var unused: [Int32] = []

  /// Returns the number of a value. It counts as unused until results are added.
  mutating func number(of value: Slot) -> Int32 {
    if let number = numbers[value] { return number }
    let number = unused.popLast() ?? Int32(values.count)
    if Int(number) == values.count {
      values.append(value)
      counts.append(0)
    } else {
      values[Int(number)] = value
    }
    numbers[value] = number
    return number
  }

  func value(of number: Int32) -> Slot { values[Int(number)] }

  func count(of number: Int32) -> Int { counts[Int(number)] }

  mutating func add(_ difference: Int, to number: Int32) { counts[Int(number)] += difference }

  /// Releases the numbers of empty sections.
  mutating func forgetEmpty(_ candidates: some Sequence<Int32>) {
    for number in candidates where counts[Int(number)] == 0 && numbers[values[Int(number)]] == number {
      numbers[values[Int(number)]] = nil
      values[Int(number)] = .null
      unused.append(number)
    }
  }
}

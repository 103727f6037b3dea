// SectionNames: the sections of results by numbers, and how many results each has.
import ObjectModel

/// The values that sections are called by, as small numbers. Those of sections that are gone are used again.
struct SectionNames {
  private var numbers: [Slot: Int32] = [:]
  private var values: [Slot] = []
  private var counts: [Int] = []
  private var unused: [Int32] = []

  /// The number of a value, which counts as unused until results are added.
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

  /// The value of a number.
  func value(of number: Int32) -> Slot { values[Int(number)] }

  /// How many results a section has.
  func count(of number: Int32) -> Int { counts[Int(number)] }

  /// Results have come into a section, or left it.
  mutating func add(_ difference: Int, to number: Int32) { counts[Int(number)] += difference }

  /// Gives back the numbers of sections without results.
  mutating func forgetEmpty(_ candidates: some Sequence<Int32>) {
    for number in candidates where counts[Int(number)] == 0 && numbers[values[Int(number)]] == number {
      numbers[values[Int(number)]] = nil
      values[Int(number)] = .null
      unused.append(number)
    }
  }
}

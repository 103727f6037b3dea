// InstancePairs: which newer object was made of which older one, by their references.
import ObjectModel

/// The pairs of one entity mapping: two words each. A reference that is looked for is found by bisection while they come in order, which they do
/// as a rule, else by an index.
struct InstancePairs {
  private(set) var sources: ContiguousArray<Int64> = []
  private(set) var destinations: ContiguousArray<Int64> = []
  private var bySource = Lookup()
  private var byDestination = Lookup()

  var count: Int { sources.count }

  mutating func append(_ source: ObjectReference, _ destination: ObjectReference) {
    bySource.willAppend(source.rawValue, to: sources)
    byDestination.willAppend(destination.rawValue, to: destinations)
    sources.append(source.rawValue)
    destinations.append(destination.rawValue)
  }

  /// The newer objects that were made of an older one, in the order in which they were.
  func destinations(of source: ObjectReference) -> [ObjectReference] {
    bySource.positions(of: source.rawValue, in: sources).map { ObjectReference(rawValue: destinations[$0]) }
  }

  /// The older objects that a newer one was made of.
  func sources(of destination: ObjectReference) -> [ObjectReference] {
    byDestination.positions(of: destination.rawValue, in: destinations).map { ObjectReference(rawValue: sources[$0]) }
  }

  /// Whether the newer object of a pair is that of an earlier one too.
  func isRepeated(_ position: Int) -> Bool {
    byDestination.positions(of: destinations[position], in: destinations).first != position
  }

  /// Where a value stands in a list.
  private struct Lookup {
    /// The positions of each value, once values have come out of order.
    private var index: [Int64: [Int32]]?

    mutating func willAppend(_ value: Int64, to values: ContiguousArray<Int64>) {
      if index == nil, let last = values.last, value < last {
        var made: [Int64: [Int32]] = [:]
        for (position, value) in values.enumerated() { made[value, default: []].append(Int32(position)) }
        index = made
      }
      index?[value, default: []].append(Int32(values.count))
    }

    func positions(of value: Int64, in values: ContiguousArray<Int64>) -> [Int] {
      if let index { return (index[value] ?? []).map(Int.init) }
      var (low, high) = (0, values.count)
      while low < high {
        let middle = (low + high) / 2
        if values[middle] < value { low = middle + 1 } else { high = middle }
      }
      var found: [Int] = []
      while low < values.count, values[low] == value {
        found.append(low)
        low += 1
      }
      return found
    }
  }
}

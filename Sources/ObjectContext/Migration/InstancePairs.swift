import ObjectModel

/// The source and destination objects that one entity mapping has associated, as two words per pair. Lookups use binary search while
/// references are appended in ascending order, which is the usual case, and an index otherwise.
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

  /// Returns the destination objects of a source object, in the order of their creation.
  func destinations(of source: ObjectReference) -> [ObjectReference] {
    bySource.positions(of: source.rawValue, in: sources).map { ObjectReference(rawValue: destinations[$0]) }
  }

  func sources(of destination: ObjectReference) -> [ObjectReference] {
    byDestination.positions(of: destination.rawValue, in: destinations).map { ObjectReference(rawValue: sources[$0]) }
  }

  /// Returns whether an earlier pair has the same destination object.
  func isRepeated(_ position: Int) -> Bool {
    byDestination.positions(of: destinations[position], in: destinations).first != position
  }

  /// A lookup of the positions of a value in a list.
  private struct Lookup {
    /// The positions of each value; nil while the list is sorted.
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

package import ObjectModel
import ObjectQuery
import ObjectStore

/// A result in a list: its ID, its sort values, and its section. It does not retain the object.
package struct ResultItem: Equatable {
  package var id: ManagedObjectID
  package var values: [Slot]
  /// The number of the section's name.
  package var section: Int32
}

/// An ordered list of results, stored in chunks of a few hundred, so that an insertion or removal moves the results of one chunk only. A
/// section is a run of results with the same section number.
final class ResultList {
  /// Counters of the operations performed by a list.
  struct Work: Equatable {
    /// The number of comparisons of two results.
    var comparisons = 0
    /// The number of results moved to open or close a gap.
    var moved = 0
  }

  /// A chunk of consecutive results.
  private final class Chunk {
    var number = 0
    var ids: [ManagedObjectID] = []
    /// The sort values of all results, concatenated.
    var values: [Slot] = []
    var sections: [Int32] = []
    /// The number of results in the chunk that start a section.
    var startCount = 0
  }

  static var maximumChunkSize: Int { 256 }

  private let order: ResultOrder
  private let isSectioned: Bool
  private var width: Int { order.keyCount }
  private var chunks: [Chunk] = []
  private var counts = CountTree()
  private var starts = CountTree()
  private var chunksByID: [FastHashedID: Chunk] = [:]
  private(set) var work = Work()

  init(_ order: ResultOrder, isSectioned: Bool) {
    self.order = order
    self.isSectioned = isSectioned
  }

  var count: Int { chunksByID.count }

  // MARK: Loading

  /// Replaces the contents with sorted results.
  ///
  /// - Parameters:
  ///   - values: The sort values of all results, concatenated.
  ///   - sections: The section numbers of the results; empty if there are no sections.
  func load(_ ids: [ManagedObjectID], values: [Slot], sections: [Int32]) {
    chunks = []
    var chunksByID: [FastHashedID: Chunk] = Dictionary(minimumCapacity: ids.count)
    // Leave space in each chunk, so that the first insertions split none.
    let size = Self.maximumChunkSize * 3 / 4
    for start in stride(from: 0, to: ids.count, by: size) {
      let range = start..<min(start + size, ids.count)
      let chunk = Chunk()
      chunk.ids = Array(ids[range])
      chunk.values = Array(values[range.lowerBound * width..<range.upperBound * width])
      if isSectioned { chunk.sections = Array(sections[range]) }
      for id in ids[range] { chunksByID[FastHashedID(id)] = chunk }
      chunks.append(chunk)
    }
    self.chunksByID = chunksByID
    renumber(changed: chunks.indices)
  }

  /// Updates the indexes after chunks were added or removed.
  ///
  /// - Parameter changed: The chunks whose results, or whose preceding results, have changed.
  private func renumber(changed: Range<Int>) {
    for (number, chunk) in chunks.enumerated() { chunk.number = number }
    counts = CountTree(chunks.map(\.ids.count))
    if !isSectioned { return }
    for chunk in chunks[changed.clamped(to: chunks.indices)] { chunk.startCount = countStarts(of: chunk) }
    starts = CountTree(chunks.map(\.startCount))
  }

  // MARK: Positions

  /// Returns the position of a result; nil if the ID is not in the list.
  func position(of id: ManagedObjectID) -> Int? {
    guard let chunk = chunksByID[FastHashedID(id)], let index = chunk.ids.firstIndex(of: id) else { return nil }
    return counts.sum(before: chunk.number) + index
  }

  func contains(_ id: ManagedObjectID) -> Bool { chunksByID[FastHashedID(id)] != nil }

  private func location(_ position: Int) -> (chunk: Chunk, index: Int) {
    let (number, before) = counts.chunk(having: position)
    return (chunks[number], position - before)
  }

  func id(at position: Int) -> ManagedObjectID {
    let (chunk, index) = location(position)
    return chunk.ids[index]
  }

  func item(at position: Int) -> ResultItem {
    let (chunk, index) = location(position)
    return item(of: chunk, at: index)
  }

  private func item(of chunk: Chunk, at index: Int) -> ResultItem {
    ResultItem(
      id: chunk.ids[index], values: Array(chunk.values[index * width..<(index + 1) * width]),
      section: isSectioned ? chunk.sections[index] : 0)
  }

  func ids(in range: Range<Int>) -> [ManagedObjectID] {
    var ids: [ManagedObjectID] = []
    guard !range.isEmpty else { return ids }
    ids.reserveCapacity(range.count)
    var (chunk, index) = location(range.lowerBound)
    while ids.count < range.count {
      let part = chunk.ids[index...].prefix(range.count - ids.count)
      ids += part
      guard ids.count < range.count else { break }
      (chunk, index) = (chunks[chunk.number + 1], 0)
    }
    return ids
  }

  // MARK: Sections

  /// The number of sections; 1 if there are no section names.
  var sectionCount: Int { isSectioned ? starts.total : 1 }

  func range(ofSection section: Int) -> Range<Int> {
    guard isSectioned else { return 0..<count }
    return start(ofSection: section)..<(section + 1 < sectionCount ? start(ofSection: section + 1) : count)
  }

  private func start(ofSection section: Int) -> Int {
    let (number, before) = starts.chunk(having: section)
    let chunk = chunks[number]
    var missing = section - before
    for index in chunk.ids.indices where isStart(index, of: chunk) {
      if missing == 0 { return counts.sum(before: number) + index }
      missing -= 1
    }
    return count
  }

  /// Returns the section of the result at a position, and its position in the section.
  func path(ofPosition position: Int) -> (section: Int, item: Int) {
    guard isSectioned else { return (0, position) }
    let (chunk, index) = location(position)
    var section = starts.sum(before: chunk.number) - 1
    var start: Int?
    for other in 0...index where isStart(other, of: chunk) {
      section += 1
      start = other
    }
    let first = start.map { counts.sum(before: chunk.number) + $0 } ?? self.start(ofSection: section)
    return (section, position - first)
  }

  func name(ofSection section: Int) -> Int32 {
    guard isSectioned else { return 0 }
    let (chunk, index) = location(start(ofSection: section))
    return chunk.sections[index]
  }

  private func isStart(_ index: Int, of chunk: Chunk) -> Bool {
    if index > 0 { return chunk.sections[index - 1] != chunk.sections[index] }
    return chunk.number == 0 || chunks[chunk.number - 1].sections.last != chunk.sections[0]
  }

  private func countStarts(of chunk: Chunk) -> Int {
    chunk.ids.indices.reduce(0) { $0 + (isStart($1, of: chunk) ? 1 : 0) }
  }

  /// Recounts the section starts of a chunk and of the following one, whose first result may have become or ceased to be a start.
  private func updateStarts(from number: Int) {
    guard isSectioned else { return }
    for chunk in chunks[number...].prefix(2) {
      let count = countStarts(of: chunk)
      starts.add(count - chunk.startCount, to: chunk.number)
      chunk.startCount = count
    }
  }

  // MARK: Changing

  func remove(_ id: ManagedObjectID) {
    guard let chunk = chunksByID.removeValue(forKey: FastHashedID(id)), let index = chunk.ids.firstIndex(of: id) else { return }
    chunk.ids.remove(at: index)
    chunk.values.removeSubrange(index * width..<(index + 1) * width)
    if isSectioned { chunk.sections.remove(at: index) }
    work.moved += chunk.ids.count - index
    if chunk.ids.isEmpty {
      chunks.remove(at: chunk.number)
      return renumber(changed: chunk.number..<chunk.number + 1)
    }
    counts.add(-1, to: chunk.number)
    updateStarts(from: chunk.number)
  }

  /// Inserts a result at its position in the order.
  ///
  /// - Returns: The position of the result.
  @discardableResult
  func insert(_ item: ResultItem) -> Int {
    let (number, index) = location(for: item)
    if chunks.isEmpty {
      chunks.append(Chunk())
      renumber(changed: 0..<0)
    }
    let chunk = chunks[number]
    chunk.ids.insert(item.id, at: index)
    chunk.values.insert(contentsOf: item.values, at: index * width)
    if isSectioned { chunk.sections.insert(item.section, at: index) }
    chunksByID[FastHashedID(item.id)] = chunk
    work.moved += chunk.ids.count - 1 - index
    let position = counts.sum(before: number) + index
    if chunk.ids.count > Self.maximumChunkSize {
      split(chunk)
    } else {
      counts.add(1, to: number)
      updateStarts(from: number)
    }
    return position
  }

  /// Returns the chunk and the index at which to insert a result.
  private func location(for item: ResultItem) -> (number: Int, index: Int) {
    var (low, high) = (0, chunks.count)
    // Find the last chunk whose first result is not after the new one.
    while low < high {
      let middle = (low + high) / 2
      if precedes(item, chunks[middle], 0) { high = middle } else { low = middle + 1 }
    }
    guard low > 0 else { return (0, 0) }
    let chunk = chunks[low - 1]
    (low, high) = (1, chunk.ids.count)
    while low < high {
      let middle = (low + high) / 2
      if precedes(item, chunk, middle) { high = middle } else { low = middle + 1 }
    }
    return (chunk.number, low)
  }

  private func precedes(_ item: ResultItem, _ chunk: Chunk, _ index: Int) -> Bool {
    work.comparisons += 1
    return order.compare(item.values[...], item.id, chunk.values[index * width..<(index + 1) * width], chunk.ids[index]) < 0
  }

  private func split(_ chunk: Chunk) {
    let middle = chunk.ids.count / 2
    let next = Chunk()
    next.ids = Array(chunk.ids[middle...])
    next.values = Array(chunk.values[(middle * width)...])
    chunk.ids.removeSubrange(middle...)
    chunk.values.removeSubrange((middle * width)...)
    if isSectioned {
      next.sections = Array(chunk.sections[middle...])
      chunk.sections.removeSubrange(middle...)
    }
    for id in next.ids { chunksByID[FastHashedID(id)] = next }
    work.moved += next.ids.count
    chunks.insert(next, at: chunk.number + 1)
    renumber(changed: chunk.number..<chunk.number + 3)
  }
}

/// An ID with a fast hash function. A list can contain a hundred thousand results, and their keys are assigned by the store, so they need
/// no protection from hash flooding.
private struct FastHashedID: Hashable {
  private let id: ManagedObjectID

  init(_ id: ManagedObjectID) { self.id = id }

  // The standard library's hashed collections call this requirement.
  func _rawHashValue(seed: Int) -> Int {
    let word = UInt64(bitPattern: id.key) ^ UInt64(id.entityNumber) &<< 48 ^ UInt64(id.space) &<< 32 ^ UInt64(UInt(bitPattern: seed))
    // The same mixing function as in sets of objects.
    let product = word.multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
    return Int(truncatingIfNeeded: product.high ^ product.low)
  }

  func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

/// The order of results: by the request's sort keys, then by ID. It is total, so a change of values that are not sort values moves nothing.
struct ResultOrder {
  private let keys: [(order: TextOrder, isAscending: Bool)]
  /// The number of sort values of a result.
  var keyCount: Int { keys.count }

  init(_ keys: some Sequence<ResolvedSortKey>) { self.keys = keys.map { ($0.order, $0.isAscending) } }

  /// Compares two results: negative if the first precedes the second, positive if it follows it, and zero if they are the same.
  func compare(_ left: ArraySlice<Slot>, _ leftID: ManagedObjectID, _ right: ArraySlice<Slot>, _ rightID: ManagedObjectID) -> Int {
    for (index, key) in keys.enumerated() {
      let order = SlotOrder.compare(left[left.startIndex + index], right[right.startIndex + index], by: key.order)
      if order != 0 { return key.isAscending ? order : -order }
    }
    return Self.compare(leftID, rightID)
  }

  /// Returns whether results can be presorted by numeric prefixes of their first sort values. This is not possible for text in a locale's
  /// order.
  func hasWords(of kind: SlotKind) -> Bool {
    guard let key = keys.first else { return false }
    return kind == .int || kind == .real || kind == .text && key.order == .binary
  }

  /// Returns the positions of results in sorted order; nil if the results are already sorted.
  ///
  /// - Parameter values: The sort values of all results, concatenated.
  func positions(of ids: [ManagedObjectID], _ values: [Slot]) -> [Int]? {
    guard let first = keys.first else { return nil }
    var entries: ContiguousArray<(word: UInt64, position: Int)> = []
    entries.reserveCapacity(ids.count)
    // `isWhole`: the prefix is the complete sort value. `isByID`: results with equal prefixes are already in the order of their IDs.
    var (isWhole, isByID) = (keyCount == 1, true)
    let none = SortWord.none.directed(first.isAscending)
    for position in ids.indices {
      let word = Self.word(of: values[position * keyCount], first.order).directed(first.isAscending)
      if word == none { isWhole = isWhole && SlotComparison.isMissing(values[position * keyCount]) }
      if case .text = values[position * keyCount] { isWhole = false }
      if position > 0, Self.compare(ids[position - 1], ids[position]) > 0 { isByID = false }
      entries.append((word, position))
    }
    // Immutable copies, because the sort reads them in each comparison and captured variables would require exclusivity checks.
    let (saysAll, staysByID, width) = (isWhole, isByID, keyCount)
    func precedes(_ left: (word: UInt64, position: Int), _ right: (word: UInt64, position: Int)) -> Bool {
      if left.word != right.word { return left.word < right.word }
      if saysAll { return staysByID ? left.position < right.position : Self.compare(ids[left.position], ids[right.position]) < 0 }
      return compare(
        values[left.position * width..<(left.position + 1) * width], ids[left.position],
        values[right.position * width..<(right.position + 1) * width], ids[right.position]) < 0
    }
    if entries.indices.dropFirst().allSatisfy({ precedes(entries[$0 - 1], entries[$0]) }) { return nil }
    entries.sort(by: precedes)
    return entries.map(\.position)
  }

  /// Returns the numeric prefix of a value. Values are ordered by their prefixes; equal prefixes decide nothing.
  private static func word(of value: Slot, _ order: TextOrder) -> SortWord {
    switch value {
    case .int(let number): SortWord(number)
    case .real(let number): number.isNaN ? .none : SortWord(number)
    case .text(var text): order == .binary ? text.withUTF8 { SortWord(UnsafeRawBufferPointer($0)) } : .none
    case .null, .bytes: .none
    }
  }

  /// Compares IDs by key, as stores order equal results. Temporary IDs come last, in the order of their creation.
  private static func compare(_ left: ManagedObjectID, _ right: ManagedObjectID) -> Int {
    if left.isTemporaryID != right.isTemporaryID { return left.isTemporaryID ? 1 : -1 }
    if left.space != right.space { return left.space < right.space ? -1 : 1 }
    if left.key == right.key { return 0 }
    return (left.key < right.key) != left.isTemporaryID ? -1 : 1
  }
}

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

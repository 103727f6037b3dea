import ObjectModel
import ObjectStore
import SQLCipherConnection

/// Finds the first rows of an order in one pass, where SQLite before 3.24 would sort all rows.
///
/// Only the keys of the rows are returned. Texts and bytes are copied only for rows that are among the first so far.
struct TopRows {
  /// A sort key: how its column, after the row's key, is compared.
  struct SortKey: Sendable {
    enum Kind: Sendable {
      case int, real, text, bytes
    }
    let kind: Kind
    let isAscending: Bool
  }

  /// A value of a sort key. It contains no references, so that moving and comparing rows needs no retains.
  private enum Value {
    case null
    case int(Int64)
    case real(Double)
    /// A range of ``bytes``.
    case bytes(start: Int, count: Int)
  }

  private struct Entry {
    /// The prefix of the first value, and the bytes that follow it. Most comparisons need only these.
    let word: UInt64
    let next: UInt64
    let key: Int64
    /// The index of the first of its values.
    let place: Int
  }

  private let sortKeys: [SortKey]
  private let capacity: Int
  /// A max-heap: its first entry is the last in the order.
  private var heap: ContiguousArray<Entry> = []
  private var values: ContiguousArray<Value> = []
  /// The texts and bytes of all entries, including replaced ones.
  private var bytes: ContiguousArray<UInt8> = []
  /// The number of bytes that belong to current entries.
  private var usedByteCount = 0

  /// - Parameter sortKeys: The sort keys; at least one.
  init(_ sortKeys: [SortKey], capacity: Int) {
    self.sortKeys = sortKeys
    self.capacity = capacity
    heap.reserveCapacity(capacity)
    values.reserveCapacity(capacity * sortKeys.count)
  }

  /// Adds the current row of a statement, if it is among the first so far.
  mutating func offer(_ statement: Statement) {
    let columns = statement.columnValues
    let word = word(columns[1], sortKeys[0])
    if heap.count < capacity {
      let place = values.count
      for index in sortKeys.indices { values.append(keep(columns, index)) }
      heap.append(Entry(word: word, next: nextWord(columns[1], sortKeys[0]), key: columns[0].int64, place: place))
      siftUp(heap.count - 1)
      return
    }
    let last = heap[0]
    if word > last.word { return }
    let (next, key) = (nextWord(columns[1], sortKeys[0]), columns[0].int64)
    if word == last.word, next > last.next || next == last.next && !isBefore(columns, key, last) { return }
    for index in sortKeys.indices {
      if case .bytes(_, let count) = values[last.place + index] { usedByteCount -= count }
      values[last.place + index] = keep(columns, index)
    }
    if bytes.count > 4 * usedByteCount + Self.unusedBytes { dropUnusedBytes() }
    heap[0] = Entry(word: word, next: next, key: key, place: last.place)
    siftDown()
  }

  /// The number of unused bytes below which the buffer is not compacted.
  private static let unusedBytes = 65_536

  /// Returns the keys of the rows in order.
  func keys() -> [Int64] { withValues { heap.sorted(by: $0.isBefore).map(\.key) } }

  // MARK: Order

  @inline(__always) private func word(_ column: ColumnValue, _ key: SortKey) -> UInt64 {
    let word: SortWord
    if column.isNull {
      word = .none
    } else {
      switch key.kind {
      case .int: word = SortWord(column.int64)
      case .real: word = SortWord(column.double)
      case .text: word = SortWord(column.textBuffer)
      case .bytes: word = SortWord(column.blobBuffer)
      }
    }
    return word.directed(key.isAscending)
  }

  /// Returns the bytes after the prefix of a text or binary value; the same word for all other values.
  private func nextWord(_ column: ColumnValue, _ key: SortKey) -> UInt64 {
    guard key.kind == .text || key.kind == .bytes, !column.isNull else { return SortWord.none.directed(key.isAscending) }
    let value = key.kind == .text ? column.textBuffer : column.blobBuffer
    return SortWord(UnsafeRawBufferPointer(rebasing: value.dropFirst(SortWord.byteCount))).directed(key.isAscending)
  }

  private mutating func keep(_ columns: ColumnValues, _ index: Int) -> Value {
    let column = columns[Int32(index + 1)]
    if column.isNull { return .null }
    switch sortKeys[index].kind {
    case .int: return .int(column.int64)
    case .real: return .real(column.double)
    case .text: return keep(column.textBuffer)
    case .bytes: return keep(column.blobBuffer)
    }
  }

  private mutating func keep(_ value: UnsafeRawBufferPointer) -> Value {
    let start = bytes.count
    bytes.append(contentsOf: value)
    usedByteCount += value.count
    return .bytes(start: start, count: value.count)
  }

  private mutating func dropUnusedBytes() {
    var rest: ContiguousArray<UInt8> = []
    rest.reserveCapacity(2 * usedByteCount)
    for index in values.indices {
      guard case .bytes(let start, let count) = values[index] else { continue }
      values[index] = .bytes(start: rest.count, count: count)
      rest.append(contentsOf: bytes[start..<start + count])
    }
    bytes = rest
  }

  private func isBefore(_ columns: ColumnValues, _ key: Int64, _ entry: Entry) -> Bool {
    for index in sortKeys.indices {
      let column = columns[Int32(index + 1)]
      let order: Int
      switch values[entry.place + index] {
      case .null: order = column.isNull ? 0 : 1
      case _ where column.isNull: order = -1
      case .int(let other): order = SortWord.order(column.int64, other)
      case .real(let other): order = SortWord.order(column.double, other)
      case .bytes(let start, let count):
        let value = sortKeys[index].kind == .text ? column.textBuffer : column.blobBuffer
        order = bytes.withUnsafeBytes { SortWord.compare(value, UnsafeRawBufferPointer(rebasing: $0[start..<start + count])) }
      }
      if order != 0 { return (order < 0) == sortKeys[index].isAscending }
    }
    return key < entry.key
  }

  /// Borrowed pointers to the values of entries.
  private struct Values {
    let sortKeys: UnsafeBufferPointer<SortKey>
    let values: UnsafeBufferPointer<Value>
    let bytes: UnsafeRawBufferPointer

    /// Returns whether an entry precedes another. Ties are ordered by key.
    @inline(__always) func isBefore(_ left: Entry, _ right: Entry) -> Bool {
      if left.word != right.word { return left.word < right.word }
      if left.next != right.next { return left.next < right.next }
      return isBeforeByValues(left, right)
    }

    // Not inlined, to keep the common case small.
    @inline(never) private func isBeforeByValues(_ left: Entry, _ right: Entry) -> Bool {
      for index in sortKeys.indices {
        let order: Int
        switch (values[left.place + index], values[right.place + index]) {
        case (.null, .null): order = 0
        case (.null, _): order = -1
        case (_, .null): order = 1
        case (.int(let left), .int(let right)): order = SortWord.order(left, right)
        case (.real(let left), .real(let right)): order = SortWord.order(left, right)
        case (.bytes(let left, let leftCount), .bytes(let right, let rightCount)):
          order = SortWord.compare(
            UnsafeRawBufferPointer(rebasing: bytes[left..<left + leftCount]),
            UnsafeRawBufferPointer(rebasing: bytes[right..<right + rightCount]))
        default: order = 0
        }
        if order != 0 { return (order < 0) == sortKeys[index].isAscending }
      }
      return left.key < right.key
    }
  }

  /// Passes borrowed pointers to the values. Comparing through arrays would retain each of them at each step.
  @inline(__always) private func withValues<Result>(_ body: (Values) -> Result) -> Result {
    sortKeys.withUnsafeBufferPointer { sortKeys in
      values.withUnsafeBufferPointer { values in
        bytes.withUnsafeBytes { body(Values(sortKeys: sortKeys, values: values, bytes: $0)) }
      }
    }
  }

  // MARK: Heap

  private mutating func siftUp(_ start: Int) {
    changeHeap { heap, values in
      var child = start
      while child > 0 {
        let parent = (child - 1) / 2
        guard values.isBefore(heap[parent], heap[child]) else { return }
        heap.swapAt(child, parent)
        child = parent
      }
    }
  }

  private mutating func siftDown() {
    changeHeap { heap, values in
      let (entry, count) = (heap[0], heap.count)
      var place = 0
      while true {
        var child = 2 * place + 1
        if child >= count { break }
        if child + 1 < count, values.isBefore(heap[child], heap[child + 1]) { child += 1 }
        guard values.isBefore(entry, heap[child]) else { break }
        heap[place] = heap[child]
        place = child
      }
      heap[place] = entry
    }
  }

  /// Passes the heap for modification, moved out of `self` during the call, together with the values.
  @inline(__always) private mutating func changeHeap(_ body: (inout UnsafeMutableBufferPointer<Entry>, Values) -> Void) {
    var heap = ContiguousArray<Entry>()
    swap(&heap, &self.heap)
    withValues { values in heap.withUnsafeMutableBufferPointer { body(&$0, values) } }
    swap(&heap, &self.heap)
  }
}

// TopRows: the first rows of an order, found in one pass: what SQLite before 3.24 does by sorting everything.
import Foundation
import ObjectModel
import SQLCipherConnection

/// The first rows of an order, by their keys. Texts and bytes are copied only for rows that are among the first so far.
struct TopRows {
  /// A sort key: how its column, which follows the row's key, is compared.
  struct SortKey: Sendable {
    enum Kind: Sendable {
      case int, real, text, bytes
    }
    let kind: Kind
    let isAscending: Bool
  }

  /// A value of a sort key.
  private enum Value {
    case null
    case int(Int64)
    case real(Double)
    case bytes([UInt8])
  }

  private struct Entry {
    let key: Int64
    let values: [Value]
  }

  private let sortKeys: [SortKey]
  private let capacity: Int
  /// A heap whose first entry is the last of the order.
  private var heap: [Entry] = []

  init(_ sortKeys: [SortKey], capacity: Int) {
    self.sortKeys = sortKeys
    self.capacity = capacity
    heap.reserveCapacity(capacity)
  }

  /// Takes the current row of a statement into account.
  mutating func offer(_ statement: Statement) {
    let key = statement.int64(0)
    if heap.count < capacity {
      heap.append(Entry(key: key, values: values(statement)))
      siftUp(heap.count - 1)
    } else if let last = heap.first, order(statement, key, last) < 0 {
      heap[0] = Entry(key: key, values: values(statement))
      siftDown()
    }
  }

  /// The keys of the rows in order.
  func keys() -> [Int64] { heap.sorted { order($0, $1) < 0 }.map(\.key) }

  // MARK: Order

  private func values(_ statement: Statement) -> [Value] {
    sortKeys.indices.map { index in
      let column = Int32(index + 1)
      if statement.isNull(column) { return .null }
      switch sortKeys[index].kind {
      case .int: return .int(statement.int64(column))
      case .real: return .real(statement.double(column))
      case .text: return .bytes(Array(statement.textBuffer(column)))
      case .bytes: return .bytes(Array(statement.blobBuffer(column)))
      }
    }
  }

  /// The order of a statement's row and an entry; equal ones by their keys.
  private func order(_ statement: Statement, _ key: Int64, _ entry: Entry) -> Int {
    for index in sortKeys.indices {
      let column = Int32(index + 1)
      var order: Int
      switch entry.values[index] {
      case .null: order = statement.isNull(column) ? 0 : 1
      case .int(let other):
        let value = statement.int64(column)
        order = value == 0 && statement.isNull(column) ? -1 : value < other ? -1 : value > other ? 1 : 0
      case .real(let other):
        let value = statement.double(column)
        order = value == 0 && statement.isNull(column) ? -1 : value < other ? -1 : value > other ? 1 : 0
      case .bytes(let other):
        let value = sortKeys[index].kind == .text ? statement.textBuffer(column) : statement.blobBuffer(column)
        order = value.baseAddress == nil && statement.isNull(column) ? -1 : Self.compare(value, other)
      }
      if order != 0 { return sortKeys[index].isAscending ? order : -order }
    }
    return key < entry.key ? -1 : 1
  }

  private func order(_ left: Entry, _ right: Entry) -> Int {
    for index in sortKeys.indices {
      let order: Int
      switch (left.values[index], right.values[index]) {
      case (.null, .null): order = 0
      case (.null, _): order = -1
      case (_, .null): order = 1
      case (.int(let left), .int(let right)): order = left < right ? -1 : left > right ? 1 : 0
      case (.real(let left), .real(let right)): order = left < right ? -1 : left > right ? 1 : 0
      case (.bytes(let left), .bytes(let right)): order = left.withUnsafeBytes { Self.compare($0, right) }
      default: order = 0
      }
      if order != 0 { return sortKeys[index].isAscending ? order : -order }
    }
    return left.key < right.key ? -1 : left.key > right.key ? 1 : 0
  }

  private static func compare(_ left: UnsafeRawBufferPointer, _ right: [UInt8]) -> Int {
    right.withUnsafeBytes { right in
      let common = min(left.count, right.count)
      if common > 0, let first = left.baseAddress, let second = right.baseAddress {
        let order = memcmp(first, second, common)
        if order != 0 { return Int(order) }
      }
      return left.count - right.count
    }
  }

  // MARK: Heap

  private mutating func siftUp(_ start: Int) {
    var child = start
    while child > 0 {
      let parent = (child - 1) / 2
      guard order(heap[child], heap[parent]) > 0 else { return }
      heap.swapAt(child, parent)
      child = parent
    }
  }

  private mutating func siftDown() {
    var parent = 0
    while true {
      var last = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && order(heap[child], heap[last]) > 0 { last = child }
      guard last != parent else { return }
      heap.swapAt(parent, last)
      parent = last
    }
  }
}

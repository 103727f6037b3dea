import ObjectModel
import Synchronization

/// The rows of 512 neighboring keys of one entity tree.
final class RowPage {
  let number: Int64
  // Combined into one word, because allocations are rounded up to 16 bytes. A model has at most 65,536 entities.
  private let creationIndexAndRoot: Int
  // Accessed only under the lock of the page's part, one access at a time.
  @exclusivity(unchecked) private var table = RowTable()
  /// The address of the table's entries, for readers without the lock.
  private let start: Atomic<UnsafeMutablePointer<RowEntry>>
  // Accessed under the lock, like the table.
  @exclusivity(unchecked) var byteCount = RowPage.ownSize

  init(root: Int, number: Int64, creationIndex: Int) {
    self.number = number
    creationIndexAndRoot = creationIndex << 16 | root
    start = Atomic(table.entries.start)
  }

  var root: Int { creationIndexAndRoot & 0xffff }
  /// The position of the page in the creation order of the cache.
  var creationIndex: Int { creationIndexAndRoot >> 16 }

  var entries: RowEntries { @inline(__always) get { RowEntries(start.load(ordering: .acquiring)) } }

  /// The current table, which is immutable from now on.
  var shared: RowTable { table }

  /// Replaces a shared table by a copy, so that the entries can be changed. Returns the previous table if it was shared.
  @inline(__always) func separate() -> RowTable? {
    if isKnownUniquelyReferenced(&table) { return nil }
    let previous = table
    table = RowTable(copying: previous)
    start.store(table.entries.start, ordering: .releasing)
    return previous
  }

  /// The size of a page without its rows, in bytes. With random access there is nearly one page for each row, so it is counted.
  static var ownSize: Int { RowTable.size * MemoryLayout<RowEntry>.stride + 224 }
}

/// An array of pages, indexed by page number without its lowest bits.
final class RowPageTable {
  let capacity: Int
  /// The addresses of the pages, each retained by the table; 0 if there is no page.
  private let pages: UnsafeMutablePointer<Atomic<UInt>>

  init(capacity: Int) {
    self.capacity = capacity
    pages = UnsafeMutablePointer.allocate(capacity: capacity)
    for index in 0..<capacity { (pages + index).initialize(to: Atomic(0)) }
  }

  deinit {
    for index in 0..<capacity { _ = take(at: index) }
    pages.deinitialize(count: capacity).deallocate()
  }

  // `Unmanaged`: pages stay alive while the caller holds the part's lock or is one of its readers.
  @inline(__always) func page(at index: Int) -> Unmanaged<RowPage>? {
    UnsafeRawPointer(bitPattern: pages[index].load(ordering: .acquiring)).map { Unmanaged.fromOpaque($0) }
  }

  /// Stores a page at an empty index.
  func set(_ page: RowPage, at index: Int) {
    // `Unmanaged`: the reference is balanced by `take`.
    pages[index].store(UInt(bitPattern: Unmanaged.passRetained(page).toOpaque()), ordering: .releasing)
  }

  func take(at index: Int) -> RowPage? {
    let address = pages[index].load(ordering: .relaxed)
    pages[index].store(0, ordering: .releasing)
    // `Unmanaged`: takes over the reference of `set`.
    return UnsafeRawPointer(bitPattern: address).map { Unmanaged<RowPage>.fromOpaque($0).takeRetainedValue() }
  }
}

/// The pages of one part by entity tree and page number. Pages with low numbers, as in nearly every store, are in a table for each tree,
/// others in a dictionary.
///
/// The pages of a tree within a part have numbers with the same remainder, so a table is indexed by the number without its lowest bits. A
/// lookup in a table loads addresses without retaining anything, and readers of the part can perform it without the lock. Removed objects
/// are returned to the caller, which keeps them alive for these readers.
struct RowPages: ~Copyable {
  /// Access to the tables without the lock. Its memory is stable for the lifetime of the pages.
  struct Finder: @unchecked Sendable {  // the words behind the pointer are atomic
    fileprivate let trees: UnsafeMutablePointer<Tree>
    fileprivate let shift: Int64

    /// Returns the page for a number, or nil if there is none or its number belongs into the dictionary.
    // `Unmanaged`: the caller holds the part's lock or is one of its readers.
    @inline(__always) func page(root: Int, number: Int64) -> Unmanaged<RowPage>? {
      guard let address = UnsafeRawPointer(bitPattern: trees[root].table.load(ordering: .acquiring)) else { return nil }
      let index = number >> shift
      // `Unmanaged`: the tree retains the table, or the part keeps a replaced table alive for its readers.
      return Unmanaged<RowPageTable>.fromOpaque(address)._withUnsafeGuaranteedRef { table in
        index >= 0 && index < Int64(table.capacity) ? table.page(at: Int(index)) : nil
      }
    }

    /// Returns whether pages of a tree are in a dictionary, which requires the lock.
    @inline(__always) func hasOthers(root: Int) -> Bool { trees[root].hasOthers.load(ordering: .acquiring) }
  }

  fileprivate struct Tree: ~Copyable {
    /// The address of the table, which the tree retains; 0 if there is none.
    let table = Atomic<UInt>(0)
    let hasOthers = Atomic<Bool>(false)
  }

  /// The upper bound of page numbers in tables, for 2²⁴ keys. The tables of a tree take at most 256 KiB in all parts.
  private static let densePages = 1 << 15

  let finder: Finder
  /// The number of entities in the model. Trees are identified by the number of their root entity.
  private let treeCount: Int
  private var others: [Int: [Int64: RowPage]] = [:]
  private(set) var count = 0

  init(treeCount: Int, shift: Int) {
    self.treeCount = treeCount
    let trees = UnsafeMutablePointer<Tree>.allocate(capacity: max(treeCount, 1))
    for root in 0..<treeCount { (trees + root).initialize(to: Tree()) }
    finder = Finder(trees: trees, shift: Int64(shift))
  }

  deinit {
    for root in 0..<treeCount { _ = Self.exchange(finder.trees + root, nil) }
    finder.trees.deinitialize(count: treeCount).deallocate()
  }

  // `Unmanaged`: the part's lock keeps the page alive while the caller accesses it.
  @inline(__always) func page(root: Int, number: Int64) -> Unmanaged<RowPage>? {
    if let page = finder.page(root: root, number: number) { return page }
    if others.isEmpty { return nil }
    // `Unmanaged`: the dictionary retains the page.
    return others[root]?[number].map(Unmanaged.passUnretained)
  }

  /// Inserts a page. Returns a table that was replaced, which the caller must keep alive for readers.
  mutating func insert(_ page: RowPage) -> AnyObject? {
    count += 1
    guard page.number >= 0, page.number < Int64(Self.densePages) else {
      others[page.root, default: [:]][page.number] = page
      finder.trees[page.root].hasOthers.store(true, ordering: .releasing)
      return nil
    }
    let index = Int(page.number >> finder.shift)
    let old = table(root: page.root)
    if let old, index < old.capacity {
      old.set(page, at: index)
      return nil
    }
    let capacity = min(max(index + 1, (old?.capacity ?? 0) * 2, 8), Self.densePages >> Int(finder.shift))
    let grown = RowPageTable(capacity: capacity)
    // Each table retains its pages separately, because readers may still use the old table.
    for index in 0..<(old?.capacity ?? 0) { old?.page(at: index)?._withUnsafeGuaranteedRef { grown.set($0, at: index) } }
    grown.set(page, at: index)
    return Self.exchange(finder.trees + page.root, grown)
  }

  private func table(root: Int) -> RowPageTable? {
    guard let address = UnsafeRawPointer(bitPattern: finder.trees[root].table.load(ordering: .relaxed)) else { return nil }
    // `Unmanaged`: returns a new reference; the tree keeps its own.
    return Unmanaged<RowPageTable>.fromOpaque(address).takeUnretainedValue()
  }

  private static func exchange(_ tree: UnsafeMutablePointer<Tree>, _ table: RowPageTable?) -> RowPageTable? {
    let old = tree.pointee.table.load(ordering: .relaxed)
    // `Unmanaged`: the tree's reference, released by the next exchange.
    tree.pointee.table.store(table.map { UInt(bitPattern: Unmanaged.passRetained($0).toOpaque()) } ?? 0, ordering: .releasing)
    return UnsafeRawPointer(bitPattern: old).map { Unmanaged<RowPageTable>.fromOpaque($0).takeRetainedValue() }
  }

  /// Removes a page. The caller must keep it alive as long as readers may access it.
  mutating func remove(_ page: RowPage) {
    let index = page.number >> finder.shift
    if let table = table(root: page.root), index >= 0, index < Int64(table.capacity), table.take(at: Int(index)) != nil {
      count -= 1
    } else if others[page.root]?.removeValue(forKey: page.number) != nil {
      count -= 1
    }
  }
}

// RowPages: the pages of a row cache, found by entity tree and number.
import ObjectModel
import Synchronization

/// 512 neighbouring keys of one entity tree.
final class RowPage {
  let number: Int64
  // One word: of each page memory is given out in steps of 16 bytes. A model has at most 65,536 entities.
  private let turnAndRoot: Int
  // Read and written under the lock of the page's part only, one access at a time.
  @exclusivity(unchecked) private var table = RowTable()
  /// Where the table's entries begin, for those who read without the lock as well.
  private let start: Atomic<UnsafeMutablePointer<RowEntry>>
  // Under the lock, as the table.
  @exclusivity(unchecked) var byteCount = RowPage.ownSize

  init(root: Int, number: Int64, turn: Int) {
    self.number = number
    turnAndRoot = turn << 16 | root
    start = Atomic(table.entries.start)
  }

  /// The root of the rows' entities.
  var root: Int { turnAndRoot & 0xffff }
  /// The page's place among those of a cache, by when they came.
  var turn: Int { turnAndRoot >> 16 }

  var entries: RowEntries { @inline(__always) get { RowEntries(start.load(ordering: .acquiring)) } }

  /// What is in the page now: nobody changes it any more.
  var shared: RowTable { table }

  /// Makes sure that nobody else has a part in the entries, which are to be changed; gives the table that others have, where there are such.
  @inline(__always) func separate() -> RowTable? {
    if isKnownUniquelyReferenced(&table) { return nil }
    let former = table
    table = RowTable(copying: former)
    start.store(table.entries.start, ordering: .releasing)
    return former
  }

  /// What a page takes beside its rows. Rows read here and there have nearly a page each, so it must count.
  static var ownSize: Int { RowTable.size * MemoryLayout<RowEntry>.stride + 224 }
}

/// Pages by number without its lowest bits, as many as there may be.
final class RowPageTable {
  let capacity: Int
  /// The address of each page, to which the table has one reference; 0 where there is none.
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

  // `Unmanaged`: a page stays while the caller has the part's lock or is one of its readers.
  @inline(__always) func page(at index: Int) -> Unmanaged<RowPage>? {
    UnsafeRawPointer(bitPattern: pages[index].load(ordering: .acquiring)).map { Unmanaged.fromOpaque($0) }
  }

  /// Puts a page where none is.
  func set(_ page: RowPage, at index: Int) {
    // `Unmanaged`: the reference that `take` gives away.
    pages[index].store(UInt(bitPattern: Unmanaged.passRetained(page).toOpaque()), ordering: .releasing)
  }

  /// Takes a page out.
  func take(at index: Int) -> RowPage? {
    let address = pages[index].load(ordering: .relaxed)
    pages[index].store(0, ordering: .releasing)
    // `Unmanaged`: the reference that `set` took.
    return UnsafeRawPointer(bitPattern: address).map { Unmanaged<RowPage>.fromOpaque($0).takeRetainedValue() }
  }
}

/// The pages of one part by entity tree and number: in a table for each tree while numbers are low, as they are in nearly every store, else in a dictionary.
///
/// Of each tree the pages have numbers that leave the same remainder, so that a table has a place for each number without its lowest bits. Look-ups in the
/// tables are loads of addresses and retain nothing; they may be made by the part's readers without its lock. Whatever is taken out goes to
/// the caller, who keeps it for them.
struct RowPages: ~Copyable {
  /// What can be looked up without the lock. It stays where it is as long as the pages.
  struct Finder: @unchecked Sendable {  // the words behind the pointer are atomic
    fileprivate let trees: UnsafeMutablePointer<Tree>
    fileprivate let shift: Int64

    /// The page of a number; nil when there is none, or where it would lie in a dictionary.
    // `Unmanaged`, since the caller has the part's lock or is one of its readers.
    @inline(__always) func page(root: Int, number: Int64) -> Unmanaged<RowPage>? {
      guard let address = UnsafeRawPointer(bitPattern: trees[root].table.load(ordering: .acquiring)) else { return nil }
      let index = number >> shift
      // `Unmanaged`: the tree has a reference, or whoever took it away keeps it for the readers.
      return Unmanaged<RowPageTable>.fromOpaque(address)._withUnsafeGuaranteedRef { table in
        index >= 0 && index < Int64(table.capacity) ? table.page(at: Int(index)) : nil
      }
    }

    /// Whether pages of a tree lie in a dictionary, which is read under the lock only.
    @inline(__always) func hasOthers(root: Int) -> Bool { trees[root].hasOthers.load(ordering: .acquiring) }
  }

  fileprivate struct Tree: ~Copyable {
    /// The address of the table, to which the tree has one reference; 0 where there is none.
    let table = Atomic<UInt>(0)
    let hasOthers = Atomic<Bool>(false)
  }

  /// Pages below this number, of 2²⁴ keys, lie in the tables, which then take at most 256 KiB in all parts.
  private static let densePages = 1 << 15

  let finder: Finder
  /// How many entities the model has; trees are numbered by their roots.
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

  /// The page of a number; nil when there is none.
  // `Unmanaged`, since the part's lock keeps the page for as long as the caller looks at it.
  @inline(__always) func page(root: Int, number: Int64) -> Unmanaged<RowPage>? {
    if let page = finder.page(root: root, number: number) { return page }
    if others.isEmpty { return nil }
    // The dictionary holds it: `Unmanaged` for the same reason.
    return others[root]?[number].map(Unmanaged.passUnretained)
  }

  /// Enters a page that is not there yet; gives what was taken out for it.
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
    // Each table has references of its own: readers may still be in the old one.
    for index in 0..<(old?.capacity ?? 0) { old?.page(at: index)?._withUnsafeGuaranteedRef { grown.set($0, at: index) } }
    grown.set(page, at: index)
    return Self.exchange(finder.trees + page.root, grown)
  }

  private func table(root: Int) -> RowPageTable? {
    guard let address = UnsafeRawPointer(bitPattern: finder.trees[root].table.load(ordering: .relaxed)) else { return nil }
    // `Unmanaged`: the tree has a reference, the caller gets one more.
    return Unmanaged<RowPageTable>.fromOpaque(address).takeUnretainedValue()
  }

  private static func exchange(_ tree: UnsafeMutablePointer<Tree>, _ table: RowPageTable?) -> RowPageTable? {
    let old = tree.pointee.table.load(ordering: .relaxed)
    // `Unmanaged`: the tree's reference, given away by the next exchange.
    tree.pointee.table.store(table.map { UInt(bitPattern: Unmanaged.passRetained($0).toOpaque()) } ?? 0, ordering: .releasing)
    return UnsafeRawPointer(bitPattern: old).map { Unmanaged<RowPageTable>.fromOpaque($0).takeRetainedValue() }
  }

  /// Takes a page out; the caller keeps it as long as somebody may still read it.
  mutating func remove(_ page: RowPage) {
    let index = page.number >> finder.shift
    if let table = table(root: page.root), index >= 0, index < Int64(table.capacity), table.take(at: Int(index)) != nil {
      count -= 1
    } else if others[page.root]?.removeValue(forKey: page.number) != nil {
      count -= 1
    }
  }
}

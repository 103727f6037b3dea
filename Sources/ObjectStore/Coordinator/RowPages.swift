// RowPages: the pages of a row cache, found by entity tree and number.
import ObjectModel
import Synchronization

/// 512 neighbouring keys of one entity tree.
final class RowPage {
  let root: Int
  let number: Int64
  /// The page's place among those of a cache, by when they came.
  let turn: Int
  /// 512 entries. Memory of its own instead of an array: a large fetch enters each row here, and pays for every check.
  let entries: UnsafeMutablePointer<RowEntry>
  // Read and written under the lock of the page's part only, one access at a time.
  @exclusivity(unchecked) var byteCount = RowPage.ownSize

  init(root: Int, number: Int64, turn: Int) {
    (self.root, self.number, self.turn) = (root, number, turn)
    entries = UnsafeMutablePointer.allocate(capacity: 512)
    for index in 0..<512 { (entries + index).initialize(to: RowEntry()) }
  }

  deinit {
    for index in 0..<512 { _ = entries[index].clear() }
    entries.deinitialize(count: 512)
    entries.deallocate()
  }

  /// What a page takes beside its rows. Rows read here and there have nearly a page each, so it must count.
  static var ownSize: Int { 512 * MemoryLayout<RowEntry>.stride + 128 }
}

/// A row, and what of it is asked when another one comes: its own memory may lie cold.
///
/// Written under the lock of the page's part; whoever counts himself among the part's readers reads it without: see ``RowCachePart/retired``.
struct RowEntry: ~Copyable {
  /// The address of the row's chunk, to which the entry has one reference, and that of the row; 0 where there is no row.
  private let chunk = Atomic<UInt>(0)
  private let base = Atomic<UInt>(0)
  private let lowVersion = Atomic<UInt32>(0)
  private let byteSize = Atomic<UInt32>(0)
  private let entered = Atomic<UInt32>(0)

  /// The lower half of the row's version.
  var version: UInt32 { lowVersion.load(ordering: .relaxed) }
  /// The row's bytes; 0 where there is none.
  @inline(__always) var size: Int { Int(byteSize.load(ordering: .relaxed)) }
  /// When the row was put in, in hundredths of a second of a clock of this process. Who asks before he reads the row has one that is no older.
  var time: UInt32 { entered.load(ordering: .acquiring) }

  /// Whether the row is newer than one of a version.
  @inline(__always) func isNewer(than version: Int64) -> Bool {
    chunk.load(ordering: .relaxed) != 0 && Int32(bitPattern: self.version &- UInt32(truncatingIfNeeded: version)) > 0
  }

  /// The row.
  ///
  /// The two addresses change one after the other. That the row lies in the chunk shows that they belong together: as long as the caller holds the part's lock
  /// or is one of its readers, nothing that was here since is freed, and so nothing else lies in the same place.
  ///
  /// - Parameter isChanging: Becomes true, and the answer nil, where somebody is just writing the entry.
  @inline(__always) func image(_ isChanging: inout Bool) -> RowImage? {
    guard let address = UnsafeRawPointer(bitPattern: chunk.load(ordering: .acquiring)) else { return nil }
    let base = base.load(ordering: .acquiring)
    // `Unmanaged`: the entry has a reference, or whoever took it out keeps it for the readers.
    return Unmanaged<RowChunk>.fromOpaque(address)._withUnsafeGuaranteedRef { chunk in
      guard base &- UInt(bitPattern: chunk.memory) < UInt(chunk.capacity), let base = UnsafeRawPointer(bitPattern: base) else {
        isChanging = true
        return nil
      }
      return RowImage(chunk: chunk, base: base)
    }
  }

  /// The number of the row's entity; nil where there is none.
  @inline(__always) var entityNumber: Int? {
    UnsafeRawPointer(bitPattern: base.load(ordering: .acquiring)).map { Int($0.load(fromByteOffset: 4, as: UInt16.self)) }
  }

  /// Puts a row in; gives what the one before it was kept by.
  @inline(__always) func set(_ image: RowImage, size: Int, time: UInt32) -> RowChunk? {
    let old = chunk.load(ordering: .relaxed)
    // `Unmanaged`: the reference that `set` or `clear` gives away.
    chunk.store(UInt(bitPattern: Unmanaged.passRetained(image.chunk).toOpaque()), ordering: .releasing)
    base.store(UInt(bitPattern: image.base), ordering: .releasing)
    lowVersion.store(UInt32(truncatingIfNeeded: image.version), ordering: .relaxed)
    byteSize.store(UInt32(truncatingIfNeeded: size), ordering: .relaxed)
    entered.store(time, ordering: .releasing)
    return Self.taken(old)
  }

  /// Takes the row out; gives what it was kept by.
  func clear() -> RowChunk? {
    let old = chunk.load(ordering: .relaxed)
    chunk.store(0, ordering: .releasing)
    base.store(0, ordering: .releasing)
    byteSize.store(0, ordering: .relaxed)
    return Self.taken(old)
  }

  @inline(__always) private static func taken(_ address: UInt) -> RowChunk? {
    // `Unmanaged`: the reference that `set` took.
    UnsafeRawPointer(bitPattern: address).map { Unmanaged<RowChunk>.fromOpaque($0).takeRetainedValue() }
  }
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

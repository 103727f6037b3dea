// RowPages: the pages of a row cache, found by entity tree and number.
import ObjectModel

/// 512 neighbouring keys of one entity tree.
final class RowPage {
  let root: Int
  let number: Int64
  /// 512 entries. Memory of its own instead of an array: a large fetch enters each row here, and pays for every check.
  let entries: UnsafeMutablePointer<RowEntry>
  // Read and written under the cache's lock only, one access at a time.
  @exclusivity(unchecked) var byteCount = RowPage.ownSize

  init(root: Int, number: Int64) {
    (self.root, self.number) = (root, number)
    entries = UnsafeMutablePointer.allocate(capacity: 512)
    entries.initialize(repeating: RowEntry(), count: 512)
  }

  deinit {
    entries.deinitialize(count: 512)
    entries.deallocate()
  }

  /// What a page takes beside its rows. Rows read here and there have nearly a page each, so it must count.
  static var ownSize: Int { 512 * MemoryLayout<RowEntry>.stride + 128 }
}

/// A row, and what of it is asked when another one comes: its own memory may lie cold.
struct RowEntry {
  var image: RowImage?
  /// The lower half of the row's version.
  var version: UInt32 = 0
  var size: UInt32 = 0
  /// When the row was put in, in hundredths of a second of a clock of this process.
  var time: UInt32 = 0

  /// Whether the row is newer than one of a version.
  func isNewer(than version: Int64) -> Bool {
    image != nil && Int32(bitPattern: self.version &- UInt32(truncatingIfNeeded: version)) > 0
  }
}

/// Pages by entity tree and number: in an array for each tree while numbers are low, as they are in nearly every store, else in a dictionary.
///
/// The arrays are plain memory that belongs to this value, which is not copyable, and hold one reference to each page: a look-up is two loads, and retains
/// nothing. Whoever looks up has the cache's lock, so that no page goes meanwhile.
struct RowPages: ~Copyable {
  private struct Tree {
    // `Unmanaged`: the array holds each page by one reference, taken and given back where a page comes and goes.
    var pages: UnsafeMutablePointer<Unmanaged<RowPage>?>?
    var capacity = 0
    var others: [Int64: RowPage] = [:]
  }

  /// Pages below this number, of 2²⁴ keys, lie in the array, which then takes at most 256 KiB.
  private static let densePages = 1 << 15

  private let trees: UnsafeMutablePointer<Tree>
  /// How many entities the model has; trees are numbered by their roots.
  private let treeCount: Int
  private(set) var count = 0

  init(treeCount: Int) {
    self.treeCount = treeCount
    trees = UnsafeMutablePointer.allocate(capacity: max(treeCount, 1))
    trees.initialize(repeating: Tree(), count: treeCount)
  }

  deinit {
    for root in 0..<treeCount {
      for number in 0..<trees[root].capacity { trees[root].pages?[number]?.release() }
      trees[root].pages?.deallocate()
    }
    trees.deinitialize(count: treeCount).deallocate()
  }

  /// The page of a number; nil when there is none.
  // `Unmanaged`, since the cache's lock keeps the page for as long as the caller looks at it.
  @inline(__always) func page(root: Int, number: Int64) -> Unmanaged<RowPage>? {
    let tree = trees + root
    if number >= 0, number < Int64(tree.pointee.capacity) { return tree.pointee.pages?[Int(number)] }
    if tree.pointee.others.isEmpty { return nil }
    // The dictionary holds it: `Unmanaged` for the same reason.
    return tree.pointee.others[number].map(Unmanaged.passUnretained)
  }

  /// Enters a page that is not there yet.
  mutating func insert(_ page: RowPage) {
    let tree = trees + page.root
    count += 1
    guard page.number >= 0, page.number < Int64(Self.densePages) else {
      tree.pointee.others[page.number] = page
      return
    }
    let index = Int(page.number)
    if index >= tree.pointee.capacity { Self.grow(tree, to: index) }
    // `Unmanaged`: the reference that `remove(_:)` or `deinit` gives back.
    tree.pointee.pages?[index] = Unmanaged.passRetained(page)
  }

  private static func grow(_ tree: UnsafeMutablePointer<Tree>, to index: Int) {
    let capacity = min(max(index + 1, tree.pointee.capacity * 2, 64), densePages)
    // The `Unmanaged` references move to the new array.
    let grown = UnsafeMutablePointer<Unmanaged<RowPage>?>.allocate(capacity: capacity)
    grown.initialize(repeating: nil, count: capacity)
    if let pages = tree.pointee.pages {
      grown.update(from: pages, count: tree.pointee.capacity)
      pages.deallocate()
    }
    (tree.pointee.pages, tree.pointee.capacity) = (grown, capacity)
  }

  /// Takes a page out.
  mutating func remove(_ page: RowPage) {
    let tree = trees + page.root
    if page.number >= 0, page.number < Int64(tree.pointee.capacity) {
      guard let entered = tree.pointee.pages?[Int(page.number)] else { return }
      tree.pointee.pages?[Int(page.number)] = nil
      count -= 1
      entered.release()
    } else if tree.pointee.others.removeValue(forKey: page.number) != nil {
      count -= 1
    }
  }
}

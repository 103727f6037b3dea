// RowCache: a store's rows as they were last read or saved, shared by all contexts.
import Foundation
package import ObjectModel
import Synchronization

/// A store's rows as they were last read or saved. Bounded: when it holds more than its limit, the pages that came first go.
///
/// Contexts of many threads look up rows all the time: they take no lock, and so wait for nobody who has lost his processor with one in his hands. Of those who
/// put rows in, neighbouring pages are under different locks, each held for one page at a time.
package final class RowCache: RowTableSource, @unchecked Sendable {  // `parts` never moves; what lies in it is under locks or atomic
  private let roots: [Int]
  private let limit: Int
  /// The parts, each under its lock. Plain memory: to find one costs no reference that all threads would count.
  private let parts: UnsafeMutablePointer<Part>
  private let partCount: Int
  /// Grows with each save, so that a reader that began before one does not put old rows over new ones.
  ///
  /// It grows before a save's rows are put in, and is compared under the lock of the part that gets a row that was read. So either the save finds that row,
  /// and puts its own over it, or who has read sees that the number has grown.
  private let saves = Atomic<Int>(0)
  /// Transactions under way, during which nothing new is kept.
  private let suspensions = Atomic<Int>(0)
  /// The bytes of all parts, as of the last change that is complete.
  private let byteCount = Atomic<Int>(0)
  /// The number of pages that ever came.
  private let turns = Atomic<Int>(0)
  #if CIPHERDATA_CHECKS
    private let kinds: [[SlotKind]]
  #endif

  /// A lock with what it guards, and how many read that without it; far enough from the next for a processor's cache.
  private struct Part: ~Copyable {
    let content: Mutex<RowCachePart>
    private let finder: RowPages.Finder
    private let readers = Atomic<Int>(0)
    private let distance: (Int, Int, Int, Int, Int, Int, Int, Int) = (0, 0, 0, 0, 0, 0, 0, 0)

    init(treeCount: Int, shift: Int) {
      let content = RowCachePart(treeCount: treeCount, shift: shift)
      finder = content.pages.finder
      self.content = Mutex(content)
    }

    /// Looks at the entry of a key without the lock, see ``RowCachePart/retired``; with it where that is not enough.
    @inline(__always) func look<Result: Sendable>(
      root: Int, key: Int64, _ body: (borrowing RowEntry) -> Result?
    ) -> Result? {
      readers.add(1, ordering: .acquiringAndReleasing)
      let page = finder.page(root: root, number: key >> 9)
      let result = page?._withUnsafeGuaranteedRef { $0.entries.look(at: Int(key & 511), body) } ?? nil
      readers.subtract(1, ordering: .releasing)
      guard page == nil && finder.hasOthers(root: root) else { return result }
      return lookLocked(root: root, key: key, body)
    }

    @inline(never) private func lookLocked<Result: Sendable>(
      root: Int, key: Int64, _ body: (borrowing RowEntry) -> Result?
    ) -> Result? {
      locked { $0.look(root: root, key: key, body) }
    }

    private func locked<Result: Sendable>(_ body: (borrowing RowCachePart) -> Result) -> Result { content.withLock { body($0) } }

    /// Changes what is under the lock; gives by how many bytes there is more.
    @inline(__always) func change(_ body: (inout RowCachePart) -> Void) -> Int {
      content.withLock { part in
        let count = part.byteCount
        body(&part)
        // The sum of none is a change too: it comes in one order with those of the readers.
        if !part.retired.isEmpty, readers.add(0, ordering: .acquiringAndReleasing).newValue == 0 { part.releaseRetired() }
        return part.byteCount - count
      }
    }
  }

  /// The bytes that are worth a lock of their own, and how many locks there are at most.
  private static let (partLimit, maximumPartCount) = (1 << 20, 16)

  /// From how many changed rows on it pays to put those of a part in together.
  private static let rowsWorthSorting = 64

  /// How many rows of a save are put into a part before others get its lock: as many as take some 20 µs.
  private static let rowsUnderLock = 256

  /// Of a save that inserts more rows than these none is kept.
  private static let maximumInserted = 1_000

  /// An empty cache.
  ///
  /// - Parameter byteLimit: The bytes of rows that it may hold.
  package init(model: CompiledModel, byteLimit: Int) {
    roots = model.entities.map(\.root)
    limit = byteLimit
    var shift = 0
    while 2 << shift <= Self.maximumPartCount, byteLimit >> shift >= 2 * Self.partLimit { shift += 1 }
    partCount = 1 << shift
    parts = UnsafeMutablePointer.allocate(capacity: partCount)
    for index in 0..<partCount { (parts + index).initialize(to: Part(treeCount: model.entities.count, shift: shift)) }
    #if CIPHERDATA_CHECKS
      kinds = model.entities.map { $0.slots.map(\.kind) }
    #endif
  }

  deinit { parts.deinitialize(count: partCount).deallocate() }

  @inline(__always) private func index(root: Int, number: Int64) -> Int { (Int(truncatingIfNeeded: number) &+ root) & (partCount &- 1) }

  /// Looks something up in the part of a key.
  @inline(__always) private func look<Result: Sendable>(
    _ reference: ObjectReference, _ body: (borrowing RowEntry) -> Result?
  ) -> Result? {
    let root = roots[reference.entity]
    return parts[index(root: root, number: reference.key >> 9)].look(root: root, key: reference.key, body)
  }

  /// Changes rows of one page, and lets pages go where there is more than there may be.
  @inline(__always) private func change(root: Int, number: Int64, _ body: (inout RowCachePart) -> Void) {
    change(index(root: root, number: number), body)
  }

  /// Changes rows of a part, and lets pages go where there is more than there may be.
  @inline(__always) private func change(_ index: Int, _ body: (inout RowCachePart) -> Void) {
    let change = parts[index].change { part in
      body(&part)
      #if CIPHERDATA_CHECKS
        // A page has 512 places to look at.
        if part.pacer.isDue(part.pages.count * 64) { check(index, part) }
      #endif
    }
    if change != 0, byteCount.add(change, ordering: .relaxed).newValue > limit { shrink() }
  }

  /// Lets the pages go that came first, until the limit is kept or one is left.
  @inline(never) private func shrink() {
    while byteCount.load(ordering: .relaxed) > limit {
      var (oldest, turn, pageCount) = (0, Int.max, 0)
      for index in 0..<partCount {
        parts[index].content.withLock { part in
          pageCount += part.pages.count
          guard let page = part.firstPage(), page.turn < turn else { return }
          (oldest, turn) = (index, page.turn)
        }
      }
      guard pageCount > 1 else { return }
      changeAll(of: oldest) { $0.removeFirstPage(cameAt: turn) }
    }
  }

  private func changeAll(of index: Int, _ body: (inout RowCachePart) -> Void) {
    byteCount.add(parts[index].change(body), ordering: .relaxed)
  }

  /// A number that changes with every save; pass it to ``insert(_:readAt:)``.
  package var generation: Int { saves.load(ordering: .acquiring) }

  /// Under the lock of a part: whether what was read at a generation may be kept in it.
  @inline(__always) private func mayKeep(_ generation: Int) -> Bool {
    saves.load(ordering: .acquiring) == generation && suspensions.load(ordering: .acquiring) == 0
  }

  // MARK: Reading

  /// Keeps rows that were read, unless a save came between.
  package func insert(_ rows: RowList, readAt generation: Int) {
    insert(rows, Self.now()) { mayKeep(generation) }
  }

  /// Keeps rows page by page, as they come, where that may be, which is asked under the lock of each.
  private func insert(_ rows: RowList, _ now: UInt32, where mayKeep: () -> Bool) {
    var position = 0
    while position < rows.count {
      let first = rows.reference(position)
      let (root, number) = (roots[first.entity], first.key >> 9)
      change(root: root, number: number) { part in
        guard mayKeep() else {
          position = rows.count
          return
        }
        part.time = now
        part.page(root: root, number: number, turn: nextTurn)._withUnsafeGuaranteedRef { page in
          let entries = part.entriesToChange(of: page)
          var change = 0
          repeat {
            let row = rows.base(position)
            let reference = RowImage.reference(row)
            guard reference.key >> 9 == number, roots[reference.entity] == root else { break }
            change += enter(row, reference, into: entries, of: &part)
            position += 1
          } while position < rows.count
          part.count(change, in: page)
        }
      }
    }
  }

  /// Keeps one row that was read, unless a save came between.
  package func insert(_ row: RowImage, readAt generation: Int) {
    enter(row, Self.now(), where: { mayKeep(generation) }) { part, entries in enter(row.base, row.reference, into: entries, of: &part) }
  }

  /// Enters one row, where that may be, which is asked under the lock of its page.
  ///
  /// - Parameter put: Puts it among the entries of its page; gives by how many bytes the rows have grown.
  @inline(__always) private func enter(
    _ row: RowImage, _ now: UInt32, where mayKeep: () -> Bool,
    _ put: (inout RowCachePart, RowEntries) -> Int
  ) {
    let (root, number) = (roots[row.entityNumber], row.key >> 9)
    change(root: root, number: number) { part in
      guard mayKeep() else { return }
      part.time = now
      part.page(root: root, number: number, turn: nextTurn)._withUnsafeGuaranteedRef { page in
        let entries = part.entriesToChange(of: page)
        part.count(withExtendedLifetime(row) { put(&part, entries) }, in: page)
      }
    }
  }

  /// Puts a row in unless a newer one is there.
  ///
  /// - Returns: By how many bytes the rows have grown.
  @inline(__always) private func enter(
    _ row: UnsafeRawPointer, _ reference: ObjectReference, into entries: RowEntries, of part: inout RowCachePart
  ) -> Int {
    let index = Int(reference.key & 511)
    if entries.hasRow(index) {
      let entry = entries[index]
      if entry.pointee.row == row {
        // One that was at hand already.
        entry.pointee.renew(part.time)
        return 0
      }
      if entry.pointee.isNewer(than: RowImage.version(row)) { return 0 }
    }
    return part.set(row, at: index, in: entries)
  }

  private func nextTurn() -> Int { turns.add(1, ordering: .relaxed).oldValue }

  /// Hundredths of a second of a clock that is read in a few nanoseconds: 497 days until they begin anew.
  private static func now() -> UInt32 {
    var time = timespec()
    #if os(Linux)
      clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
    #else
      clock_gettime(CLOCK_MONOTONIC, &time)
    #endif
    return UInt32(truncatingIfNeeded: time.tv_sec * 100 + time.tv_nsec / 10_000_000)
  }

  /// The row of an object; nil when it is not at hand or older than a number of seconds.
  package func row(_ reference: ObjectReference, notOlderThan age: Double) -> RowImage? {
    let image = look(reference) { entry in
      // First the time: a row that comes meanwhile is newer.
      Double(Self.now() &- entry.time) <= age * 100 ? entry.image : nil
    }
    return image?.entityNumber == reference.entity ? image : nil
  }

  /// The row of an object; nil when it is not at hand.
  package func row(_ reference: ObjectReference) -> RowImage? {
    let image = look(reference) { $0.image }
    // A reference may name another entity of the tree than the row: its slots are others.
    return image?.entityNumber == reference.entity ? image : nil
  }

  /// Whether the row of an object is at hand.
  package func hasRow(_ reference: ObjectReference) -> Bool {
    look(reference) { $0.entityNumber } == reference.entity
  }

  /// The rows of a page as they are now.
  package func rowTable(root: Int, number: Int64) -> RowTable? {
    parts[index(root: root, number: number)].content.withLock {
      $0.pages.page(root: root, number: number)?._withUnsafeGuaranteedRef { $0.shared }
    }
  }

  // MARK: Saves

  /// Takes over what a save wrote.
  package func apply(_ request: SaveChangesRequest, _ outcome: SaveOutcome = SaveOutcome()) {
    saves.add(1, ordering: .sequentiallyConsistent)
    guard suspensions.load(ordering: .acquiring) == 0 else {
      for update in request.updated { removeRow(update.row.reference) }
      for deleted in request.deleted { removeRow(deleted.reference) }
      for reference in outcome.refreshed.references + outcome.outdated { removeRow(reference) }
      return
    }
    let now = Self.now()
    // An import, whose rows would drive out what is read: who inserts so many lets them go, or holds them himself.
    if request.inserted.count <= Self.maximumInserted { insert(request.inserted, now) { true } }
    set(request.updated, now)
    for row in outcome.refreshed { set(row, now) }
    for reference in outcome.outdated { removeRow(reference) }
    for deleted in request.deleted { removeRow(deleted.reference) }
  }

  /// Puts the rows of updates in: those of one part together, as long as others are not to wait for its lock.
  private func set(_ updates: [SaveChangesRequest.Update], _ now: UInt32) {
    if updates.count < Self.rowsWorthSorting {
      for update in updates { set(update.row, now) }
      return
    }
    // The request holds the rows.
    var rows = ContiguousArray<ContiguousArray<UnsafeRawPointer>>(repeating: [], count: partCount)
    for position in updates.indices {
      let row = updates[position].row.base
      let reference = RowImage.reference(row)
      rows[index(root: roots[reference.entity], number: reference.key >> 9)].append(row)
    }
    for (index, rows) in rows.enumerated() {
      for start in stride(from: 0, to: rows.count, by: Self.rowsUnderLock) {
        let end = min(start + Self.rowsUnderLock, rows.count)
        change(index) { part in
          part.time = now
          part.set(rows[start..<end], roots: roots, turn: nextTurn)
        }
      }
    }
  }

  private func set(_ row: RowImage, _ now: UInt32) {
    enter(row, now, where: { true }) { part, entries in part.set(row.base, at: Int(row.key & 511), in: entries) }
  }

  /// Forgets rows, as after a conflict. Reads that began before keep nothing.
  package func remove(_ references: some Sequence<ObjectReference>) {
    saves.add(1, ordering: .sequentiallyConsistent)
    for reference in references { removeRow(reference) }
  }

  private func removeRow(_ reference: ObjectReference) {
    let (root, number) = (roots[reference.entity], reference.key >> 9)
    change(root: root, number: number) { part in
      part.pages.page(root: root, number: number)?._withUnsafeGuaranteedRef { part.clear(Int(reference.key & 511), in: $0) }
    }
  }

  /// A transaction begins: until ``resume()`` nothing new is kept, and rows that it changes are forgotten.
  package func suspend() { suspensions.add(1, ordering: .sequentiallyConsistent) }

  /// Whether a transaction is under way, and so nothing new is kept.
  package var isSuspended: Bool { suspensions.load(ordering: .acquiring) > 0 }

  /// A transaction has ended.
  package func resume() {
    // The generation first: who reads while nothing is kept is not to keep it afterwards.
    saves.add(1, ordering: .sequentiallyConsistent)
    suspensions.subtract(1, ordering: .sequentiallyConsistent)
  }

  /// Forgets everything.
  package func removeAll() {
    saves.add(1, ordering: .sequentiallyConsistent)
    for index in 0..<partCount { changeAll(of: index) { $0.removeAll() } }
  }
}

#if CIPHERDATA_CHECKS
  extension RowCache {
    /// Checks the cache as it is now, while nobody changes it.
    package func _checkInvariants() {
      var (sum, pageCount) = (0, 0)
      for index in 0..<partCount {
        parts[index].content.withLock { part in
          check(index, part)
          sum += part.byteCount
          pageCount += part.pages.count
        }
      }
      let counted = byteCount.load(ordering: .relaxed)
      checkInvariant(counted == sum, "\(sum) bytes are counted as \(counted)")
      checkInvariant(sum <= limit || pageCount <= 1, "\(sum) bytes are more than the limit, \(limit)")
      checkInvariant(suspensions.load(ordering: .relaxed) >= 0, "transactions have ended that never began")
    }

    private func check(_ index: Int, _ part: borrowing RowCachePart) {
      part._checkInvariants(roots: roots, kinds: kinds) { self.index(root: $0.root, number: $0.number) == index }
    }
  }
#endif

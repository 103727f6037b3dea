import Foundation
package import ObjectModel
import Synchronization

/// A cache of a store's rows as they were last read or saved. If the size exceeds the limit, the oldest pages are evicted (first in, first
/// out).
///
/// Contexts look up rows on many threads. Lookups take no lock, so readers never block on a preempted lock holder. Writers lock one part of
/// the cache for one page at a time; neighboring pages belong to different parts.
package final class RowCache: CachedRowSource, @unchecked Sendable {  // `parts` is constant; its contents are locked or atomic
  private let roots: [Int]
  private let limit: Int
  /// The parts, each with its own lock. Manually allocated memory avoids reference counting that all threads would contend for.
  private let parts: UnsafeMutablePointer<Part>
  private let partCount: Int
  /// A counter that each save increments, so that a read that started before the save does not overwrite newer rows.
  ///
  /// A save increments the counter before it enters its rows. A reader compares it under the lock of the part that its row is entered into.
  /// Therefore either the save finds the row of the reader and overwrites it, or the reader sees that the counter has changed.
  private let saves = Atomic<Int>(0)
  /// The number of running transactions, during which no new rows are kept.
  private let suspensions = Atomic<Int>(0)
  /// The size of all parts in bytes, as of the last completed change.
  private let byteCount = Atomic<Int>(0)
  /// The number of pages created so far.
  private let creationCount = Atomic<Int>(0)
  #if CIPHERDATA_CHECKS
    private let kinds: [[SlotKind]]
  #endif

  /// A lock with its pages, and the number of readers that access them without the lock. Padded, so that parts do not share a cache line.
  private struct Part: ~Copyable {
    let content: Mutex<RowCacheShard>
    private let finder: RowPages.Finder
    private let readers = ReaderCount()
    private let distance: (Int, Int, Int, Int, Int, Int, Int, Int) = (0, 0, 0, 0, 0, 0, 0, 0)

    init(treeCount: Int, shift: Int) {
      let content = RowCacheShard(treeCount: treeCount, shift: shift)
      finder = content.pages.finder
      self.content = Mutex(content)
    }

    /// Looks up the entry of a key, without the lock if possible (see ``ReaderCount``), otherwise with it.
    @inline(__always) func withEntry<Result: Sendable>(
      root: Int, key: Int64, _ body: (borrowing RowEntry) -> Result?
    ) -> Result? {
      let reader = readers.begin()
      let page = finder.page(root: root, number: key >> 9)
      let result = page?._withUnsafeGuaranteedRef { $0.entries.withEntry(at: Int(key & 511), body) } ?? nil
      readers.end(reader)
      guard page == nil && finder.hasOthers(root: root) else { return result }
      return withEntryLocked(root: root, key: key, body)
    }

    @inline(never) private func withEntryLocked<Result: Sendable>(
      root: Int, key: Int64, _ body: (borrowing RowEntry) -> Result?
    ) -> Result? {
      locked { $0.withEntry(root: root, key: key, body) }
    }

    private func locked<Result: Sendable>(_ body: (borrowing RowCacheShard) -> Result) -> Result { content.withLock { body($0) } }

    /// Changes the pages under the lock and returns the change of their size in bytes.
    @inline(__always) func change(_ body: (inout RowCacheShard) -> Void) -> Int {
      content.withLock { part in
        let count = part.byteCount
        body(&part)
        if !part.retired.isEmpty { part.retired.release(unlessReadBy: readers) }
        return part.byteCount - count
      }
    }
  }

  /// The minimum capacity of a part in bytes, and the maximum number of parts.
  private static let (partLimit, maximumPartCount) = (1 << 20, 16)

  /// The minimum number of updated rows for which grouping them by part pays off.
  private static let sortThreshold = 64

  /// The maximum number of rows that a save enters before it releases the lock of a part: about 20 µs.
  private static let rowsUnderLock = 256

  /// The maximum number of inserted rows of a save that are kept. If there are more, none is kept.
  private static let maximumInserted = 1_000

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

  @inline(__always) private func withEntry<Result: Sendable>(
    _ reference: ObjectReference, _ body: (borrowing RowEntry) -> Result?
  ) -> Result? {
    let root = roots[reference.entity]
    return parts[index(root: root, number: reference.key >> 9)].withEntry(root: root, key: reference.key, body)
  }

  /// Changes rows of one page and evicts pages if the limit is exceeded.
  @inline(__always) private func change(root: Int, number: Int64, _ body: (inout RowCacheShard) -> Void) {
    change(index(root: root, number: number), body)
  }

  /// Changes rows of one part and evicts pages if the limit is exceeded.
  @inline(__always) private func change(_ index: Int, _ body: (inout RowCacheShard) -> Void) {
    let change = parts[index].change { part in
      body(&part)
      #if CIPHERDATA_CHECKS
        // A check visits all 512 entries of a page.
        if part.throttle.isDue(part.pages.count * 64) { check(index, part) }
      #endif
    }
    if change != 0, byteCount.add(change, ordering: .relaxed).newValue > limit { shrink() }
  }

  /// Evicts the oldest pages until the size is within the limit or one page is left.
  @inline(never) private func shrink() {
    while byteCount.load(ordering: .relaxed) > limit {
      var (oldest, creationIndex, pageCount) = (0, Int.max, 0)
      for index in 0..<partCount {
        parts[index].content.withLock { part in
          pageCount += part.pages.count
          guard let page = part.firstPage(), page.creationIndex < creationIndex else { return }
          (oldest, creationIndex) = (index, page.creationIndex)
        }
      }
      guard pageCount > 1 else { return }
      changeAll(of: oldest) { $0.removeFirstPage(createdAt: creationIndex) }
    }
  }

  private func changeAll(of index: Int, _ body: (inout RowCacheShard) -> Void) {
    byteCount.add(parts[index].change(body), ordering: .relaxed)
  }

  /// Whether no rows are cached. Other threads may enter rows at any time.
  package var isEmpty: Bool { byteCount.load(ordering: .relaxed) == 0 }

  /// A number that changes with every save. Pass it to ``insert(_:readAt:)``.
  package var generation: Int { saves.load(ordering: .acquiring) }

  /// Returns whether rows read at a generation may be kept. Must be called under the lock of a part.
  @inline(__always) private func mayKeep(_ generation: Int) -> Bool {
    saves.load(ordering: .acquiring) == generation && suspensions.load(ordering: .acquiring) == 0
  }

  // MARK: Reading

  /// Enters rows that were read, unless a save has happened since.
  package func insert(_ rows: RowList, readAt generation: Int) {
    insert(rows, Self.now()) { mayKeep(generation) }
  }

  /// Enters rows page by page in their order. `mayKeep` is called under the lock of each page.
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
        part.page(root: root, number: number, creationIndex: nextCreationIndex)._withUnsafeGuaranteedRef { page in
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

  /// Enters a row that was read, unless a save has happened since.
  package func insert(_ row: RowImage, readAt generation: Int) {
    enter(row, Self.now(), where: { mayKeep(generation) }) { part, entries in enter(row.base, row.reference, into: entries, of: &part) }
  }

  /// Enters one row. `mayKeep` is called under the lock of its page.
  ///
  /// - Parameter put: Stores the row in an entry and returns the change in size in bytes.
  @inline(__always) private func enter(
    _ row: RowImage, _ now: UInt32, where mayKeep: () -> Bool,
    _ put: (inout RowCacheShard, RowEntries) -> Int
  ) {
    let (root, number) = (roots[row.entityNumber], row.key >> 9)
    change(root: root, number: number) { part in
      guard mayKeep() else { return }
      part.time = now
      part.page(root: root, number: number, creationIndex: nextCreationIndex)._withUnsafeGuaranteedRef { page in
        let entries = part.entriesToChange(of: page)
        part.count(withExtendedLifetime(row) { put(&part, entries) }, in: page)
      }
    }
  }

  /// Stores a row unless the entry contains a newer one.
  ///
  /// - Returns: The change in size in bytes.
  @inline(__always) private func enter(
    _ row: UnsafeRawPointer, _ reference: ObjectReference, into entries: RowEntries, of part: inout RowCacheShard
  ) -> Int {
    let index = Int(reference.key & 511)
    if entries.hasRow(index) {
      let entry = entries[index]
      if entry.pointee.row == row {
        // The row is already cached.
        entry.pointee.renew(part.time)
        return 0
      }
      if entry.pointee.isNewer(than: RowImage.version(row)) { return 0 }
    }
    return part.set(row, at: index, in: entries)
  }

  private func nextCreationIndex() -> Int { creationCount.add(1, ordering: .relaxed).oldValue }

  /// Returns the time of a monotonic clock in hundredths of a second, which can be read in a few nanoseconds. It wraps around after 497
  /// days.
  private static func now() -> UInt32 {
    var time = timespec()
    #if os(Linux)
      clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
    #else
      clock_gettime(CLOCK_MONOTONIC, &time)
    #endif
    return UInt32(truncatingIfNeeded: time.tv_sec * 100 + time.tv_nsec / 10_000_000)
  }

  /// Returns the cached row of an object, or nil if it is not cached or older than a number of seconds.
  package func row(_ reference: ObjectReference, notOlderThan age: Double) -> RowImage? {
    let image = withEntry(reference) { entry in
      // The time is read first: a row that replaces the entry in between is newer.
      Double(Self.now() &- entry.time) <= age * 100 ? entry.image : nil
    }
    return image?.entityNumber == reference.entity ? image : nil
  }

  /// Returns the cached row of an object, or nil if it is not cached.
  package func row(_ reference: ObjectReference) -> RowImage? {
    let image = withEntry(reference) { $0.image }
    // A reference can name another entity of the tree than the row's, which has other slots.
    return image?.entityNumber == reference.entity ? image : nil
  }

  package func hasRow(_ reference: ObjectReference) -> Bool {
    withEntry(reference) { $0.entityNumber } == reference.entity
  }

  /// Returns the current rows of a page.
  package func rowTable(root: Int, number: Int64) -> RowTable? {
    parts[index(root: root, number: number)].content.withLock {
      $0.pages.page(root: root, number: number)?._withUnsafeGuaranteedRef { $0.shared }
    }
  }

  // MARK: Saves

  /// Updates the cache with the rows of a save.
  package func apply(_ request: SaveChangesRequest, _ outcome: SaveOutcome = SaveOutcome()) {
    saves.add(1, ordering: .sequentiallyConsistent)
    guard suspensions.load(ordering: .acquiring) == 0 else {
      for update in request.updated { removeRow(update.row.reference) }
      for deleted in request.deleted { removeRow(deleted.reference) }
      for reference in outcome.refreshed.references + outcome.outdated { removeRow(reference) }
      return
    }
    let now = Self.now()
    // The rows of a large import would evict rows that are in use, and are rarely read again through the cache.
    if request.inserted.count <= Self.maximumInserted { insert(request.inserted, now) { true } }
    set(request.updated, now)
    for row in outcome.refreshed { set(row, now) }
    for reference in outcome.outdated { removeRow(reference) }
    for deleted in request.deleted { removeRow(deleted.reference) }
  }

  /// Enters the rows of updates, grouped by part, in batches that limit the time under a lock.
  private func set(_ updates: [SaveChangesRequest.Update], _ now: UInt32) {
    if updates.count < Self.sortThreshold {
      for update in updates { set(update.row, now) }
      return
    }
    // The request keeps the rows alive.
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
          part.set(rows[start..<end], roots: roots, creationIndex: nextCreationIndex)
        }
      }
    }
  }

  private func set(_ row: RowImage, _ now: UInt32) {
    enter(row, now, where: { true }) { part, entries in part.set(row.base, at: Int(row.key & 511), in: entries) }
  }

  /// Removes rows, for example after a conflict. Reads that started earlier do not enter their rows.
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

  /// Removes all rows of entities, without those of their subentities.
  package func removeRows(ofEntities entities: Set<Int>) {
    if entities.isEmpty { return }
    saves.add(1, ordering: .sequentiallyConsistent)
    let trees = Set(entities.map { roots[$0] })
    for index in 0..<partCount { changeAll(of: index) { $0.removeRows(ofEntities: entities, trees: trees) } }
  }

  /// Suspends the cache at the beginning of a transaction. Until ``resume()``, no new rows are kept, and rows that the transaction changes
  /// are removed.
  package func suspend() { suspensions.add(1, ordering: .sequentiallyConsistent) }

  /// Whether a transaction is running and no new rows are kept.
  package var isSuspended: Bool { suspensions.load(ordering: .acquiring) > 0 }

  /// Resumes the cache at the end of a transaction.
  package func resume() {
    // The counter is incremented first, so that reads during the transaction do not enter their rows afterwards.
    saves.add(1, ordering: .sequentiallyConsistent)
    suspensions.subtract(1, ordering: .sequentiallyConsistent)
  }

  package func removeAll() {
    saves.add(1, ordering: .sequentiallyConsistent)
    for index in 0..<partCount { changeAll(of: index) { $0.removeAll() } }
  }
}

#if CIPHERDATA_CHECKS
  extension RowCache {
    /// Checks the whole cache. No other thread may change it at the same time.
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

    private func check(_ index: Int, _ part: borrowing RowCacheShard) {
      part._checkInvariants(roots: roots, kinds: kinds) { self.index(root: $0.root, number: $0.number) == index }
    }
  }
#endif

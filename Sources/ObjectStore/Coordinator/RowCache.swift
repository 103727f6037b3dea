// RowCache: a store's rows as they were last read or saved, shared by all contexts.
import Foundation
package import ObjectModel
import Synchronization

/// A store's rows as they were last read or saved. Bounded: when it holds more than its limit, the pages that came first go.
package final class RowCache: Sendable {
  private struct State: ~Copyable {
    var pages: RowPages
    /// The pages in the order in which they came; nil for those that went.
    var order: [RowPage?] = []
    var firstLive = 0
    var byteCount = 0
    /// Grows with each save, so that a reader that began before one does not put old rows over new ones.
    var generation = 0
    /// The time of the work under way.
    var time: UInt32 = 0
    /// Transactions under way, during which nothing new is kept.
    var suspensions = 0
    #if CIPHERDATA_CHECKS
      var pacer = CheckPacer()
    #endif

    init(treeCount: Int) { pages = RowPages(treeCount: treeCount) }

    /// The page of a number, made if there is none.
    // `Unmanaged`: pages stay under the cache's lock, which every caller has.
    mutating func page(root: Int, number: Int64) -> Unmanaged<RowPage> {
      if let page = pages.page(root: root, number: number) { return page }
      let page = RowPage(root: root, number: number)
      pages.insert(page)
      byteCount += RowPage.ownSize
      order.append(page)
      // `order` and `pages` hold it.
      return Unmanaged.passUnretained(page)
    }

    /// The entry of a key; nil when there is no page for it.
    @inline(__always) func entry(root: Int, key: Int64) -> UnsafeMutablePointer<RowEntry>? {
      pages.page(root: root, number: key >> 9)?._withUnsafeGuaranteedRef { $0.entries + Int(key & 511) }
    }

    mutating func set(_ image: RowImage, at index: Int, in page: RowPage) {
      let size = image.size
      let change = size - Int(page.entries[index].size)
      page.entries[index] = RowEntry(
        image: image, version: UInt32(truncatingIfNeeded: image.version), size: UInt32(truncatingIfNeeded: size), time: time)
      page.byteCount += change
      byteCount += change
    }

    mutating func clear(_ index: Int, in page: RowPage) {
      let change = Int(page.entries[index].size)
      page.entries[index] = RowEntry()
      page.byteCount -= change
      byteCount -= change
    }

    mutating func shrink(to limit: Int) {
      while byteCount > limit, firstLive < order.count - 1 {
        if let page = order[firstLive] {
          byteCount -= page.byteCount
          pages.remove(page)
          order[firstLive] = nil
        }
        firstLive += 1
      }
      if firstLive > 4096 {
        order.removeFirst(firstLive)
        firstLive = 0
      }
    }
  }

  private let roots: [Int]
  private let limit: Int
  private let state: Mutex<State>
  #if CIPHERDATA_CHECKS
    private let kinds: [[SlotKind]]
  #endif

  /// An empty cache.
  ///
  /// - Parameter byteLimit: The bytes of rows that it may hold.
  package init(model: CompiledModel, byteLimit: Int) {
    roots = model.entities.map(\.root)
    limit = byteLimit
    state = Mutex(State(treeCount: model.entities.count))
    #if CIPHERDATA_CHECKS
      kinds = model.entities.map { $0.slots.map(\.kind) }
    #endif
  }

  /// A number that changes with every save; pass it to ``insert(_:readAt:)``.
  package var generation: Int { state.withLock { $0.generation } }

  /// Keeps rows that were read, unless a save came between.
  package func insert(_ rows: RowList, readAt generation: Int) {
    guard !rows.isEmpty else { return }
    state.withLock { state in
      guard state.generation == generation, state.suspensions == 0 else { return }
      state.time = Self.now()
      insert(rows, into: &state)
    }
  }

  /// Keeps one row that was read, unless a save came between.
  package func insert(_ row: RowImage, readAt generation: Int) {
    state.withLock { state in
      guard state.generation == generation, state.suspensions == 0 else { return }
      state.time = Self.now()
      enter(row, into: &state)
      state.shrink(to: limit)
      noteChange(of: &state)
    }
  }

  private func insert(_ rows: RowList, into state: inout State) {
    for row in rows { enter(row, into: &state) }
    state.shrink(to: limit)
    noteChange(of: &state)
  }

  /// Puts a row in unless a newer one is there.
  @inline(__always) private func enter(_ row: RowImage, into state: inout State) {
    state.page(root: roots[row.entityNumber], number: row.key >> 9)._withUnsafeGuaranteedRef { page in
      let index = Int(row.key & 511)
      if !page.entries[index].isNewer(than: row.version) { state.set(row, at: index, in: page) }
    }
  }

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
    let root = roots[reference.entity]
    return state.withLock { state in
      guard let entry = state.entry(root: root, key: reference.key), let image = entry.pointee.image else { return nil }
      return image.entityNumber == reference.entity && Double(Self.now() &- entry.pointee.time) <= age * 100 ? image : nil
    }
  }

  /// The row of an object; nil when it is not at hand.
  package func row(_ reference: ObjectReference) -> RowImage? {
    let root = roots[reference.entity]
    // A reference may name another entity of the tree than the row: its slots are others.
    return state.withLock {
      guard let image = $0.entry(root: root, key: reference.key)?.pointee.image, image.entityNumber == reference.entity else { return nil }
      return image
    }
  }

  /// Whether the row of an object is at hand.
  package func hasRow(_ reference: ObjectReference) -> Bool {
    let root = roots[reference.entity]
    return state.withLock {
      guard let row = $0.entry(root: root, key: reference.key)?.pointee.image?.base else { return false }
      return Int(row.load(fromByteOffset: 4, as: UInt16.self)) == reference.entity
    }
  }

  /// Takes over what a save wrote.
  package func apply(_ request: SaveChangesRequest, _ outcome: SaveOutcome = SaveOutcome()) {
    state.withLock { state in
      state.generation += 1
      guard state.suspensions == 0 else {
        for update in request.updated { remove(update.row.reference, from: &state) }
        for deleted in request.deleted { remove(deleted.reference, from: &state) }
        for reference in outcome.refreshed.references + outcome.outdated { remove(reference, from: &state) }
        return
      }
      state.time = Self.now()
      insert(request.inserted, into: &state)
      for update in request.updated { set(update.row, in: &state) }
      for row in outcome.refreshed { set(row, in: &state) }
      for reference in outcome.outdated { remove(reference, from: &state) }
      for deleted in request.deleted { remove(deleted.reference, from: &state) }
      state.shrink(to: limit)
      noteChange(of: &state)
    }
  }

  private func set(_ row: RowImage, in state: inout State) {
    let page = state.page(root: roots[row.entityNumber], number: row.key >> 9)
    page._withUnsafeGuaranteedRef { state.set(row, at: Int(row.key & 511), in: $0) }
  }

  /// Forgets rows, as after a conflict. Reads that began before keep nothing.
  package func remove(_ references: some Sequence<ObjectReference>) {
    state.withLock { state in
      state.generation += 1
      for reference in references { remove(reference, from: &state) }
      noteChange(of: &state)
    }
  }

  private func remove(_ reference: ObjectReference, from state: inout State) {
    guard let page = state.pages.page(root: roots[reference.entity], number: reference.key >> 9) else { return }
    page._withUnsafeGuaranteedRef { state.clear(Int(reference.key & 511), in: $0) }
  }

  /// A transaction begins: until ``resume()`` nothing new is kept, and rows that it changes are forgotten.
  package func suspend() { state.withLock { $0.suspensions += 1 } }

  /// Whether a transaction is under way, and so nothing new is kept.
  package var isSuspended: Bool { state.withLock { $0.suspensions > 0 } }

  /// A transaction has ended.
  package func resume() {
    state.withLock { state in
      state.suspensions -= 1
      state.generation += 1
    }
  }

  /// Forgets everything.
  package func removeAll() {
    state.withLock { state in
      let (generation, suspensions) = (state.generation, state.suspensions)
      state = State(treeCount: roots.count)
      state.generation = generation + 1
      state.suspensions = suspensions
    }
  }

  /// What was changed is whole again.
  @inline(__always) private func noteChange(of state: inout State) {
    #if CIPHERDATA_CHECKS
      // A page has 512 places to look at.
      if state.pacer.isDue(state.pages.count * 64) { _checkInvariants(of: state) }
    #endif
  }
}

#if CIPHERDATA_CHECKS
  extension RowCache {
    /// Checks the cache as it is now.
    package func _checkInvariants() { state.withLock { _checkInvariants(of: $0) } }

    /// Every page is in the order once, bytes are counted as they are, the limit is kept, and rows lie under their own keys.
    private func _checkInvariants(of state: borrowing State) {
      let order = state.order.compactMap { $0 }
      checkInvariant(order.count == state.pages.count, "\(state.pages.count) pages, \(order.count) in order")
      checkInvariant(state.suspensions >= 0, "transactions have ended that never began")
      var byteCount = 0
      for page in order {
        // `Unmanaged` for the sake of the addresses, which are compared.
        let isFound = state.pages.page(root: page.root, number: page.number)?.toOpaque() == Unmanaged.passUnretained(page).toOpaque()
        checkInvariant(isFound, "page \(page.number) of tree \(page.root) is not found")
        var size = RowPage.ownSize
        for index in 0..<512 {
          let entry = page.entries[index]
          size += Int(entry.size)
          guard let image = entry.image else {
            checkInvariant(entry.size == 0, "an empty place counts \(entry.size) bytes")
            continue
          }
          let isItsPlace = image.key == page.number << 9 | Int64(index) && roots[image.entityNumber] == page.root
          checkInvariant(isItsPlace, "row \(image.key) lies elsewhere")
          checkInvariant(entry.version == UInt32(truncatingIfNeeded: image.version), "row \(image.key) is of another version")
          checkInvariant(Int(entry.size) == image.size, "row \(image.key) has \(image.size) bytes, and counts \(entry.size)")
          image._checkInvariants(kinds: kinds[image.entityNumber])
        }
        checkInvariant(page.byteCount == size, "a page of \(size) bytes counts \(page.byteCount)")
        byteCount += size
      }
      let counted = state.byteCount
      checkInvariant(counted == byteCount, "\(byteCount) bytes are counted as \(counted)")
      checkInvariant(byteCount <= limit || order.count <= 1, "\(byteCount) bytes are more than the limit, \(limit)")
    }
  }
#endif

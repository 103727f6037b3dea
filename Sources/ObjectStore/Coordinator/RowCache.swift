// RowCache: a store's rows as they were last read or saved, shared by all contexts.
package import ObjectModel
import Synchronization

/// A store's rows as they were last read or saved. Bounded: when it holds more than its limit, the pages that came first go.
package final class RowCache: Sendable {
  /// 512 neighbouring keys of one entity tree.
  private final class Page {
    /// 512 entries. Memory of its own instead of an array: a large fetch enters each row here, and pays for every check.
    let entries: UnsafeMutablePointer<Entry>
    // Read and written under the cache's lock only, one access at a time.
    @exclusivity(unchecked) var byteCount = Page.ownSize

    init() {
      entries = UnsafeMutablePointer.allocate(capacity: 512)
      entries.initialize(repeating: Entry(), count: 512)
    }

    deinit {
      entries.deinitialize(count: 512)
      entries.deallocate()
    }

    /// What a page takes beside its rows. Rows read here and there have nearly a page each, so it must count.
    static var ownSize: Int { 512 * MemoryLayout<Entry>.stride + 128 }
  }

  /// A row, and what of it is asked when another one comes: its own memory may lie cold.
  private struct Entry {
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

  private struct PageKey: Hashable {
    let root: Int
    let number: Int64
  }

  private struct State {
    var pages: [PageKey: Page] = [:]
    var order: [PageKey] = []
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

    mutating func page(_ key: PageKey) -> Page {
      if let page = pages[key] { return page }
      let page = Page()
      pages[key] = page
      byteCount += Page.ownSize
      order.append(key)
      return page
    }

    mutating func set(_ image: RowImage, at index: Int, in page: Page) {
      let size = image.size
      let change = size - Int(page.entries[index].size)
      page.entries[index] = Entry(
        image: image, version: UInt32(truncatingIfNeeded: image.version), size: UInt32(truncatingIfNeeded: size), time: time)
      page.byteCount += change
      byteCount += change
    }

    mutating func clear(_ index: Int, in page: Page) {
      let change = Int(page.entries[index].size)
      page.entries[index] = Entry()
      page.byteCount -= change
      byteCount -= change
    }

    mutating func shrink(to limit: Int) {
      while byteCount > limit, firstLive < order.count - 1 {
        if let page = pages.removeValue(forKey: order[firstLive]) { byteCount -= page.byteCount }
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
  private let state = Mutex(State())
  #if CIPHERDATA_CHECKS
    private let kinds: [[SlotKind]]
  #endif

  /// An empty cache.
  ///
  /// - Parameter byteLimit: The bytes of rows that it may hold.
  package init(model: CompiledModel, byteLimit: Int) {
    roots = model.entities.map(\.root)
    limit = byteLimit
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

  private func insert(_ rows: RowList, into state: inout State) {
    var lastKey = PageKey(root: -1, number: -1)
    var page: Page?
    for image in rows {
      let key = PageKey(root: roots[image.entityNumber], number: image.key >> 9)
      if key != lastKey || page == nil {
        page = state.page(key)
        lastKey = key
      }
      guard let page else { continue }
      let index = Int(image.key & 511)
      if page.entries[index].isNewer(than: image.version) { continue }
      state.set(image, at: index, in: page)
    }
    state.shrink(to: limit)
    noteChange(of: &state)
  }

  private static let start = ContinuousClock.now

  /// Hundredths of a second since the first cache was used: 497 days until they begin anew.
  private static func now() -> UInt32 {
    let elapsed = (ContinuousClock.now - start).components
    return UInt32(truncatingIfNeeded: elapsed.seconds * 100 + elapsed.attoseconds / 10_000_000_000_000_000)
  }

  /// The row of an object; nil when it is not at hand or older than a number of seconds.
  package func row(_ reference: ObjectReference, notOlderThan age: Double) -> RowImage? {
    let key = PageKey(root: roots[reference.entity], number: reference.key >> 9)
    let index = Int(reference.key & 511)
    return state.withLock { state in
      guard let page = state.pages[key], let image = page.entries[index].image else { return nil }
      return image.entityNumber == reference.entity && Double(Self.now() &- page.entries[index].time) <= age * 100 ? image : nil
    }
  }

  /// The row of an object; nil when it is not at hand.
  package func row(_ reference: ObjectReference) -> RowImage? {
    let key = PageKey(root: roots[reference.entity], number: reference.key >> 9)
    // A reference may name another entity of the tree than the row: its slots are others.
    return state.withLock {
      guard let image = $0.pages[key]?.entries[Int(reference.key & 511)].image, image.entityNumber == reference.entity else { return nil }
      return image
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
    let page = state.page(PageKey(root: roots[row.entityNumber], number: row.key >> 9))
    state.set(row, at: Int(row.key & 511), in: page)
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
    let key = PageKey(root: roots[reference.entity], number: reference.key >> 9)
    guard let page = state.pages[key] else { return }
    state.clear(Int(reference.key & 511), in: page)
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
      state = State()
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
    private func _checkInvariants(of state: State) {
      let order = state.order[state.firstLive...]
      let isOrder = Set(order) == Set(state.pages.keys) && order.count == state.pages.count
      checkInvariant(isOrder, "\(state.pages.count) pages, \(order.count) in order")
      checkInvariant(state.suspensions >= 0, "transactions have ended that never began")
      var byteCount = 0
      for (key, page) in state.pages {
        var size = Page.ownSize
        for index in 0..<512 {
          let entry = page.entries[index]
          size += Int(entry.size)
          guard let image = entry.image else {
            checkInvariant(entry.size == 0, "an empty place counts \(entry.size) bytes")
            continue
          }
          let isItsPlace = image.key == key.number << 9 | Int64(index) && roots[image.entityNumber] == key.root
          checkInvariant(isItsPlace, "row \(image.key) lies elsewhere")
          checkInvariant(entry.version == UInt32(truncatingIfNeeded: image.version), "row \(image.key) is of another version")
          checkInvariant(Int(entry.size) == image.size, "row \(image.key) has \(image.size) bytes, and counts \(entry.size)")
          image._checkInvariants(kinds: kinds[image.entityNumber])
        }
        checkInvariant(page.byteCount == size, "a page of \(size) bytes counts \(page.byteCount)")
        byteCount += size
      }
      checkInvariant(state.byteCount == byteCount, "\(byteCount) bytes are counted as \(state.byteCount)")
      checkInvariant(byteCount <= limit || order.count <= 1, "\(byteCount) bytes are more than the limit, \(limit)")
    }
  }
#endif

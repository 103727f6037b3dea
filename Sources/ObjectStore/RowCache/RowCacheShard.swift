import ObjectModel

/// The pages of a row cache that share a lock: those whose numbers have the same remainder. All mutations require the lock.
struct RowCacheShard: ~Copyable {
  private(set) var pages: RowPages
  /// Objects that were removed from entries and tables, kept alive for readers without the lock.
  var retired = RetiredObjects()
  /// The pages in the order of their creation; nil for evicted pages.
  private var order: [RowPage?] = []
  private var firstLive = 0
  private(set) var byteCount = 0
  var time: UInt32 = 0
  #if CIPHERDATA_CHECKS
    var throttle = CheckThrottle()
  #endif

  init(treeCount: Int, shift: Int) { pages = RowPages(treeCount: treeCount, shift: shift) }

  /// Returns the page for a number, creating it if necessary.
  ///
  /// - Parameter creationIndex: Returns the position of a new page in the creation order of all parts.
  // `Unmanaged`: pages stay alive under the part's lock, which every caller holds.
  mutating func page(root: Int, number: Int64, creationIndex: () -> Int) -> Unmanaged<RowPage> {
    if let page = pages.page(root: root, number: number) { return page }
    let page = RowPage(root: root, number: number, creationIndex: creationIndex())
    if let old = pages.insert(page) { retired.append(old) }
    byteCount += RowPage.ownSize
    order.append(page)
    // `order` and `pages` retain it.
    return Unmanaged.passUnretained(page)
  }

  borrowing func withEntry<Result>(root: Int, key: Int64, _ body: (borrowing RowEntry) -> Result?) -> Result? {
    pages.page(root: root, number: key >> 9)?._withUnsafeGuaranteedRef { $0.entries.withEntry(at: Int(key & 511), body) } ?? nil
  }

  /// Returns the entries of a page for a mutation, copied first if they are shared.
  @inline(__always) mutating func entriesToChange(of page: RowPage) -> RowEntries {
    if let previous = page.separate() { retired.append(previous) }
    return page.entries
  }

  /// Stores a row in an entry and retains it.
  ///
  /// - Returns: The change in size in bytes.
  @inline(__always) mutating func set(_ row: UnsafeRawPointer, at index: Int, in entries: RowEntries) -> Int {
    set(row, at: index, in: entries, sizeOfPrevious: RowImage.size)
  }

  /// - Parameter sizeOfPrevious: Returns the size of the previous row in bytes.
  @inline(__always) private mutating func set(
    _ row: UnsafeRawPointer, at index: Int, in entries: RowEntries, sizeOfPrevious: (UnsafeRawPointer) -> Int
  ) -> Int {
    var change = RowImage.size(row)
    RowImage.retain(row)
    if let previous = entries.set(row, time: time, at: index) {
      change -= sizeOfPrevious(previous)
      retire(previous)
    }
    return change
  }

  /// The entry for a row, and its previous row.
  private struct Location {
    // Pages stay alive while the part is locked.
    let page: Unmanaged<RowPage>
    let entries: RowEntries
    let index: Int
    let previous: UnsafeRawPointer?
    var previousSize = 0
  }

  /// The number of entries that are prefetched together.
  private static var insertBatchSize: Int { 16 }

  /// Stores rows in their entries and retains them.
  ///
  /// - Parameter creationIndex: Returns the position of a new page in the creation order of all parts.
  mutating func set(_ rows: ArraySlice<UnsafeRawPointer>, roots: [Int], creationIndex: () -> Int) {
    // The entries and their previous rows are probably not in the processor's caches. Loads for several rows overlap as long as there is no
    // reference counting in between.
    withUnsafeTemporaryAllocation(of: Location.self, capacity: Self.insertBatchSize) { locations in
      for start in stride(from: rows.startIndex, to: rows.endIndex, by: Self.insertBatchSize) {
        let some = rows[start..<min(start + Self.insertBatchSize, rows.endIndex)]
        for position in some.indices {
          locations.initializeElement(at: position - start, to: location(of: some[position], roots, creationIndex))
        }
        for index in 0..<some.count { locations[index].previousSize = locations[index].previous.map(RowImage.size) ?? 0 }
        for position in some.indices { set(some[position], at: locations[position - start]) }
      }
    }
  }

  @inline(__always) private mutating func location(of row: UnsafeRawPointer, _ roots: [Int], _ creationIndex: () -> Int) -> Location {
    let reference = RowImage.reference(row)
    let page = page(root: roots[reference.entity], number: reference.key >> 9, creationIndex: creationIndex)
    return page._withUnsafeGuaranteedRef {
      let (entries, index) = (entriesToChange(of: $0), Int(reference.key & 511))
      return Location(page: page, entries: entries, index: index, previous: entries.withEntry(at: index) { $0.row })
    }
  }

  @inline(__always) private mutating func set(_ row: UnsafeRawPointer, at location: Location) {
    // The previous row differs from the prefetched one if a row occurs twice.
    let change = set(
      row, at: location.index, in: location.entries, sizeOfPrevious: { $0 == location.previous ? location.previousSize : RowImage.size($0) }
    )
    location.page._withUnsafeGuaranteedRef { count(change, in: $0) }
  }

  @inline(__always) mutating func count(_ change: Int, in page: RowPage) {
    page.byteCount += change
    byteCount += change
  }

  mutating func clear(_ index: Int, in page: RowPage) {
    guard page.entries.hasRow(index), let row = entriesToChange(of: page).clear(index) else { return }
    count(-RowImage.size(row), in: page)
    retire(row)
  }

  /// Retires a row's chunk. Neighboring rows are usually removed together, so their chunk is retired once.
  @inline(__always) private mutating func retire(_ row: UnsafeRawPointer) {
    retired.append(RowImage.chunk(of: row).takeRetainedValue())  // takes over the reference of the entry
  }

  mutating func firstPage() -> RowPage? {
    while firstLive < order.count {
      if let page = order[firstLive] { return page }
      firstLive += 1
    }
    return nil
  }

  /// Evicts the oldest page, if it is the one created at the given turn.
  mutating func removeFirstPage(createdAt creationIndex: Int) {
    guard let page = firstPage(), page.creationIndex == creationIndex else { return }
    byteCount -= page.byteCount
    pages.remove(page)
    retired.append(page)
    order[firstLive] = nil
    firstLive += 1
    if firstLive > 256 {
      order.removeFirst(firstLive)
      firstLive = 0
    }
  }

  /// Removes the rows of entities, which are in the given trees.
  mutating func removeRows(ofEntities entities: Set<Int>, trees: Set<Int>) {
    for case let page? in order[firstLive...] where trees.contains(page.root) {
      for index in 0..<RowTable.size where page.entries.hasRow(index) {
        let entity = page.entries.withEntry(at: index) { $0.row.map { RowImage.reference($0).entity } } ?? nil
        if let entity, entities.contains(entity) { clear(index, in: page) }
      }
    }
  }

  mutating func removeAll() {
    while let page = firstPage() { removeFirstPage(createdAt: page.creationIndex) }
  }
}

#if CIPHERDATA_CHECKS
  extension RowCacheShard {
    /// Checks that every page is in the order once, sizes are correct, and rows are stored under their own keys.
    func _checkInvariants(roots: [Int], kinds: [[SlotKind]], isOwn: (RowPage) -> Bool) {
      let order = order.compactMap { $0 }
      let pageCount = pages.count
      checkInvariant(order.count == pageCount, "\(pageCount) pages, \(order.count) in order")
      var sum = 0
      for page in order {
        // `Unmanaged`: only the addresses are compared.
        let isFound = pages.page(root: page.root, number: page.number)?.toOpaque() == Unmanaged.passUnretained(page).toOpaque()
        checkInvariant(isFound && isOwn(page), "page \(page.number) of tree \(page.root) is not found")
        var size = RowPage.ownSize
        for index in 0..<RowTable.size {
          let version = page.entries[index].pointee.version
          let image = page.entries[index].pointee.image
          checkInvariant(page.entries.hasRow(index) == (image != nil), "the bit of row \(index) says otherwise")
          guard let image else { continue }
          size += image.size
          let isCorrectLocation = image.key == page.number << 9 | Int64(index) && roots[image.entityNumber] == page.root
          checkInvariant(isCorrectLocation, "row \(image.key) lies elsewhere")
          checkInvariant(version == UInt32(truncatingIfNeeded: image.version), "row \(image.key) is of another version")
          image._checkInvariants(kinds: kinds[image.entityNumber])
        }
        checkInvariant(page.byteCount == size, "a page of \(size) bytes counts \(page.byteCount)")
        sum += size
      }
      let counted = byteCount
      checkInvariant(counted == sum, "\(sum) bytes are counted as \(counted)")
    }
  }
#endif

// RowCachePart: the pages of a row cache that are under one lock.
import ObjectModel

/// The pages of a row cache whose numbers leave the same remainder. Whoever changes one has the lock of its part.
struct RowCachePart: ~Copyable {
  private(set) var pages: RowPages
  /// What was taken out of entries and tables, for those who are reading without the lock.
  ///
  /// A reader counts himself before he loads an address, and takes himself off when he has a reference of his own, or needs none. Both are changes of one
  /// number. Whoever changes the part looks at that number after what he has taken out cannot be found any more, by a change of it too: where it is 0,
  /// those who came before have gone, and those who come afterwards see what he has written. Then all of this may be released.
  private(set) var retired: [AnyObject] = []
  /// The pages in the order in which they came; nil for those that went.
  private var order: [RowPage?] = []
  private var firstLive = 0
  private(set) var byteCount = 0
  /// The time of the work under way.
  var time: UInt32 = 0
  #if CIPHERDATA_CHECKS
    var pacer = CheckPacer()
  #endif

  init(treeCount: Int, shift: Int) { pages = RowPages(treeCount: treeCount, shift: shift) }

  /// The page of a number, made if there is none.
  ///
  /// - Parameter turn: Gives the place of a new page among those of all parts.
  // `Unmanaged`: pages stay under the part's lock, which every caller has.
  mutating func page(root: Int, number: Int64, turn: () -> Int) -> Unmanaged<RowPage> {
    if let page = pages.page(root: root, number: number) { return page }
    let page = RowPage(root: root, number: number, turn: turn())
    if let old = pages.insert(page) { retired.append(old) }
    byteCount += RowPage.ownSize
    order.append(page)
    // `order` and `pages` hold it.
    return Unmanaged.passUnretained(page)
  }

  /// Looks at the entry of a key under the lock.
  borrowing func look<Result>(root: Int, key: Int64, _ body: (borrowing RowEntry) -> Result?) -> Result? {
    pages.page(root: root, number: key >> 9)?._withUnsafeGuaranteedRef { $0.entries.look(at: Int(key & 511), body) } ?? nil
  }

  /// The entries of a page, to be changed.
  @inline(__always) mutating func entriesToChange(of page: RowPage) -> RowEntries {
    if let former = page.separate() { retired.append(former) }
    return page.entries
  }

  /// Puts a row into its place, which is held from now on.
  ///
  /// - Returns: By how many bytes the rows have grown.
  @inline(__always) mutating func set(_ row: UnsafeRawPointer, at index: Int, in entries: RowEntries) -> Int {
    set(row, at: index, in: entries, sizeOfFormer: RowImage.size)
  }

  /// - Parameter sizeOfFormer: Gives the bytes of the row that lay there.
  @inline(__always) private mutating func set(
    _ row: UnsafeRawPointer, at index: Int, in entries: RowEntries, sizeOfFormer: (UnsafeRawPointer) -> Int
  ) -> Int {
    var change = RowImage.size(row)
    RowImage.hold(row)
    if let former = entries.set(row, time: time, at: index) {
      change -= sizeOfFormer(former)
      retire(former)
    }
    return change
  }

  /// Where a row goes, and what lies there.
  private struct Place {
    // A page stays as long as the part is locked.
    let page: Unmanaged<RowPage>
    let entries: RowEntries
    let index: Int
    let former: UnsafeRawPointer?
    var formerSize = 0
  }

  /// How many places are looked at together.
  private static var placesAtOnce: Int { 16 }

  /// Puts rows into their places, which are held from now on.
  ///
  /// - Parameters:
  ///   - roots: The root of each entity.
  ///   - turn: Gives the place of a new page among those of all parts.
  mutating func set(_ rows: ArraySlice<UnsafeRawPointer>, roots: [Int], turn: () -> Int) {
    // The places and the rows in them have been left alone for long, and lie far from the processor. It fetches those of some rows side by side, as long as no
    // reference is counted between them.
    withUnsafeTemporaryAllocation(of: Place.self, capacity: Self.placesAtOnce) { places in
      for start in stride(from: rows.startIndex, to: rows.endIndex, by: Self.placesAtOnce) {
        let some = rows[start..<min(start + Self.placesAtOnce, rows.endIndex)]
        for position in some.indices { places.initializeElement(at: position - start, to: place(of: some[position], roots, turn)) }
        for index in 0..<some.count { places[index].formerSize = places[index].former.map(RowImage.size) ?? 0 }
        for position in some.indices { set(some[position], at: places[position - start]) }
      }
    }
  }

  @inline(__always) private mutating func place(of row: UnsafeRawPointer, _ roots: [Int], _ turn: () -> Int) -> Place {
    let reference = RowImage.reference(row)
    let page = page(root: roots[reference.entity], number: reference.key >> 9, turn: turn)
    return page._withUnsafeGuaranteedRef {
      let (entries, index) = (entriesToChange(of: $0), Int(reference.key & 511))
      return Place(page: page, entries: entries, index: index, former: entries.look(at: index) { $0.row })
    }
  }

  @inline(__always) private mutating func set(_ row: UnsafeRawPointer, at place: Place) {
    // Another one lies there where a row came twice.
    let change = set(row, at: place.index, in: place.entries, sizeOfFormer: { $0 == place.former ? place.formerSize : RowImage.size($0) })
    place.page._withUnsafeGuaranteedRef { count(change, in: $0) }
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

  /// Rows that lay side by side come out together, as a rule: their chunk is kept once.
  @inline(__always) private mutating func retire(_ row: UnsafeRawPointer) {
    let chunk = RowImage.chunk(of: row).takeRetainedValue()  // the reference that the entry had
    if retired.last !== chunk { retired.append(chunk) }
  }

  /// Releases what was taken out: nobody who reads without the lock can have it.
  mutating func releaseRetired() { retired.removeAll(keepingCapacity: retired.count <= 512) }

  /// The page that came first, of those that are still there.
  mutating func firstPage() -> RowPage? {
    while firstLive < order.count {
      if let page = order[firstLive] { return page }
      firstLive += 1
    }
    return nil
  }

  /// Lets the page go that came first, if it is the one that came at a turn.
  mutating func removeFirstPage(cameAt turn: Int) {
    guard let page = firstPage(), page.turn == turn else { return }
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

  /// Lets all pages go.
  mutating func removeAll() {
    while let page = firstPage() { removeFirstPage(cameAt: page.turn) }
  }
}

#if CIPHERDATA_CHECKS
  extension RowCachePart {
    /// Every page is in the order once, bytes are counted as they are, and rows lie under their own keys.
    ///
    /// - Parameters:
    ///   - roots: The root of each entity.
    ///   - kinds: The kinds of each entity's slots.
    ///   - isOwn: Whether a page belongs to this part.
    func _checkInvariants(roots: [Int], kinds: [[SlotKind]], isOwn: (RowPage) -> Bool) {
      let order = order.compactMap { $0 }
      let pageCount = pages.count
      checkInvariant(order.count == pageCount, "\(pageCount) pages, \(order.count) in order")
      var sum = 0
      for page in order {
        // `Unmanaged` for the sake of the addresses, which are compared.
        let isFound = pages.page(root: page.root, number: page.number)?.toOpaque() == Unmanaged.passUnretained(page).toOpaque()
        checkInvariant(isFound && isOwn(page), "page \(page.number) of tree \(page.root) is not found")
        var size = RowPage.ownSize
        for index in 0..<RowTable.size {
          let version = page.entries[index].pointee.version
          let image = page.entries[index].pointee.image
          checkInvariant(page.entries.hasRow(index) == (image != nil), "the bit of row \(index) says otherwise")
          guard let image else { continue }
          size += image.size
          let isItsPlace = image.key == page.number << 9 | Int64(index) && roots[image.entityNumber] == page.root
          checkInvariant(isItsPlace, "row \(image.key) lies elsewhere")
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

// IdentityMap: from keys to living objects, without retaining them.
import ObjectModel

/// From the keys of one entity tree to its living objects, unretained: an object clears its own entry when it dies.
///
/// Pages of 512 entries are found by `key >> 9`: in an array while keys are near the first one, else in a dictionary. A look-up that hits costs a
/// few nanoseconds.
struct IdentityMap {
  // An object takes its entry out before it goes, so that all entries are alive.
  private typealias Page = UnsafeMutablePointer<Unmanaged<ManagedObject>?>
  private static let pageSize = 512
  /// 2²⁴ keys lie in the array, which then takes at most 256 KiB.
  private static let greatestDenseCount: Int64 = 1 << 15

  // Memory of its own, so that a look-up goes from here to the page: an array would be one more load on the way of each step through a graph.
  private var dense: UnsafeMutablePointer<Page?>?
  /// How many there are.
  private var denseCount: Int64 = 0
  /// The number of the array's first page. Keys of new objects are the process's, and begin anywhere.
  private var base: Int64 = 0
  private var denseCapacity = 0
  private var sparse: [Int64: Page] = [:]
  /// An empty page, for the next that is needed.
  private var spare: Page?
  private(set) var count = 0
  #if CIPHERDATA_CHECKS
    private var pacer = CheckPacer()
  #endif

  /// Where the array has a page or a place for it; nil where it does not go so far.
  @inline(__always) private func densePlace(_ number: Int64) -> UnsafeMutablePointer<Page?>? {
    let index = number &- base
    guard let dense, index >= 0, index < denseCount else { return nil }
    return dense + Int(index)
  }

  @inline(__always) private func page(_ number: Int64) -> Page? {
    if let place = densePlace(number) { return place.pointee }
    return sparse.isEmpty ? nil : sparse[number]
  }

  /// The living object of a key; nil when there is none.
  @inline(__always) func object(_ key: Int64) -> ManagedObject? {
    guard let entry = page(key >> 9)?[Int(key & 511)] else { return nil }
    return entry.takeUnretainedValue()
  }

  /// The living object of a key as ``object(_:)`` gives it, not retained.
  // All entries are alive, and whoever asks is done with it before anybody lets go of anything: `Unmanaged` is what lies here.
  @inline(__always) func unretainedObject(_ key: Int64) -> Unmanaged<ManagedObject>? { page(key >> 9)?[Int(key & 511)] }

  /// The living object of a key that lies in the array; nil also where more is to be looked at.
  // Not retained for the reason above.
  @inline(__always) func objectNearby(_ key: Int64) -> Unmanaged<ManagedObject>? {
    densePlace(key >> 9)?.pointee?[Int(key & 511)] ?? nil
  }

  /// Registers an object.
  mutating func insert(_ object: ManagedObject, key: Int64) {
    let number = key >> 9
    let entries = page(number) ?? makePage(number)
    let index = Int(key & 511)
    if entries[index] == nil {
      count += 1
      Self.changeLiving(entries, by: 1)
    }
    entries[index] = Unmanaged.passUnretained(object)  // see `Page`
    noteChange()
  }

  private static func allocatePage() -> Page {
    // Behind the entries lies the number of those that are not nil.
    let page = Page.allocate(capacity: pageSize + 1)
    page.initialize(repeating: nil, count: pageSize + 1)
    return page
  }

  @discardableResult
  private static func changeLiving(_ page: Page, by change: Int) -> Int {
    let counter = UnsafeMutableRawPointer(page + pageSize)
    let living = counter.load(as: Int.self) + change
    counter.storeBytes(of: living, as: Int.self)
    return living
  }

  /// A page whose objects are all gone: a long-lived context must not keep one for every key that it ever saw.
  private mutating func releasePage(_ number: Int64) {
    let page: Page?
    if let place = densePlace(number) {
      page = place.pointee
      place.pointee = nil
    } else {
      page = sparse.removeValue(forKey: number)
    }
    if spare == nil { spare = page } else { page?.deallocate() }
  }

  private mutating func makePage(_ number: Int64) -> Page {
    let page = spare ?? Self.allocatePage()
    spare = nil
    // Permanent keys begin low in nearly every store; others begin where they begin.
    if denseCount == 0 && sparse.isEmpty { base = number < Self.greatestDenseCount / 2 ? 0 : number }
    let index = number &- base
    if index >= 0 && index < Self.greatestDenseCount {
      place(page, at: Int(index))
    } else {
      sparse[number] = page
    }
    return page
  }

  /// Puts a page into the array, which grows as far as that.
  private mutating func place(_ page: Page, at index: Int) {
    let count = Int(denseCount)
    if index >= denseCapacity {
      let capacity = max(4, denseCapacity * 2, index + 1)
      let grown = UnsafeMutablePointer<Page?>.allocate(capacity: capacity)
      if let dense {
        grown.moveInitialize(from: dense, count: count)
        dense.deallocate()
      }
      (dense, denseCapacity) = (grown, capacity)
    }
    guard let dense else { return }
    if index >= count {
      (dense + count).initialize(repeating: nil, count: index + 1 - count)
      denseCount = Int64(index + 1)
    }
    dense[index] = page
  }

  /// The array's pages.
  private var densePages: UnsafeBufferPointer<Page?> { UnsafeBufferPointer(start: dense, count: Int(denseCount)) }

  /// Forgets a key if it stands for the given object.
  mutating func remove(_ key: Int64, ifSame object: ManagedObject) {
    guard let entries = page(key >> 9), let entry = entries[Int(key & 511)] else { return }
    // Addresses are compared, nothing is read.
    if entry.toOpaque() == Unmanaged.passUnretained(object).toOpaque() {
      entries[Int(key & 511)] = nil
      count -= 1
      if Self.changeLiving(entries, by: -1) == 0 { releasePage(key >> 9) }
      noteChange()
    }
  }

  /// Visits every living object.
  func forEach(_ body: (ManagedObject) -> Void) {
    for page in densePages { if let page { Self.visit(page, body) } }
    for page in sparse.values { Self.visit(page, body) }
  }

  private static func visit(_ page: Page, _ body: (ManagedObject) -> Void) {
    for index in 0..<pageSize { if let entry = page[index] { body(entry.takeUnretainedValue()) } }
  }

  /// Frees the pages. The map is of no use afterwards.
  func deallocate() {
    for page in densePages { page?.deallocate() }
    dense?.deallocate()
    for page in sparse.values { page.deallocate() }
    spare?.deallocate()
  }

  @inline(__always) private mutating func noteChange() {
    #if CIPHERDATA_CHECKS
      // A page has 512 places to look at.
      if pacer.isDue(max(count, (Int(denseCount) + sparse.count) * 16)) { _checkInvariants() }
    #endif
  }
}

#if CIPHERDATA_CHECKS
  extension IdentityMap {
    /// Pages count what they hold, none is kept for nothing, each lies where it is looked for, and no object has two keys.
    func _checkInvariants() {
      var addresses: Set<UnsafeMutableRawPointer> = []
      func check(_ page: Page, _ number: Int64) {
        checkInvariant(self.page(number) == page, "page \(number) is looked for elsewhere")
        let entries = (0..<Self.pageSize).compactMap { page[$0]?.toOpaque() }
        checkInvariant(!entries.isEmpty, "page \(number) is kept for nothing")
        checkInvariant(Self.changeLiving(page, by: 0) == entries.count, "page \(number) counts wrongly: it has \(entries.count)")
        addresses.formUnion(entries)
      }
      for (index, page) in densePages.enumerated() { if let page { check(page, base + Int64(index)) } }
      for (number, page) in sparse { check(page, number) }
      checkInvariant(addresses.count == count, "\(addresses.count) objects in a map that counts \(count)")
      if let spare {
        checkInvariant(!(0...Self.pageSize).contains { spare[$0] != nil }, "the spare page is not empty")
      }
    }
  }
#endif

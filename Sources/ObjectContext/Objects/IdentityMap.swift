import ObjectModel

/// A map from the keys of one entity tree to its registered objects, which it does not retain: an object removes its own entry when it is
/// deallocated.
///
/// Pages of 512 entries are found by `key >> 9`: in an array while keys are near the first one, otherwise in a dictionary. A successful
/// lookup takes a few nanoseconds.
struct IdentityMap {
  // An object removes its entry before it is deallocated, so that every entry refers to a live object.
  private typealias Page = UnsafeMutablePointer<Unmanaged<ManagedObject>?>
  private static let pageSize = 512
  /// The array covers 2²⁴ keys, and takes at most 256 KiB.
  private static let maximumDenseCount: Int64 = 1 << 15

  // Allocated directly, so that a lookup goes from here to the page. An array would add one load to each step through a graph.
  private var dense: UnsafeMutablePointer<Page?>?
  /// The number of initialized elements in `dense`.
  private var denseCount: Int64 = 0
  /// The number of the array's first page. Keys of new objects are numbered per process and can start anywhere.
  private var base: Int64 = 0
  private var denseCapacity = 0
  private var sparse: [Int64: Page] = [:]
  /// An empty page, kept for the next allocation.
  private var spare: Page?
  private(set) var count = 0
  #if CIPHERDATA_CHECKS
    private var throttle = CheckThrottle()
  #endif

  /// Returns the array's element for a page number; `nil` if the array does not extend that far.
  @inline(__always) private func denseEntry(_ number: Int64) -> UnsafeMutablePointer<Page?>? {
    let index = number &- base
    guard let dense, index >= 0, index < denseCount else { return nil }
    return dense + Int(index)
  }

  @inline(__always) private func page(_ number: Int64) -> Page? {
    if let place = denseEntry(number) { return place.pointee }
    return sparse.isEmpty ? nil : sparse[number]
  }

  /// Returns the registered object of a key, or `nil`.
  @inline(__always) func object(_ key: Int64) -> ManagedObject? {
    guard let entry = page(key >> 9)?[Int(key & 511)] else { return nil }
    return entry.takeUnretainedValue()
  }

  /// Returns the registered object of a key without retaining it; see ``object(_:)``.
  // `Unmanaged` is how entries are stored. All entries refer to live objects, and callers use the result only while nothing is released.
  @inline(__always) func unretainedObject(_ key: Int64) -> Unmanaged<ManagedObject>? { page(key >> 9)?[Int(key & 511)] }

  /// Returns the registered object of a key whose page is in the array. `nil` does not mean that there is none.
  // Not retained for the reason above.
  @inline(__always) func objectNearby(_ key: Int64) -> Unmanaged<ManagedObject>? {
    denseEntry(key >> 9)?.pointee?[Int(key & 511)] ?? nil
  }

  mutating func insert(_ object: ManagedObject, key: Int64) {
    let number = key >> 9
    let entries = page(number) ?? makePage(number)
    let index = Int(key & 511)
    if entries[index] == nil {
      count += 1
      Self.changeLiveCount(entries, by: 1)
    }
    entries[index] = Unmanaged.passUnretained(object)  // see `Page`
    recordChange()
  }

  private static func allocatePage() -> Page {
    // The entry after the last one counts the entries that are not nil.
    let page = Page.allocate(capacity: pageSize + 1)
    page.initialize(repeating: nil, count: pageSize + 1)
    return page
  }

  @discardableResult
  private static func changeLiveCount(_ page: Page, by change: Int) -> Int {
    let counter = UnsafeMutableRawPointer(page + pageSize)
    let liveCount = counter.load(as: Int.self) + change
    counter.storeBytes(of: liveCount, as: Int.self)
    return liveCount
  }

  /// Releases a page without entries: a long-lived context must not keep a page for every key that it has ever seen.
  private mutating func releasePage(_ number: Int64) {
    let page: Page?
    if let place = denseEntry(number) {
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
    // Permanent keys start low in nearly every store; temporary keys start anywhere.
    if denseCount == 0 && sparse.isEmpty { base = number < Self.maximumDenseCount / 2 ? 0 : number }
    let index = number &- base
    if index >= 0 && index < Self.maximumDenseCount {
      place(page, at: Int(index))
    } else {
      sparse[number] = page
    }
    return page
  }

  /// Stores a page in the array, which grows as needed.
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

  private var densePages: UnsafeBufferPointer<Page?> { UnsafeBufferPointer(start: dense, count: Int(denseCount)) }

  /// Removes the entry of a key if it refers to the given object.
  mutating func remove(_ key: Int64, ifSame object: ManagedObject) {
    guard let entries = page(key >> 9), let entry = entries[Int(key & 511)] else { return }
    // Only addresses are compared; nothing is dereferenced.
    if entry.toOpaque() == Unmanaged.passUnretained(object).toOpaque() {
      entries[Int(key & 511)] = nil
      count -= 1
      if Self.changeLiveCount(entries, by: -1) == 0 { releasePage(key >> 9) }
      recordChange()
    }
  }

  func forEach(_ body: (ManagedObject) -> Void) {
    for page in densePages { if let page { Self.visit(page, body) } }
    for page in sparse.values { Self.visit(page, body) }
  }

  private static func visit(_ page: Page, _ body: (ManagedObject) -> Void) {
    for index in 0..<pageSize { if let entry = page[index] { body(entry.takeUnretainedValue()) } }
  }

  /// Frees the pages. The map must not be used afterwards.
  func deallocate() {
    for page in densePages { page?.deallocate() }
    dense?.deallocate()
    for page in sparse.values { page.deallocate() }
    spare?.deallocate()
  }

  @inline(__always) private mutating func recordChange() {
    #if CIPHERDATA_CHECKS
      // The check visits all 512 entries of each page.
      if throttle.isDue(max(count, (Int(denseCount) + sparse.count) * 16)) { _checkInvariants() }
    #endif
  }
}

#if CIPHERDATA_CHECKS
  extension IdentityMap {
    /// Checks that each page counts its entries correctly, is not empty and is stored where lookups search for it, and that no object has
    /// two keys.
    func _checkInvariants() {
      var addresses: Set<UnsafeMutableRawPointer> = []
      func check(_ page: Page, _ number: Int64) {
        checkInvariant(self.page(number) == page, "page \(number) is looked for elsewhere")
        let entries = (0..<Self.pageSize).compactMap { page[$0]?.toOpaque() }
        checkInvariant(!entries.isEmpty, "page \(number) is kept for nothing")
        checkInvariant(Self.changeLiveCount(page, by: 0) == entries.count, "page \(number) counts wrongly: it has \(entries.count)")
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

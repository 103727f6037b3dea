import Synchronization

/// The two groups of readers that ``ReaderCount`` distinguishes.
package struct ReaderGroups: OptionSet {
  package let rawValue: Int
  package init(rawValue: Int) { self.rawValue = rawValue }
  package static var first: ReaderGroups { ReaderGroups(rawValue: 1) }
  package static var second: ReaderGroups { ReaderGroups(rawValue: 2) }
  package static var all: ReaderGroups { ReaderGroups(rawValue: 3) }
}

/// The number of readers that access a structure without its lock, in two groups.
///
/// A reader joins the current group before it loads an address, and leaves it when it has retained the object or no longer needs it. A
/// writer that waits for the readers of a group directs new readers to the other one. The group then becomes empty even if reads overlap
/// without a pause.
package struct ReaderCount: ~Copyable {
  /// The counts of both groups, each in one half of the word, so that one operation reads both.
  private let counts = Atomic<Int>(0)
  /// The amount that a reader adds to ``counts`` to join the current group.
  private let unit = Atomic<Int>(Self.firstUnit)

  private static var firstUnit: Int { 1 }
  private static var secondUnit: Int { 1 << 32 }

  package init() {}

  /// Adds a reader to the current group. Returns the value to pass to ``end(_:)``.
  @inline(__always) package func begin() -> Int {
    let unit = unit.load(ordering: .relaxed)
    counts.add(unit, ordering: .acquiringAndReleasing)
    return unit
  }

  /// Removes a reader from its group.
  @inline(__always) package func end(_ unit: Int) { counts.subtract(unit, ordering: .releasing) }

  /// Returns the groups that have readers. In the others, earlier readers have finished, and later ones see the caller's changes.
  @inline(__always) func busyGroups() -> ReaderGroups {
    // Adding 0 is a read-modify-write operation, which is totally ordered with those of the readers.
    let counts = counts.add(0, ordering: .acquiringAndReleasing).newValue
    if counts == 0 { return [] }
    if counts < Self.secondUnit { return .first }
    return counts % Self.secondUnit == 0 ? .second : .all
  }

  /// Directs new readers to a group that is not awaited. If both are awaited, the first one becomes empty first.
  func directReaders(awaiting groups: ReaderGroups) {
    unit.store(groups.contains(.first) ? Self.secondUnit : Self.firstUnit, ordering: .relaxed)
  }
}

/// Objects that were removed from a structure, kept alive for readers without the lock. All mutations require the lock.
///
/// An object can be released when each group of readers has been empty at some time after the removal: readers that may have loaded the
/// object's address have left, and later ones cannot find it. The groups need not be empty at the same time. Objects therefore accumulate
/// only while a single read lasts, however many reads overlap.
package struct RetiredObjects {
  /// The objects that were removed since ``waiting`` was filled.
  private var recent: [AnyObject] = []
  /// The objects that are released when the readers of ``awaited`` have finished.
  private var waiting: [AnyObject] = []
  /// The groups that have had readers since ``waiting`` was filled.
  private var awaited: ReaderGroups = []

  package init() {}

  package var isEmpty: Bool { recent.isEmpty && waiting.isEmpty }
  package var count: Int { recent.count + waiting.count }

  /// Adds an object that readers can no longer find. Consecutive calls with the same object add it once.
  @inline(__always) package mutating func append(_ object: AnyObject) {
    if recent.last !== object { recent.append(object) }
  }

  /// Releases the objects that no reader can still access.
  package mutating func release(unlessReadBy readers: borrowing ReaderCount) {
    let busy = readers.busyGroups()
    if busy.rawValue == 0 {
      if !waiting.isEmpty { waiting.removeAll() }
      recent.removeAll(keepingCapacity: recent.count <= 512)
      awaited = []
    } else {
      release(awaiting: busy)
      readers.directReaders(awaiting: awaited)
    }
  }

  @inline(never) private mutating func release(awaiting busy: ReaderGroups) {
    awaited.formIntersection(busy)
    guard awaited.isEmpty else { return }
    waiting.removeAll(keepingCapacity: waiting.count <= 512)
    swap(&waiting, &recent)
    awaited = busy
  }
}

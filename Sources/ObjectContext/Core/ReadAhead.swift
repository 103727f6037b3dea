// ReadAhead: how many of an object's siblings are read with it, and which.

/// How far ahead of who walks through a group is read, as a file system does for who reads a file: in the walker's steps, a few at first, and four times
/// as many each time that half of the last ones were of use.
///
/// It knows positions only. A *miss* is an object that has to be read; whoever walks says which of the positions read with it were asked for later.
package struct ReadAhead {
  /// How many are read at first, the one that is missed among them.
  package static var firstSize: Int { 4 }
  /// How many positions are looked at for those that are to be read: nobody may wait for a walk through all of them.
  package static var window: Int { 4_000 }
  /// Misses that are no farther apart are those of one walk, though their distances differ: what lies between may be at hand. So are those whose
  /// distances are few steps of one length.
  private static var nearby: Int { 64 }
  private static var fewSteps: Int { 8 }

  /// How many rows are read for each miss of a walk without any order, on average, once it has shown that it goes everywhere: a statement costs about as much.
  private static var rowsPerScatteredMiss: Int { 64 }

  private var startSize = ReadAhead.firstSize
  /// The distance of the positions that are read together; negative for who goes backwards.
  package private(set) var stride = 1
  /// How many positions were to be read with the last miss, this one among them; 0 before the first.
  private var size = 0
  /// The last miss, its distance from the one before, and the position at which the walk from it has ended.
  private var last = 0
  private var distance = 0
  private var end = 0
  /// How many siblings were read with the last miss, and how many of them were asked for since.
  private var readCount = 0
  private var usedCount = 0
  /// How many misses in a row found what was read before them of little use.
  private var failures = 0
  /// How many misses stood in no order since there was one, and how many siblings were read with them.
  private var scatteredMisses = 0
  private var scatteredReads = 0
  /// Whether the last miss stood in no order.
  package private(set) var isScattered = false

  package init() {}

  /// - Parameter startSize: How many are read with the first miss.
  package init(startSize: Int) { self.startSize = startSize }

  /// A miss.
  ///
  /// - Parameters:
  ///   - position: The position of the missing object.
  ///   - limit: How many may be read together.
  ///   - patience: How many misses in no order are read alone, until it is clear that the walk goes everywhere.
  /// - Returns: How many are to be read, that object among them; where to go on; and whether that is not where the last walk has ended.
  package mutating func miss(
    at position: Int, limit: Int, patience: Int = .max
  ) -> (size: Int, start: Int, isNewWalk: Bool) {
    defer { (last, readCount, usedCount) = (position, 0, 0) }
    isScattered = false
    if size == 0 {
      size = min(startSize, limit)
      return (size, position + stride, true)
    }
    let distance = position - last
    let isAhead = stride > 0 ? position >= end : position <= end
    if readCount == 0, size > 1, isAhead {
      // All that was looked at was at hand.
    } else if readCount > 0, usedCount * 2 >= readCount {
      size = isAhead ? min(size * 4, limit) : min(Self.firstSize, limit)
      (failures, scatteredMisses, scatteredReads) = (0, 0, 0)
    } else {
      fail(distance, limit, patience)
    }
    self.distance = distance
    if isScattered { return (size, position + stride, true) }
    let isOnWay = isAhead && (end - position) % stride == 0
    return (size, position + stride, !isOnWay)
  }

  /// Whether the next miss is the first, and many are read with it.
  package var beginsWithMany: Bool { size == 0 && startSize > Self.firstSize }

  /// A miss where as many are read together as somebody has said.
  package mutating func fixedMiss(at position: Int, size: Int) -> (size: Int, start: Int, isNewWalk: Bool) {
    let isAhead = stride > 0 ? position >= end : position <= end
    let former = stride
    if self.size > 0 { stride = position < last ? -1 : 1 }
    (self.size, last) = (size, position)
    return (size, position + stride, !isAhead || stride != former)
  }

  /// What was read last was of little use: the misses are farther apart than was thought, or there is no order in them.
  private mutating func fail(_ distance: Int, _ limit: Int, _ patience: Int) {
    failures += 1
    let former = self.distance
    let step = Self.commonDivisor(abs(distance), abs(former))
    let greatest = max(abs(distance), abs(former))
    let isOneWalk = distance.signum() == former.signum() && (greatest <= Self.nearby || greatest <= step * Self.fewSteps)
    if failures > 1, !isOneWalk {
      isScattered = true
      scatteredMisses += 1
      stride = 1
      size = scatteredMisses < patience ? 1 : min(1 + max(scatteredMisses * Self.rowsPerScatteredMiss - scatteredReads, 0), limit)
      return
    }
    stride = failures == 1 ? distance : step * distance.signum()
    if stride == 0 { stride = 1 }
    size = min(Self.firstSize, limit)
  }

  private static func commonDivisor(_ a: Int, _ b: Int) -> Int { b == 0 ? max(a, 1) : commonDivisor(b, a % b) }

  /// A walk from the last miss has ended.
  ///
  /// - Parameters:
  ///   - position: The first position that it has not looked at.
  ///   - count: How many siblings are read with the miss.
  package mutating func finish(at position: Int, count: Int) {
    (end, readCount) = (position, count)
    if isScattered { scatteredReads += count }
  }

  /// An object that did not have to be read was asked for.
  @inline(__always) package mutating func noteUse(of position: Int) {
    if stride > 0 ? position > last && position < end : position < last && position > end { usedCount += 1 }
  }
}

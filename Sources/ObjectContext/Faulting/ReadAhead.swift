/// The read-ahead state of a traversal through a group, similar to a file system's: siblings are read along the traversal's stride, a few
/// at first, and four times as many each time that at least half of the last ones were used.
///
/// The state contains positions only. A *miss* is an object that has to be read. The caller reports which of the positions read with it
/// were used later.
package struct ReadAhead {
  /// The number of objects to read on the first miss, including the missing one.
  package static var firstSize: Int { 4 }
  /// The maximum number of positions to examine for objects to read. It bounds the time that a miss takes in a large group.
  package static var window: Int { 4_000 }
  /// The maximum distance of misses that always belong to one traversal, even if their distances differ, since the objects between them may
  /// be in memory. Misses also belong to one traversal if their distances are at most `fewSteps` multiples of a common step.
  private static var nearby: Int { 64 }
  private static var fewSteps: Int { 8 }

  /// The average number of rows to read per random miss once a traversal has proved to be random. Reading that many rows costs about as
  /// much as a statement.
  private static var rowsPerScatteredMiss: Int { 64 }

  private var startSize = ReadAhead.firstSize
  /// The distance of the positions that are read together. It is negative for a backward traversal.
  package private(set) var stride = 1
  /// The number of positions to read for the last miss, including the missing one; 0 before the first miss.
  private var size = 0
  /// The position of the last miss, its distance from the previous one, and the position at which the read-ahead ended.
  private var last = 0
  private var distance = 0
  private var end = 0
  /// The number of siblings that were read with the last miss, and how many of them were used since.
  private var readCount = 0
  private var usedCount = 0
  /// The number of consecutive misses whose previous read-ahead was mostly unused.
  private var failures = 0
  /// The number of random misses since the last ordered one, and the number of siblings read with them.
  private var scatteredMisses = 0
  private var scatteredReads = 0
  /// Whether the last miss was random.
  package private(set) var isScattered = false

  package init() {}

  /// - Parameter startSize: The number of objects to read on the first miss.
  package init(startSize: Int) { self.startSize = startSize }

  /// Records a miss, and returns what to read.
  ///
  /// - Parameters:
  ///   - position: The position of the missing object.
  ///   - limit: The maximum number of objects to read together.
  ///   - patience: The number of random misses to read alone before the traversal is considered random.
  /// - Returns: The number of objects to read, including the missing one; the position to continue at; and whether that is not the end of
  ///   the last read-ahead.
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
      // All siblings that were examined were in memory.
    } else if readCount > 0, usedCount * 2 >= readCount {
      size = isAhead ? min(size * 4, limit) : min(Self.firstSize, limit)
      (failures, scatteredMisses, scatteredReads) = (0, 0, 0)
    } else {
      fail(distance, limit, patience)
    }
    self.distance = distance
    if isScattered { return (size, position + stride, true) }
    let isOnPath = isAhead && (end - position) % stride == 0
    return (size, position + stride, !isOnPath)
  }

  /// Whether the next miss is the first, and reads many objects.
  package var beginsWithMany: Bool { size == 0 && startSize > Self.firstSize }

  /// Records a miss for a fixed batch size.
  package mutating func fixedMiss(at position: Int, size: Int) -> (size: Int, start: Int, isNewWalk: Bool) {
    let isAhead = stride > 0 ? position >= end : position <= end
    let former = stride
    if self.size > 0 { stride = position < last ? -1 : 1 }
    (self.size, last) = (size, position)
    return (size, position + stride, !isAhead || stride != former)
  }

  /// Handles a mostly unused read-ahead: the distance between misses is larger than assumed, or the misses are random.
  private mutating func fail(_ distance: Int, _ limit: Int, _ patience: Int) {
    failures += 1
    let former = self.distance
    let step = Self.commonDivisor(abs(distance), abs(former))
    let maximum = max(abs(distance), abs(former))
    let isOneWalk = distance.signum() == former.signum() && (maximum <= Self.nearby || maximum <= step * Self.fewSteps)
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

  /// Records the end of the read-ahead for the last miss.
  ///
  /// - Parameters:
  ///   - position: The first position that was not examined.
  ///   - count: The number of siblings to read with the miss.
  package mutating func finish(at position: Int, count: Int) {
    (end, readCount) = (position, count)
    if isScattered { scatteredReads += count }
  }

  /// Records the use of an object that did not have to be read.
  @inline(__always) package mutating func recordUse(of position: Int) {
    if stride > 0 ? position > last && position < end : position < last && position > end { usedCount += 1 }
  }
}

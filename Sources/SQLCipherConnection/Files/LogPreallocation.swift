/// Preallocation of space in the file of a write-ahead log, ahead of the frames that fill it.
///
/// A synced commit that makes the file longer waits for the file system to record the new length, which takes several times as long as
/// writing the commit's pages. If commits are synced one by one, the file therefore grows by many pages at a time, and most commits fill
/// preallocated space. That space is zeros: SQLite stops at a frame without a page number, and a restarted log fills its file from the
/// start.
///
/// The writer holds SQLite's write lock of the log, so nothing else writes during preallocation.
struct LogPreallocation {
  /// The number of syncs that must have found the file longer before space is preallocated: the log's header, which is synced separately,
  /// and two commits. A program that saves once or twice needs none.
  private static let requiredLongerSyncs: UInt8 = 3
  /// The minimum and maximum number of bytes to preallocate. Within these bounds it is the current size of the log, so that the log is
  /// never more than half empty.
  private static let bounds: ClosedRange<Int64> = 65_536...262_144

  /// The end of the file, as far as known; nil before the first query. Other processes may since have extended the file, or truncated and
  /// restarted it. Then less space is preallocated for a while.
  private var end: Int64?
  /// The number of syncs that found the file longer than before.
  private var longerSyncs: UInt8 = 0
  private var isLonger = false
  /// Whether space was preallocated in this transaction. A transaction that fills it is long, and gets no more.
  private var hasPreallocated = false

  /// Records a write.
  ///
  /// - Parameters:
  ///   - range: The byte range of the write.
  ///   - size: The file size before the write, or nil if unknown. Evaluated at the start of the log, and before preallocation.
  /// - Returns: The number of bytes to preallocate after the write; 0 for none.
  mutating func recordWrite(_ range: Range<Int64>, size: @autoclosure () -> Int64?) -> Int64 {
    if let end, range.upperBound <= end, range.lowerBound > 0 { return 0 }
    guard let known = range.lowerBound > 0 ? end ?? size() : size() else { return 0 }
    end = max(known, range.upperBound)
    guard range.upperBound > known else { return 0 }
    isLonger = true
    guard longerSyncs >= Self.requiredLongerSyncs, !hasPreallocated, let now = size() else { return 0 }
    // Another process may have preallocated space in the meantime.
    guard range.upperBound > now else {
      end = now
      return 0
    }
    hasPreallocated = true
    return min(max(range.upperBound, Self.bounds.lowerBound), Self.bounds.upperBound)
  }

  /// Records whether the preallocation succeeded.
  mutating func recordPreallocation(_ succeeded: Bool, to preallocatedEnd: Int64) {
    if succeeded { end = preallocatedEnd } else { longerSyncs = 0 }
  }

  mutating func recordSync() {
    if isLonger, !hasPreallocated, longerSyncs < Self.requiredLongerSyncs { longerSyncs += 1 }
    (isLonger, hasPreallocated) = (false, false)
  }

  mutating func recordTruncation() { end = nil }
}

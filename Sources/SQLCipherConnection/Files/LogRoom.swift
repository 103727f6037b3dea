// LogRoom: room in the file of a write-ahead log, made ahead of the frames that will fill it.

/// What a guarded log knows of its file's length.
///
/// A commit that is synced and makes the file longer waits for the file system to record the new length, which takes several times as long as the commit's own
/// pages. So where commits are synced one by one, the file grows by many pages at a time, and most commits fill room that is there. Room is zeros: SQLite ends at
/// a frame without a page's number, and a log that is begun anew fills its file from the start.
///
/// Whoever writes a log has SQLite's lock for it: nobody else writes meanwhile where room is made.
struct LogRoom {
  /// Syncs that each found the file longer, before room is made: the log's head, which is synced by itself, and two commits. A program that saves once or twice
  /// needs none.
  private static let patience: UInt8 = 3
  /// Bytes. As much as the log has already, so that it is never more than half empty, within these bounds.
  private static let bounds: ClosedRange<Int64> = 65_536...262_144

  /// Where the file ends as far as is known here; nil before it was asked for. Others may have made it longer since, or cut it and begun anew: then less room is
  /// made for a while than could be.
  private var end: Int64?
  /// How many syncs found the file longer than it was.
  private var longerSyncs: UInt8 = 0
  private var isLonger = false
  /// A transaction that fills the room made for it is a long one, and is not given more.
  private var hasRoom = false

  /// Notes a write.
  ///
  /// - Parameters:
  ///   - range: Where it is written.
  ///   - size: The file's length before it, nil where it is not known; asked for at the log's beginning, and where room would be made.
  /// - Returns: How many bytes of room to make behind it; 0 for none.
  mutating func noteWrite(_ range: Range<Int64>, size: @autoclosure () -> Int64?) -> Int64 {
    if let end, range.upperBound <= end, range.lowerBound > 0 { return 0 }
    guard let known = range.lowerBound > 0 ? end ?? size() : size() else { return 0 }
    end = max(known, range.upperBound)
    guard range.upperBound > known else { return 0 }
    isLonger = true
    guard longerSyncs >= Self.patience, !hasRoom, let now = size() else { return 0 }
    // Others may have made room meanwhile.
    guard range.upperBound > now else {
      end = now
      return 0
    }
    hasRoom = true
    return min(max(range.upperBound, Self.bounds.lowerBound), Self.bounds.upperBound)
  }

  /// Notes whether the room that was asked for is there.
  mutating func noteRoom(_ isMade: Bool, to roomEnd: Int64) {
    if isMade { end = roomEnd } else { longerSyncs = 0 }
  }

  mutating func noteSync() {
    if isLonger, !hasRoom, longerSyncs < Self.patience { longerSyncs += 1 }
    (isLonger, hasRoom) = (false, false)
  }

  mutating func noteTruncation() { end = nil }
}

/// What a hub stores of a zone.
package protocol HubStorage: AnyObject {
  /// Runs a closure as one transaction that excludes other pushes to the zone.
  func transaction<Result>(_ body: () throws -> Result) throws -> Result

  /// The identity of the zone since its creation or restoration.
  func incarnation() throws -> Incarnation
  /// The number of commits and the head of their chain.
  func head() throws -> ChainPoint
  /// Returns the head of the chain at a number of commits, or nil if there are not as many.
  func chainHead(at sequence: Int64) throws -> Digest?
  /// Returns the last commit of a device.
  func lastCommit(of device: DeviceID) throws -> CommitEntry?
  /// Returns the version of a record, and whether it is deleted.
  func version(of name: RecordName) throws -> (version: Digest, isDeleted: Bool)?
  func record(_ name: RecordName) throws -> StoredRecord?
  /// Returns the versions of records that are not deleted, in the order of their names.
  func versions(in names: ClosedRange<RecordName>, maximumCount: Int) throws -> [RecordVersion]
  func setRecord(_ record: StoredRecord) throws

  /// Returns those of some chunks that are not stored.
  func missingChunks(_ ids: [ChunkID]) throws -> [ChunkID]
  /// Stores a chunk, which no record names yet.
  ///
  /// - Parameter time: The hub's time, in milliseconds since 1970.
  func putChunk(_ id: ChunkID, _ bytes: [UInt8], at time: Int64) throws
  /// Returns a chunk.
  func chunk(_ id: ChunkID) throws -> [UInt8]?
  /// Replaces the chunks that a record names. All of them are stored.
  func setChunks(_ ids: [ChunkID], of name: RecordName, at time: Int64) throws
  /// Removes chunks that no record has named since a time.
  ///
  /// - Returns: The number of removed chunks, at most the maximum.
  @discardableResult
  func removeUnusedChunks(before time: Int64, maximumCount: Int) throws -> Int

  /// Returns which parts of an incomplete commit of a device are staged.
  func stagedParts(of device: DeviceID) throws -> StagedParts?
  /// Returns a staged part by its number.
  func stagedPart(_ number: Int64, of device: DeviceID) throws -> SealedCommit?
  /// Keeps the next part of a device's commit.
  ///
  /// - Parameter time: The hub's time, in milliseconds since 1970.
  func stage(_ part: SealedCommit, at time: Int64) throws
  /// Removes the parts that were staged before a time, in milliseconds since 1970, of all devices.
  func removeStagedParts(before time: Int64) throws
  func removeStagedParts(of device: DeviceID) throws
  /// Adds a commit to the log.
  ///
  /// - Parameters:
  ///   - time: The hub's time, in milliseconds since 1970.
  ///   - sum: The sum of all records from now on.
  func append(_ entry: CommitEntry, head: Digest, at time: Int64, sum: RecordSum) throws
  /// The sum of all records; nil if it was never computed.
  func sum() throws -> RecordSum?
  /// Returns records in the order of their commits and names.
  ///
  /// - Parameter omitted: The number of the commit up to which deleted records are left out.
  func records(
    after position: PagePosition?, since sequence: Int64, omittingDeletedThrough omitted: Int64, maximumCount: Int
  ) throws -> [StoredRecord]
  /// Returns commits after one.
  func commits(after sequence: Int64, through last: Int64) throws -> [CommitEntry]

  // MARK: Truncation

  /// Returns the hub's time at which a commit was added, in milliseconds since 1970.
  func commitTime(at sequence: Int64) throws -> Int64?
  /// The number of the last commit of which deleted records were removed; 0 if none were.
  func floor() throws -> Int64
  /// Removes records that commits up to a number have deleted, those of the earliest first, and raises the floor to their last commit.
  ///
  /// They can name chunks: edits can win over a deletion, and the object has its large values again.
  /// - Parameter time: The hub's time, in milliseconds since 1970.
  /// - Returns: The number of removed records.
  func removeDeletedRecords(through sequence: Int64, maximumCount: Int, at time: Int64) throws -> Int
  func acknowledgment(of device: DeviceID) throws -> Acknowledgment?
  func acknowledge(_ acknowledgment: Acknowledgment, of device: DeviceID) throws
  /// Returns the least point that devices have acknowledged since a time, in milliseconds since 1970.
  func leastAcknowledgment(since time: Int64) throws -> Int64?
}

/// The staged parts of a device's commit.
package struct StagedParts: Hashable, Sendable {
  package var deviceSequence: Int64
  /// The number of parts.
  package var count: Int64
  /// The digest of the last one.
  package var lastDigest: Digest

  package init(deviceSequence: Int64, count: Int64, lastDigest: Digest) {
    (self.deviceSequence, self.count, self.lastDigest) = (deviceSequence, count, lastDigest)
  }
}

import Foundation
import ObjectModel
import ObjectStore
import SyncCore

/// The stamps of a pending save.
struct SaveStamps: Hashable {
  /// The stamp of its values.
  var save: Stamp
  /// The stamp that identifies the links that the save has added. It keeps the device that it got first.
  var addition: Stamp
  /// The time that the save got first, which identifies what it has added to counters, together with the device.
  var first: HybridTime

  init(_ save: Stamp, addition: Stamp, first: HybridTime) { (self.save, self.addition, self.first) = (save, addition, first) }
}

/// The saves that the hub has not accepted yet, read from the store's history.
///
/// A save gets its stamp when a transaction of synchronization first reads it. Everything that was imported before the save was made has been
/// imported in an earlier transaction, so its stamp is the same as if it had been stamped at once; the save itself need not write anything.
///
/// A device can be offline for months, and a batch request can change any number of objects: more changes than a limit are kept in the store.
final class PendingSaves {
  /// The number of changes, of 400 bytes on average, that are kept in memory. If there are more, all are kept in the store until they are
  /// settled.
  @TaskLocal static var limit = 50_000
  /// The number of changes that are decoded at once.
  private static let batch = 1_000

  private struct Save {
    let number: Int64
    /// When it was made, in milliseconds since 1970.
    let wall: Int64
    var stamps: SaveStamps
    /// The positions of its changes.
    var changes: Range<Int>
    /// Whether it has changes that contain stamps of earlier saves: of links, and deletions that edits can win over.
    var hasOtherStamps = false
  }

  unowned let replica: StoreReplica
  /// The saves in ascending order.
  private var saves: [Save] = []
  private var changes: any PendingChanges = MemoryChanges()
  /// The last transaction of the history that was read.
  private(set) var scanned: Int64

  init(_ replica: StoreReplica, after number: Int64) { (self.replica, scanned) = (replica, number) }

  /// Whether the changes may have large values that only the device has.
  private(set) var hasAssets = false

  var isEmpty: Bool { saves.isEmpty }
  /// The number of changes.
  var changeCount: Int { changes.end - firstStart }
  /// The number of changes that are kept in memory.
  var changeCountInMemory: Int { changes.countInMemory }
  /// Whether another replica has removed the changes from the store.
  var isReplaced: Bool { get throws { try (changes as? StoredChanges)?.isReplaced ?? false } }

  // MARK: Reading

  /// Reads the transactions after the last one that was read.
  ///
  /// - Parameters:
  ///   - former: The records that objects had in earlier transactions.
  ///   - newest: The newest transaction.
  ///   - prepare: Returns the stamps of a save that was made at a time, in milliseconds since 1970, and whether it was never read before. It
  ///     may call ``renew(_:)``.
  /// - Returns: Whether a transaction may have changed any object.
  func read(
    _ reader: HistoryChangeReader, _ former: FormerRecords, through newest: Int64,
    prepare: (_ number: Int64, _ wall: Int64, _ insertions: RecordSet) throws -> (stamps: SaveStamps, isNew: Bool)
  ) throws -> Bool {
    let (limit, byteLimit) = (Self.limit, max(400 * Self.limit, 1 << 17))
    let hasDeletionMarks = replica.schema.syncModel.hasDeletionMarks
    let hasVersions = try replica.zone().hasVersions ?? false
    var (insertions, hasOtherStamps, isUnstamped) = (RecordSet(), false, false)
    let isWhole = try reader.read(after: scanned, former) { change in
      if change.isInsertion { insertions.insert(change.change.id) }
      if change.change.values?.values.contains(where: \.isUnsealed) ?? false { hasAssets = true }
      if change.change.isUnstamped {
        (hasOtherStamps, isUnstamped) = (hasOtherStamps || change.change.isLink || change.change.values == nil, true)
      } else if hasDeletionMarks, change.isInsertion {
        (hasOtherStamps, isUnstamped) = (true, true)
      } else if hasVersions {
        isUnstamped = true
      }
      if changes.countInMemory >= limit || changes.byteCountInMemory >= byteLimit { try moveToStore() }
      try changes.add(replica.redirected(change.change), change.isFormer ? nil : change.object, start: start)
    } move: {
      moves.append(try replica.redirected($0))
    } end: { number, wall in
      defer { (moves, insertions, hasOtherStamps, isUnstamped) = ([], RecordSet(), false, false) }
      if changes.end == start, moves.isEmpty { return }
      let (stamps, isNew) = try prepare(number, wall, insertions)
      if isUnstamped { try stampChanges(of: number, stamps) }
      try placeMembers(stamps.addition.device, isNew: isNew)
      if changes.end == start { return }
      saves.append(Save(number: number, wall: wall, stamps: stamps, changes: start..<changes.end, hasOtherStamps: hasOtherStamps))
    }
    scanned = newest
    return isWhole
  }

  /// The moves by the save that is being read.
  private(set) var moves: [HistoryChangeReader.Move] = []

  /// The position of the first change of the save that is being read.
  private var start: Int { saves.last?.changes.upperBound ?? firstStart }
  private var firstStart = 0

  /// Moves the changes to the store.
  private func moveToStore() throws {
    if changes is StoredChanges { return }  // The limit is 0.
    let stored = try StoredChanges(replica, from: firstStart)
    for save in saves.map(\.changes) + [start..<changes.end] {
      try forEachChange(in: save) { try stored.add($1, changes.object(of: $1.id), start: save.lowerBound) }
    }
    changes = stored
  }

  /// Returns the change of a record by the save that is being read.
  func currentChange(of id: RecordID) throws -> PendingChange? {
    guard let (position, bytes) = try changes.changes(of: id).last, position >= start else { return nil }
    return try PendingChangeCoding.decode(bytes)
  }

  /// Calls a closure with the changes of the save that is being read.
  func forEachCurrentChange(_ body: (PendingChange) throws -> Void) throws {
    try forEachChange(in: start..<changes.end) { try body($1) }
  }

  /// Gives other records to objects that the save that is being read has inserted.
  func renew(_ renewed: [RecordID: RecordID]) throws {
    for index in moves.indices {
      let (move, owner) = (moves[index], moves[index].list.owner)
      moves[index].list = MemberList(owner: renewed[owner] ?? owner, number: move.list.number)
      moves[index].previous = move.previous.map { renewed[$0] ?? $0 }
      for member in move.members.indices { moves[index].members[member].id = renewed[move.members[member].id] ?? move.members[member].id }
    }
    try forEachChange(in: start..<changes.end) { position, change in
      let new = change.renewed(renewed, replica.schema.syncModel, linkID: \.recordID)
      if new != change { try changes.replace(position, by: new) }
    }
  }

  /// Determines which additions of links the save that is being read has made or removed, and when it has changed counters.
  private func stampChanges(of number: Int64, _ stamps: SaveStamps) throws {
    try forEachChange(in: start..<changes.end) { position, change in
      if let new = try reinsertion(change, stamps) { return try changes.replace(position, by: new) }
      guard change.isUnstamped else {
        let new = try versioned(change, stamps, by: number)
        return new == change ? () : try changes.replace(position, by: new)
      }
      if change.values == nil { return try changes.replace(position, by: try deletion(change, by: number)) }
      guard let link = Link(change.record(stamps.addition), replica.schema.syncModel) else {
        return try changes.replace(position, by: try versioned(change, stamps, by: number))
      }
      var new = PendingChange(change.id, entity: change.entity, change.values)
      // A link ends with its ends.
      if try ![link.source, link.destination].contains(where: { try currentChange(of: $0).map { $0.values == nil } ?? false }) {
        new = try change.isAddition ? .addition(of: link, change.id, stamps.addition) : replica.removal(of: link, by: number)
      }
      try changes.replace(position, by: new)
    }
  }

  /// Returns the change of an object with what it has added to counters, and with versions of the values that functions merge: what they
  /// replace is what was known when the save was first read.
  private func versioned(_ change: PendingChange, _ stamps: SaveStamps, by number: Int64) throws -> PendingChange {
    if change.isLink || change.values == nil { return change }
    let stamp = Stamp(stamps.first, stamps.addition.device)
    let (plain, former) = change.withUnstampedValues()
    let counted = plain.isUnstamped ? plain.stamped(stamp) : plain
    guard try !former.isEmpty || plain != change || replica.zone().hasVersions ?? false else { return counted }
    let (known, settled) = (try replica.knownRecord(of: change.id), try replica.entry(of: change.id)?.state)
    let model = replica.schema.syncModel
    let new = counted.versioned(model, replacing: former, in: known, settled: settled, first: stamp)
    let versions = new.ownFields.filter { $0.rule == .custom }
    if versions.isEmpty { return new }
    // References of the change can be replaced later. They are not stored.
    let stored = try replica.storedRemoval(of: change.id, by: number) {
      PendingChange(change.id, entity: change.entity, [:], ownFields: versions)
    }
    let own = new.ownFields.filter { $0.rule != .custom } + stored.ownFields
    return PendingChange(
      change.id, entity: change.entity, new.values?.filter { value in !stored.ownFields.contains { $0.property == value.key } },
      rules: new.rules, ownFields: own.sorted { $0.property < $1.property })
  }

  /// Returns a deletion with what it has seen: what was known when the save was first read.
  private func deletion(_ change: PendingChange, by number: Int64) throws -> PendingChange {
    try replica.storedRemoval(of: change.id, by: number) {
      let settled = try replica.zone().settledThrough
      let references = try replica.denyingReferences(to: change.id, replica.schema.syncModel, after: settled) { id in
        try currentChange(of: id) != nil
      }
      return .deletion(of: change.id, entity: change.entity, from: try replica.knownRecord(of: change.id), references: references)
    }
  }

  /// Returns the insertion of an object under the record of one whose deletion edits can win over; nil for other changes.
  private func reinsertion(_ change: PendingChange, _ stamps: SaveStamps) throws -> PendingChange? {
    guard var values = change.values, !change.isReinsertion, replica.schema.syncModel.updateWins(change.entity),
      let known = try replica.knownRecord(of: change.id), known.isDeleted, known.deletionMark != nil
    else { return nil }
    for field in change.ownFields { values[field.property] = field.value.unmerged }
    return .reinsertion(
      of: change.id, entity: change.entity, values, in: known, replica.schema.syncModel,
      first: Stamp(stamps.first, stamps.addition.device), revival: stamps.addition)
  }

  /// Adds a change to the save that is being read.
  func addCurrentChange(_ change: PendingChange, _ object: ObjectReference? = nil) throws {
    try changes.add(change, object, start: start)
  }

  private func forEachChange(in positions: Range<Int>, _ body: (_ position: Int, _ change: PendingChange) throws -> Void) throws {
    for first in stride(from: positions.lowerBound, to: positions.upperBound, by: Self.batch) {
      let batch = first..<min(first + Self.batch, positions.upperBound)
      for (position, change) in zip(batch, try changes.changes(in: batch)) { try body(position, change) }
    }
  }

  // MARK: Settling

  /// Removes the saves up to a number.
  func settle(through number: Int64) throws {
    let count = position(after: number)
    if count == 0 { return }
    firstStart = saves[count - 1].changes.upperBound
    saves.removeFirst(count)
    if !saves.isEmpty { return try changes.removeAll(before: firstStart) }
    // The objects too: those of settled records are in the store.
    if changes is StoredChanges { try replica.removeStoredChanges() }
    (changes, firstStart, hasAssets) = (MemoryChanges(), 0, false)
  }

  /// Replaces the stamps of saves, and those of the additions of links.
  func restamp(_ new: [Int64: Stamp], additions: (Stamp) -> Stamp) throws {
    for index in saves.indices {
      let (number, former) = (saves[index].number, saves[index].stamps)
      let stamps = SaveStamps(new[number] ?? former.save, addition: additions(former.addition), first: former.first)
      if stamps != former { try replica.setStamps(stamps, of: number) }
      saves[index].stamps = stamps
      guard saves[index].hasOtherStamps else { continue }
      try forEachChange(in: saves[index].changes) { position, change in
        guard change.isLink || change.isReinsertion || change.deletionMark != nil else { return }
        let restamped = change.restamped(additions)
        if restamped == change { return }
        try changes.replace(position, by: restamped)
        if change.values == nil || !change.isAddition { try replica.setRemoval(restamped, by: number) }
      }
    }
  }

  // MARK: Records

  /// Calls a closure with the records that the saves change.
  func forEachRecord(_ body: (RecordID) throws -> Void) throws { try changes.forEachRecord(body) }

  /// Returns the join of the changes of a record by saves after a number.
  func changes(of id: RecordID, after number: Int64 = 0) throws -> Record? {
    var record: Record?
    // Without the save that is being read, which has no stamp yet.
    for (position, bytes) in try changes.changes(of: id) where position < start {
      let save = saves[saves.partitioningIndex { $0.changes.upperBound > position }]
      if save.number <= number { continue }
      record = record.applying(try PendingChangeCoding.record(bytes, save.stamps.save))
    }
    return record
  }

  func object(of id: RecordID) throws -> ObjectReference? { try changes.object(of: id) }

  /// Returns the first save that changes a record: its number and the time at which it was made, in milliseconds since 1970.
  func firstSave(of id: RecordID) throws -> (number: Int64, wall: Int64)? {
    guard let position = try changes.changes(of: id).first?.position, position < start else { return nil }
    let save = saves[saves.partitioningIndex { $0.changes.upperBound > position }]
    return (save.number, save.wall)
  }

  /// Returns the records whose changes refer to a record, and perhaps others.
  func referrers(of id: RecordID) throws -> Set<RecordID> { try changes.referrers(of: id) }

  // MARK: Saves

  /// The number of saves up to a number.
  private func position(after number: Int64) -> Int { saves.partitioningIndex { $0.number > number } }

  /// Returns saves after a number, whole, as many as have a maximum number of changes; if the first has more, its first changes.
  func saves(after number: Int64, maximumChangeCount: Int) throws -> [PendingSave] {
    var (found, count): ([PendingSave], Int) = ([], 0)
    for save in saves[position(after: number)...] {
      if !found.isEmpty, count + save.changes.count > maximumChangeCount { break }
      let changes = try changes.changes(in: save.changes.prefix(maximumChangeCount))
      found.append(PendingSave(number: save.number, stamp: save.stamps.save, changes: changes, changeCount: save.changes.count))
      count += save.changes.count
      if count >= maximumChangeCount { break }
    }
    return found
  }

  /// Returns changes of a save.
  ///
  /// - Parameter position: The number of changes to skip.
  func changes(of number: Int64, from position: Int, maximumCount: Int) throws -> [PendingChange] {
    guard let save = saves[self.position(after: number - 1)...].first, save.number == number else { return [] }
    return try changes.changes(in: save.changes.dropFirst(position).prefix(maximumCount))
  }
}

import Foundation
import ObjectModel
import ObjectStore
import SyncCore

/// Reads the changes of the application from a store's history, as changes of records.
struct HistoryChangeReader {
  let store: PersistentStore
  let history: any HistoryStore & IdentityStore
  let schema: SyncSchema

  /// The change of an object, or of a link, in a transaction. Changes of links and counters are not stamped yet
  /// (``PendingChange/isUnstamped``).
  struct Change {
    let change: PendingChange
    /// The object; nil for a link.
    var object: ObjectReference?
    /// Whether the object did not exist before.
    var isInsertion = false
    /// Whether the object has another record now.
    var isFormer = false
  }

  /// Members of an ordered relationship that a transaction has moved, or added at a position.
  struct Move {
    var list: MemberList
    /// The record of the member before them; nil if they are first.
    var previous: RecordID?
    /// The members, which are next to each other.
    var members: [Member]

    struct Member {
      var id: RecordID
      let entity: EntityID
      /// The object; nil if it has another record now.
      let object: ObjectReference?
    }
  }

  /// The kinds of transactions that are sent: all but those of synchronization itself.
  private static let kinds = Set(HistoryKind.allCases).subtracting([.sync, .begin])

  /// The number of the newest transaction.
  ///
  /// - Throws: ``SyncError`` with `historyMissing` if the history was switched off, so that saves would be missed.
  var newest: Int64 {
    get throws {
      guard let bounds = try history.historyBounds() else { throw SyncError(.historyMissing, path: store.url?.path) }
      return bounds.newest.number
    }
  }

  /// Reads the transactions after a number, in bounded memory.
  ///
  /// - Parameters:
  ///   - former: The records that objects had in earlier transactions.
  ///   - body: Receives each change. A transaction can have several of an object, of which later values replace earlier ones.
  ///   - move: Receives each move, in the order in which they were made.
  ///   - end: Called at the end of each transaction, with its number and the time at which it was made, in milliseconds since 1970.
  /// - Returns: Whether a transaction may have changed any object.
  /// - Throws: ``SyncError`` with `historyMissing` if the history records no values.
  func read(
    after number: Int64, _ former: FormerRecords, _ body: (Change) throws -> Void, move: (Move) throws -> Void,
    end: (_ number: Int64, _ wall: Int64) throws -> Void
  ) throws -> Bool {
    guard try history.historySettings()?.level == .values, let ids = try history.historyIDs(),
      var reader = try historyReader(after: number)
    else { throw SyncError(.historyMissing, path: store.url?.path) }
    var isWhole = false
    while let fragment = try reader.next() {
      let transaction = fragment.transaction
      if transaction.isWhole { isWhole = true }
      try read(fragment.changes, former.records(in: transaction.transactionNumber), ids, body, move)
      if fragment.isLast { try end(transaction.transactionNumber, transaction.timestamp.millisecondsSince1970) }
    }
    return isWhole
  }

  /// Returns the number of transactions after a number that changed objects, and of the changed objects of each.
  func count(after number: Int64) throws -> (saves: Int, changes: Int) {
    var (saves, changes) = (0, 0)
    guard let ids = try history.historyIDs(), var reader = try historyReader(after: number) else { return (0, 0) }
    var objects = RowKeySet()
    while let fragment = try reader.next() {
      for change in fragment.changes where isSent(change, ids) { objects.insert(change.changedObjectID.reference.rawValue) }
      guard fragment.isLast else { continue }
      if !objects.isEmpty { saves += 1 }
      changes += objects.count
      objects = RowKeySet()
    }
    return (saves, changes)
  }

  /// Returns whether any of the transactions after a number, and up to another one, has changed an object. Reads the first changes only.
  func hasChanges(after number: Int64, through last: Int64) throws -> Bool {
    guard var reader = try historyReader(after: number, through: last) else { return false }
    while let fragment = try reader.next() { if !fragment.changes.isEmpty { return true } }
    return false
  }

  /// Returns those of some objects that transactions after a number have changed.
  func changedObjects(among objects: Set<ObjectReference>, after number: Int64) throws -> Set<ObjectReference> {
    guard var reader = try historyReader(after: number) else { return [] }
    var changed: Set<ObjectReference> = []
    while changed.count < objects.count, let fragment = try reader.next() {
      for change in fragment.changes where objects.contains(change.changedObjectID.reference) {
        changed.insert(change.changedObjectID.reference)
      }
    }
    return changed
  }

  /// Whether a change of an object has anything to send.
  func isSent(_ change: PersistentHistoryChange, _ ids: HistoryIDs) -> Bool {
    if change.changeType != .update || !change.links.isEmpty || !change.orders.isEmpty { return true }
    let entity = schema.model.entities[change.changedObjectID.reference.entity]
    return change.updatedProperties.contains { isSent($0, change, entity, ids) }
  }

  /// Whether a property of a change is sent.
  func isSent(_ name: String, _ change: PersistentHistoryChange, _ entity: CompiledEntity, _ ids: HistoryIDs) -> Bool {
    property(named: name, change, entity, ids) != nil
  }

  /// Returns the identity of a property of a change, or nil if it is not sent.
  ///
  /// A migration may have removed the property since. Other devices can have the former model, or one that has the property again.
  private func property(
    named name: String, _ change: PersistentHistoryChange, _ entity: CompiledEntity, _ ids: HistoryIDs
  ) -> PropertyID? {
    if change.derivedProperties.contains(name) { return nil }
    if let slot = entity.storedSlot(named: name) { return schema.entities[entity.number].property(inSlot: slot)?.id }
    guard entity.property(named: name) == nil, let value = change.newValues?.values[name] else { return nil }
    // The bytes of a large value are removed with the property.
    if case .large = value { return nil }
    return ids.removedProperty(named: name, ofEntity: entity.number).map { PropertyID($0.number) }
  }

  /// Returns a reader of the transactions after a number; nil without a history.
  func historyReader(after number: Int64, through last: Int64? = nil) throws -> HistoryReader? {
    guard let ids = try history.historyIDs() else { return nil }
    var query = HistoryQuery()
    (query.after, query.kinds) = (number, Self.kinds)
    if let last { query.upTo = last }
    return HistoryReader(history, identifier: store.identifier, space: store.space, ids: ids, query)
  }

  private func read(
    _ changes: [PersistentHistoryChange], _ former: [ObjectReference: RecordID], _ ids: HistoryIDs, _ body: (Change) throws -> Void,
    _ move: (Move) throws -> Void
  ) throws {
    var identities = RecordIdentities(history, known: former)
    for change in changes {
      identities.add(change.changedObjectID.reference)
      for value in (change.newValues?.values ?? [:]).values { if case .object(let id?) = value { identities.add(id.reference) } }
      for link in change.links { identities.add(link.destination.reference) }
      for move in change.orders.values.lazy.compactMap({ $0 }).joined() {
        for member in move.members + [move.after].compactMap({ $0 }) { identities.add(member.reference) }
      }
    }
    try identities.load()
    for change in changes {
      let object = change.changedObjectID.reference
      let entity = schema.entities[object.entity]
      let id = try identities.record(of: object)
      if change.changeType != .delete { for next in moves(by: change, of: id, identities, former) { try move(next) } }
      var values: [PropertyID: FieldValue]?
      if change.changeType != .delete {
        values = try self.values(change, entity, schema.model.entities[object.entity], ids, identities)
        for link in change.links { try self.change(of: link, from: object, identities).map { try body(Change(change: $0)) } }
        if values?.isEmpty ?? true, change.changeType == .update { continue }
      }
      try body(
        Change(
          change: pendingChange(id, change, values, entity), object: object, isInsertion: change.changeType == .insert,
          isFormer: former[object] != nil))
    }
  }

  /// Returns the moves in the ordered relationships of an object.
  private func moves(
    by change: PersistentHistoryChange, of id: RecordID, _ identities: RecordIdentities, _ former: [ObjectReference: RecordID]
  ) -> [Move] {
    if change.orders.isEmpty { return [] }
    let entity = schema.model.entities[change.changedObjectID.reference.entity]
    return change.orders.sorted { $0.key < $1.key }.flatMap { name, moves -> [Move] in
      guard case .toMany(let relationship)? = entity.property(named: name),
        let number = schema.lists.firstIndex(where: { $0.relationship.id == relationship.id })
      else { return [] }
      return (moves ?? []).map { move in
        let members = move.members.map(\.reference).compactMap { member in
          identities.knownRecord(of: member).map {
            Move.Member(id: $0, entity: schema.entities[member.entity].id, object: former[member] == nil ? member : nil)
          }
        }
        return Move(
          list: MemberList(owner: id, number: number), previous: move.after.flatMap { identities.knownRecord(of: $0.reference) },
          members: members)
      }
    }
  }

  private func pendingChange(
    _ id: RecordID, _ change: PersistentHistoryChange, _ values: [PropertyID: FieldValue]?, _ entity: SyncSchema.Entity
  ) -> PendingChange {
    if values == nil, schema.syncModel.updateWins(entity.id) { return .unstampedDeletion(of: id, entity: entity.id) }
    let rules = schema.syncModel.merging(of: entity.id)
    guard let values, !rules.isEmpty else { return PendingChange(id, entity: entity.id, values) }
    let slots = schema.model.entities[change.changedObjectID.reference.entity].slots
    var former: [PropertyID: FieldValue] = [:]
    // An inserted object has no old values.
    for (id, rule) in rules where rule.hasFixedStamps {
      guard let property = entity.property(id), case .attribute(let value)? = change.oldValues?.values[slots[property.slot].name] else {
        continue
      }
      former[id] = FieldValue(value)
    }
    return .unstamped(id, entity: entity.id, values, replacing: former, rules: rules)
  }

  /// Returns the change of a link.
  private func change(
    of link: PersistentHistoryChange.Link, from source: ObjectReference, _ identities: RecordIdentities
  ) throws -> PendingChange? {
    guard case .toMany(let relationship)? = schema.model.entities[source.entity].property(named: link.relationship),
      let links = schema.links.first(where: { $0.relationship.id == relationship.id })
    else { return nil }
    let destination = try identities.record(of: link.destination.reference)
    return .unstamped(links.link(from: try identities.record(of: source), to: destination), isAdded: link.isAdded)
  }

  /// Returns the new values of a change: of all properties for an inserted object, else of those that were set.
  private func values(
    _ change: PersistentHistoryChange, _ entity: SyncSchema.Entity, _ compiled: CompiledEntity, _ ids: HistoryIDs,
    _ identities: RecordIdentities
  ) throws -> [PropertyID: FieldValue] {
    var values: [PropertyID: FieldValue] = [:]
    if change.changeType == .insert { for property in entity.properties { values[property.id] = .null } }
    for (name, value) in change.newValues?.values ?? [:] {
      guard let property = property(named: name, change, compiled, ids) else { continue }
      switch value {
      case .attribute(let slot): values[property] = FieldValue(slot)
      case .object(let id): values[property] = try id.map { .reference(try identities.record(of: $0.reference)) } ?? .null
      case .large(let size, let digest): values[property] = Digest(bytes: digest).map { .asset(AssetReference(digest: $0, size: size)) }
      }
    }
    return values
  }
}

extension CompiledEntity {
  /// Returns the slot of an attribute, of a part of a composite, or of a to-one relationship.
  fileprivate func storedSlot(named name: String) -> Int? {
    switch property(named: name) {
    case .attribute(let slot): slot.index
    case .toOne(let relationship): relationship.index
    default: nil
    }
  }
}

extension Date {
  var millisecondsSince1970: Int64 { Int64((timeIntervalSince1970 * 1_000).rounded(.down)) }
}

public import ObjectModel

/// The changes that a transaction made to one object.
///
/// A change of a relationship is recorded once. For a to-one relationship, and for a to-many relationship with a to-one inverse, it is the
/// changed to-one relationship of the object that has it. For other to-many relationships, ``links`` of an object contains it, for
/// whichever of the relationship and its inverse comes first in the model. The links of a deleted object are removed in the same
/// transaction, by changes of the object itself or of the objects that referred to it. Earlier versions of the library did not record them.
public struct PersistentHistoryChange: Sendable, Hashable, Identifiable {
  /// The kind of a change.
  public enum ChangeType: String, Sendable, Hashable, Codable, CaseIterable {
    /// The object was inserted.
    case insert
    /// Properties or relationship members were changed.
    case update
    /// The object was deleted.
    case delete
  }

  /// The position of a change in the history of its store.
  public struct ID: Sendable, Hashable, Codable {
    /// The number of the transaction.
    public let transactionNumber: Int64
    /// The zero-based index of the change in the transaction.
    public let index: Int

    package init(transactionNumber: Int64, index: Int) { (self.transactionNumber, self.index) = (transactionNumber, index) }
  }

  /// A member added to or removed from a to-many relationship.
  public struct Link: Sendable, Hashable {
    /// The name of the relationship.
    public let relationship: String
    /// The member.
    public let destination: ManagedObjectID
    /// Whether the member was added. If false, it was removed.
    public let isAdded: Bool

    package init(relationship: String, destination: ManagedObjectID, isAdded: Bool) {
      (self.relationship, self.destination, self.isAdded) = (relationship, destination, isAdded)
    }
  }

  /// Members of an ordered relationship that were moved, or added at a position.
  public struct Move: Sendable, Hashable {
    /// The member directly before the moved members, or nil if they are at the beginning.
    public let after: ManagedObjectID?
    /// The moved members, which are next to each other in this order.
    public let members: [ManagedObjectID]

    package init(after: ManagedObjectID?, members: [ManagedObjectID]) { (self.after, self.members) = (after, members) }
  }

  /// The position of the change.
  public let id: ID
  /// The ID of the changed object.
  public let changedObjectID: ManagedObjectID
  /// The kind of the change.
  public let changeType: ChangeType
  /// The names of the changed properties, sorted. Empty for inserted and deleted objects.
  ///
  /// Names are those of the current model, even if a property had another name at the time. Properties that the model no longer has are
  /// listed with their last name.
  public internal(set) var updatedProperties: [String]
  /// The changed properties that the store computes.
  public internal(set) var derivedProperties: [String] = []
  /// The added and removed relationship members.
  public internal(set) var links: [Link] = []
  /// The moves of members, by the name of the ordered relationship. Nil if the history does not record values.
  ///
  /// Moves are applied one after the other: the members are removed from the list and inserted after their neighbor. Members that are not
  /// moved keep their relative order; ``order(_:of:)`` applies the moves. Transactions of earlier versions of the library list all members
  /// as one move to the beginning.
  public internal(set) var orders: [String: [Move]?] = [:]
  /// The preserved values of a deleted object. Nil for other objects, and if no values are preserved.
  public internal(set) var tombstone: Values?
  /// The previous values of changed properties, or all values of a deleted object. Nil if the history does not record values.
  public internal(set) var oldValues: Values?
  /// The new values of changed properties, or all values of an inserted object. Nil if the history does not record values.
  public internal(set) var newValues: Values?

  /// Whether the transaction of a deletion lists the links in join tables that were removed with the object.
  package internal(set) var listsRemovedLinks = false

  /// The position of the change, the same as ``id``.
  public var changeID: ID { id }

  package init(id: ID, objectID: ManagedObjectID, type: ChangeType, updatedProperties: [String] = []) {
    self.id = id
    changedObjectID = objectID
    changeType = type
    self.updatedProperties = updatedProperties
  }
}

extension PersistentHistoryChange {
  /// Returns members of an ordered relationship in the order after the change.
  ///
  /// - Parameters:
  ///   - members: The members in their order before the change. Members that left the relationship remain in the result.
  ///   - relationship: The name of the relationship.
  /// - Returns: The new order, which includes added members; the same members if the change does not contain the relationship; nil if the
  ///   history does not record values.
  /// - Complexity: O(*n*), where *n* is the number of members.
  public func order(_ members: [ManagedObjectID], of relationship: String) -> [ManagedObjectID]? {
    guard let moves = orders[relationship] else { return members }
    guard let moves else { return nil }
    let change = OrderChange(
      runs: moves.map { OrderChange.Run(after: $0.after.map(\.reference), members: $0.members.map(\.reference)) })
    let space = changedObjectID.space
    return change.applied(to: members.map(\.reference)).map {
      ManagedObjectID(space: space, entityNumber: UInt32($0.entity), key: $0.key)
    }
  }

  /// Recorded values, by property name.
  public typealias Values = RecordedValues
}

/// Converts the records of a transaction to changes of objects of the current model. Consecutive records of one object are combined into
/// one change.
struct HistoryChangeDecoder {
  private let ids: HistoryIDs
  private let space: ObjectIDSpace
  private var decoder: HistoryDecoder?
  private var transaction: Int64 = 0
  /// The number of the current row, for errors.
  private var row: Int64 = 0
  private var index = 0
  /// The remaining inserted objects of the current record.
  private var run: (entity: Int, next: Int64, count: Int64)?
  /// The last change, which the next record may extend.
  private var pending: PersistentHistoryChange?
  /// The last list of properties and their names. Two properties instead of a tuple, so that comparing the list retains nothing.
  private var lastProperties: [Int] = []
  private var lastNames: [String] = []
  /// The number of skipped changes, whose entities were removed from the model.
  private(set) var skipped = 0
  private(set) var schemaChanges: [PersistentHistoryTransaction.SchemaChange] = []

  init(ids: HistoryIDs, space: ObjectIDSpace) {
    self.ids = ids
    self.space = space
  }

  mutating func begin(transaction: Int64) {
    self.transaction = transaction
    (decoder, run, pending, index, skipped) = (nil, nil, nil, 0, 0)
    schemaChanges = []
  }

  /// Starts decoding the records of the next row.
  mutating func take(_ entry: HistoryEntry) throws {
    row = entry.number
    decoder = HistoryDecoder(entry.changes, number: entry.number)
  }

  /// Returns the next complete change, or nil at the end of the row.
  mutating func next() throws(StoreError) -> PersistentHistoryChange? {
    while true {
      if let run {
        if let last = finish() { return last }
        self.run = run.count > 1 ? (run.entity, run.next + 1, run.count - 1) : nil
        return change(.insert, ObjectReference(entity: run.entity, key: run.next))
      }
      guard let record = try decoder?.next() else { return nil }
      if let done = try take(record) { return done }
    }
  }

  /// Returns the last change of the transaction.
  mutating func finish() -> PersistentHistoryChange? {
    pending.take()
  }

  // MARK: Records

  /// Processes a record.
  ///
  /// - Returns: The previous change, if it is now complete.
  private mutating func take(_ record: HistoryRecord) throws(StoreError) -> PersistentHistoryChange? {
    switch record {
    case .whole: return nil
    case .migrated(_, _, let changes):
      for change in changes { schemaChanges.append(try schemaChange(change)) }
      return nil
    case .inserted(let entity, let first, let count):
      if let number = try reference(HistoryObject(entity: entity, key: first))?.entity {
        run = (number, first, count)
      } else {
        skipped += Int(clamping: count)
      }
      return nil
    case .insertedWithValues(let object, let values):
      guard let reference = try reference(object) else { return skip() }
      var change = change(.insert, reference)
      change.newValues = try self.values(values, reference.entity)
      return exchange(change)
    case .updated(let object, let properties):
      guard let reference = try reference(object) else { return skip() }
      var change = emptyChange(reference)
      change.updatedProperties = try names(properties)
      return update(change)
    case .updatedWithValues(let object, let changes):
      guard let reference = try reference(object) else { return skip() }
      var change = emptyChange(reference)
      change.updatedProperties = try names(changes.map(\.property))
      change.oldValues = try values(changes.map { HistoryAssignment(property: $0.property, value: $0.old) }, reference.entity)
      change.newValues = try values(changes.map { HistoryAssignment(property: $0.property, value: $0.new) }, reference.entity)
      return update(change)
    case .deleted(let object, let tombstone, let others, let listsLinks):
      guard let reference = try reference(object) else { return skip() }
      var change = change(.delete, reference)
      change.listsRemovedLinks = listsLinks
      if !tombstone.isEmpty { change.tombstone = try values(tombstone, reference.entity) }
      if let others { change.oldValues = try values(tombstone + others, reference.entity) }
      return exchange(change)
    case .derived(let object, let properties):
      guard let reference = try reference(object) else { return skip() }
      var change = emptyChange(reference)
      change.derivedProperties = try names(properties)
      change.updatedProperties = change.derivedProperties
      return update(change)
    case .linked(let relationship, let isRemoval, let object, let members):
      guard let reference = try reference(object) else { return skip() }
      let name = try name(relationship)
      var links: [PersistentHistoryChange.Link] = []
      for member in members {
        guard let destination = try self.reference(member) else { continue }
        links.append(.init(relationship: name, destination: id(destination), isAdded: !isRemoval))
      }
      var change = emptyChange(reference)
      change.updatedProperties = [name]
      change.links = links
      return update(change)
    case .ordered(let relationship, let object, let members):
      guard let reference = try reference(object) else { return skip() }
      return update(
        try reordering(
          reference, relationship, try members.map { members throws(StoreError) in try moves([HistoryRun(after: nil, members: members)]) }))
    case .moved(let relationship, let object, let runs):
      guard let reference = try reference(object) else { return skip() }
      return update(try reordering(reference, relationship, try moves(runs)))
    }
  }

  fileprivate func schemaChange(_ change: HistorySchemaChange) throws(StoreError) -> PersistentHistoryTransaction.SchemaChange {
    guard let entity = ids.entity(ofID: change.entity) else { throw unreadable }
    var values: PersistentHistoryChange.Values?
    if let value = change.value, let number = entity.number {
      values = try self.values([HistoryAssignment(property: change.property, value: value)], number)
    }
    return PersistentHistoryTransaction.SchemaChange(
      PersistentHistoryTransaction.SchemaChange.Kind(change.kind), entityName: entity.name,
      propertyName: change.property > 0 ? try name(change.property) : nil,
      formerPropertyName: change.former > 0 ? try name(change.former) : nil, values: values)
  }

  private func reordering(
    _ reference: ObjectReference, _ relationship: Int, _ moves: [PersistentHistoryChange.Move]?
  ) throws(StoreError) -> PersistentHistoryChange {
    let name = try name(relationship)
    var change = emptyChange(reference)
    change.updatedProperties = [name]
    change.orders = [name: moves]
    return change
  }

  /// Returns the moves of runs, without objects whose entity was removed from the model.
  private func moves(_ runs: [HistoryRun]) throws(StoreError) -> [PersistentHistoryChange.Move] {
    var moves: [PersistentHistoryChange.Move] = []
    for run in runs {
      var members: [ManagedObjectID] = []
      for member in run.members { if let member = try reference(member) { members.append(id(member)) } }
      let after = try run.after.flatMap { after throws(StoreError) in try reference(after) }
      if !members.isEmpty { moves.append(.init(after: after.map { id($0) }, members: members)) }
    }
    return moves
  }

  private mutating func skip() -> PersistentHistoryChange? {
    skipped += 1
    return nil
  }

  private mutating func change(_ type: PersistentHistoryChange.ChangeType, _ reference: ObjectReference) -> PersistentHistoryChange {
    defer { index += 1 }
    return PersistentHistoryChange(id: .init(transactionNumber: transaction, index: index), objectID: id(reference), type: type)
  }

  /// Makes a change the pending one and returns the previous one, which is now complete.
  private mutating func exchange(_ change: consuming PersistentHistoryChange) -> PersistentHistoryChange? {
    let previous = pending.take()
    pending = change
    return previous
  }

  /// Creates an update without advancing the index.
  private func emptyChange(_ reference: ObjectReference) -> PersistentHistoryChange {
    PersistentHistoryChange(id: .init(transactionNumber: transaction, index: index), objectID: id(reference), type: .update)
  }

  /// Combines an update with the pending change if that is an update of the same object. Otherwise makes it the pending change.
  private mutating func update(_ change: PersistentHistoryChange) -> PersistentHistoryChange? {
    // Compared in place, because copying a change retains a dozen references.
    if pending?.changedObjectID == change.changedObjectID, pending?.changeType == .update {
      pending?.add(change)
      return nil
    }
    index += 1
    return exchange(change)
  }

  // MARK: IDs

  private var unreadable: StoreError { StoreError(.unreadableHistory(number: row), operation: .readHistory) }

  /// Returns the reference to an object, or nil if its entity was removed from the model.
  private func reference(_ object: HistoryObject) throws(StoreError) -> ObjectReference? {
    if let reference = ids.reference(object) { return reference }
    guard ids.isRemovedEntity(object.entity) else { throw unreadable }
    return nil
  }

  private func id(_ reference: ObjectReference) -> ManagedObjectID {
    space.objectID(of: reference)
  }

  private func name(_ property: Int) throws(StoreError) -> String {
    switch ids.property(property) {
    case .slot(let slot): return slot.name
    case .toMany(let relationship): return relationship.name
    case .removed(let name): return name
    case nil: throw unreadable
    }
  }

  /// Returns the sorted names of properties. Consecutive records often have the same list, which is cached.
  private mutating func names(_ properties: [Int]) throws(StoreError) -> [String] {
    if lastProperties == properties { return lastNames }
    var names: [String] = []
    for property in properties { names.append(try name(property)) }
    names.sort()
    (lastProperties, lastNames) = (properties, names)
    return names
  }

  private func values(_ assignments: [HistoryAssignment], _ entity: Int) throws(StoreError) -> PersistentHistoryChange.Values {
    var values: [String: PersistentHistoryChange.Values.Value] = [:]
    for assignment in assignments {
      let name = try name(assignment.property)
      switch assignment.value {
      case .null:
        if case .slot(let slot) = ids.property(assignment.property), slot.relationship != nil {
          values[name] = .object(nil)
        } else {
          values[name] = .attribute(.null)
        }
      case .int(let value): values[name] = attribute(.int(value), assignment.property)
      case .real(let bits): values[name] = attribute(.real(Double(bitPattern: bits)), assignment.property)
      case .text(let value): values[name] = .attribute(.text(value))
      case .bytes(let value): values[name] = attribute(.bytes(value), assignment.property)
      case .reference(let object): values[name] = .object(try reference(object).map { id($0) })
      case .large(_, let size, let digest): values[name] = .large(size: size, digest: Array(digest))
      }
    }
    return PersistentHistoryChange.Values(values, of: ids.model.entities[entity])
  }

  /// Converts a value to the current type of the attribute, because a migration may have changed its number type.
  private func attribute(_ value: Slot, _ property: Int) -> PersistentHistoryChange.Values.Value {
    guard case .slot(let slot) = ids.property(property), let type = slot.attributeType else { return .attribute(value) }
    return .attribute(type.adopting(value))
  }
}

extension HistoryIDs {
  /// Returns a change of all objects of an entity with the present names of what it concerns.
  package func schemaChange(_ change: HistorySchemaChange, in space: ObjectIDSpace) throws(StoreError)
    -> PersistentHistoryTransaction.SchemaChange
  {
    try HistoryChangeDecoder(ids: self, space: space).schemaChange(change)
  }
}

extension PersistentHistoryChange {
  /// Adds an update of the same object from another record of the transaction.
  fileprivate mutating func add(_ other: PersistentHistoryChange) {
    updatedProperties = Set(updatedProperties).union(other.updatedProperties).sorted()
    derivedProperties = Set(derivedProperties).union(other.derivedProperties).sorted()
    links += other.links
    orders.merge(other.orders) { older, newer in older.flatMap { older in newer.map { older + $0 } } }
    if let values = other.oldValues { oldValues = oldValues.map { $0.merging(values, keepsOwn: true) } ?? values }
    if let values = other.newValues { newValues = newValues.map { $0.merging(values, keepsOwn: false) } ?? values }
  }
}

extension PersistentHistoryChange.Values {
  fileprivate func merging(_ other: PersistentHistoryChange.Values, keepsOwn: Bool) -> PersistentHistoryChange.Values {
    var result = self
    result.values.merge(other.values) { keepsOwn ? $0 : $1 }
    return result
  }
}

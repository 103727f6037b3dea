package import ObjectModel

/// What the consumers of a ``ChangeStream`` need. A store reads and reports only that.
package final class ChangeNeeds: Sendable {
  /// What is needed of an entity's objects.
  package struct OfEntity: Sendable {
    /// Whether changes of objects are reported at all.
    package var isIncluded = false
    /// The slots whose updates are reported, or nil for all.
    package var slots: SlotMask?
    /// Whether an update includes the old row, and an insertion or update the new one.
    package var includesOldRow = false
    package var includesNewRow = false
    /// Whether an update of derived attributes includes the old and the new row.
    package var includesOldDerivedRow = false
    package var includesNewDerivedRow = false
    /// Whether a deletion includes the deleted row.
    package var includesDeletedRow = false
    /// Whether a deletion includes at least the to-one relationships of the deleted row.
    package var includesDeletedDestinations = false

    package init() {}

    fileprivate mutating func formUnion(_ other: OfEntity) {
      guard other.isIncluded else { return }
      if !isIncluded { slots = other.slots } else if let theirs = other.slots { slots?.formUnion(theirs) } else { slots = nil }
      isIncluded = true
      includesOldRow = includesOldRow || other.includesOldRow
      includesNewRow = includesNewRow || other.includesNewRow
      includesOldDerivedRow = includesOldDerivedRow || other.includesOldDerivedRow
      includesNewDerivedRow = includesNewDerivedRow || other.includesNewDerivedRow
      includesDeletedRow = includesDeletedRow || other.includesDeletedRow
      includesDeletedDestinations = includesDeletedDestinations || other.includesDeletedDestinations
    }
  }

  /// The needs by entity number.
  package let entities: [OfEntity]
  /// Whether updates are reported whatever their slots.
  private let includesAllSlots: Bool
  /// Whether changes of the members and the order of a to-many relationship are reported, by relationship number.
  package let relationships: [Bool]

  package init(entities: [OfEntity], relationships: [Bool]) {
    (self.entities, self.relationships) = (entities, relationships)
    includesAllSlots = entities.allSatisfy { $0.slots == nil }
  }

  /// Creates needs of no changes.
  package convenience init(nothingOf model: CompiledModel) {
    self.init(entities: model.entities.map { _ in OfEntity() }, relationships: model.relationships.map { _ in false })
  }

  /// Returns needs that cover both.
  package func union(_ other: ChangeNeeds) -> ChangeNeeds {
    var entities = entities
    for number in entities.indices { entities[number].formUnion(other.entities[number]) }
    return ChangeNeeds(entities: entities, relationships: zip(relationships, other.relationships).map { $0 || $1 })
  }

  @inline(__always) package subscript(entity: Int) -> OfEntity { entities[entity] }

  /// Whether changes of all objects and all their slots are reported.
  package var includesEverything: Bool { includesAllSlots && entities.allSatisfy(\.isIncluded) }

  /// Returns whether changes of an entity's objects are reported.
  @inline(__always) package func includes(_ entity: Int) -> Bool { entities[entity].isIncluded }

  /// Returns whether an update of slots is reported.
  @inline(__always) package func includes(_ entity: Int, _ changed: SlotMask) -> Bool {
    entities[entity].isIncluded && (includesAllSlots || entities[entity].slots.map { $0.intersects(changed) } ?? true)
  }
}

/// A consumer of a store's changes inside the write transaction. It may write to tables of its own.
package protocol ChangeConsumer: AnyObject {
  /// What the consumer needs. Constant for a request after ``expect(_:)``.
  var needs: ChangeNeeds { get }
  /// Called with the number of rows that the request will report, if it is known, before the first of them. The consumer can then need
  /// less.
  func expect(_ count: Int)
  /// Called for each change that the needs of any consumer include, in the order of the changes. An error ends the request.
  func receive(_ change: RowChange) throws
}

extension ChangeConsumer {
  package func expect(_ count: Int) {}
}

/// The changes of one request, passed to the consumers while the request runs. There is no stream without a consumer.
package final class ChangeStream {
  /// The needs of all consumers.
  package private(set) var needs: ChangeNeeds
  /// The ID space of the reported objects.
  package let space: ObjectIDSpace
  package var model: CompiledModel { space.model }
  private let consumers: [any ChangeConsumer]

  private init(_ consumers: [any ChangeConsumer], _ needs: ChangeNeeds, in space: ObjectIDSpace) {
    self.needs = needs
    self.consumers = consumers
    self.space = space
  }

  /// Returns a new stream, or nil if there are no consumers.
  package static func begin(_ consumers: [any ChangeConsumer], in space: ObjectIDSpace) -> ChangeStream? {
    needs(of: consumers).map { ChangeStream(consumers, $0, in: space) }
  }

  private static func needs(of consumers: [any ChangeConsumer]) -> ChangeNeeds? {
    guard let first = consumers.first?.needs else { return nil }
    return consumers.dropFirst().reduce(first) { $0.union($1.needs) }
  }

  /// Announces the number of rows that will be reported.
  package func expect(_ count: Int) {
    for consumer in consumers { consumer.expect(count) }
    needs = Self.needs(of: consumers) ?? needs
  }

  /// Passes a change to the consumers.
  package func report(_ change: RowChange) throws {
    for consumer in consumers { try consumer.receive(change) }
  }

  // MARK: Changes

  /// Reports an inserted row.
  package func insert(_ row: RowImage) throws { try insert(row.reference, row) }

  /// Reports an inserted row, which is given if it is known.
  package func insert(_ reference: ObjectReference, _ row: RowImage?) throws {
    guard needs.includes(reference.entity) else { return }
    try report(.insert(ChangedRow(reference, new: row, in: space)))
  }

  /// Reports an updated row.
  ///
  /// - Parameters:
  ///   - old: The former row, if it is needed.
  ///   - new: The new row, if it is known.
  package func update(_ reference: ObjectReference, _ slots: SlotMask, old: RowImage?, new: RowImage?, isDerived: Bool = false) throws {
    guard needs.includes(reference.entity, slots) else { return }
    try report(.update(ChangedRow(reference, old: old, new: new, slots: slots, isDerived: isDerived, in: space)))
  }

  /// Reports a deleted row.
  package func delete(_ reference: ObjectReference, _ row: RowImage?) throws {
    guard needs.includes(reference.entity) else { return }
    try report(.delete(ChangedRow(reference, old: row, in: space)))
  }

  /// Reports added and removed members of a to-many relationship.
  package func links(_ links: ChangedLinks) throws {
    guard needs.relationships[links.relationship.id] else { return }
    try report(.links(links))
  }

  /// Reports an added link.
  package func link(_ relationship: CompiledRelationship, _ source: ObjectReference, _ member: ObjectReference) throws {
    let (leading, isReversed) = model.leading(relationship)
    try links(leading, of: isReversed ? member : source, added: [isReversed ? source : member], removed: [])
  }

  /// Reports added and removed links of a leading relationship. If it is its own inverse, each link is reported for the end that comes
  /// first.
  package func links(
    _ relationship: CompiledRelationship, of source: ObjectReference, added: [ObjectReference], removed: [ObjectReference]
  ) throws {
    if added.isEmpty, removed.isEmpty { return }
    guard relationship.isItsOwnInverse else {
      return try links(ChangedLinks(relationship, of: source, added: added, removed: removed, in: space))
    }
    func reportOwn(_ added: [ObjectReference], _ removed: [ObjectReference]) throws {
      if added.isEmpty, removed.isEmpty { return }
      try links(ChangedLinks(relationship, of: source, added: added, removed: removed, in: space))
    }
    try reportOwn(added.filter { !$0.comesBefore(source) }, removed.filter { !$0.comesBefore(source) })
    for member in removed where member.comesBefore(source) {
      try links(ChangedLinks(relationship, of: member, removed: [source], in: space))
    }
    for member in added where member.comesBefore(source) {
      try links(ChangedLinks(relationship, of: member, added: [source], in: space))
    }
  }

  // MARK: Saves

  /// Returns whether a save's former row must be read before it is written.
  package func needsOldRow(of update: SaveChangesRequest.Update) -> Bool {
    let entity = update.row.entityNumber
    return needs.entities[entity].includesOldRow && needs.includes(entity, update.changedSlots)
  }

  /// Returns whether changed links of a relationship, or of its inverse, are reported.
  package func needsLinks(of relationship: CompiledRelationship) -> Bool {
    needs.relationships[model.leading(relationship).relationship.id]
  }

  /// Reports the changes of a save: deletions, updates, insertions, and then the relationships of unchanged and inserted rows.
  ///
  /// - Parameters:
  ///   - request: The save as written.
  ///   - oldRows: The former rows that are needed.
  ///   - removedLinks: The links that were removed with the deleted objects.
  ///   - applied: What the store has changed for the request's relationship changes.
  package func save(
    _ request: SaveChangesRequest, oldRows: [ObjectReference: RowImage], removedLinks: RemovedLinks?, applied: AppliedRelationships
  ) throws {
    try reportDeletions(of: request, oldRows, removedLinks)
    let changes = request.relationshipChanges
    var own: [ObjectReference: [Int]] = [:]
    if !changes.isEmpty, !request.updated.isEmpty {
      let updated = Set(request.updated.map(\.row.reference))
      own = Dictionary(grouping: changes.indices.lazy.filter { updated.contains(changes[$0].source) }, by: { changes[$0].source })
    }
    for update in request.updated {
      let row = update.row
      try self.update(row.reference, update.changedSlots, old: oldRows[row.reference], new: row)
      for position in own[row.reference] ?? [] { try report(changes[position], at: position, applied) }
    }
    for row in request.inserted { try insert(row) }
    for position in changes.indices where own[changes[position].source] == nil { try report(changes[position], at: position, applied) }
  }

  private func reportDeletions(
    of request: SaveChangesRequest, _ oldRows: [ObjectReference: RowImage], _ removedLinks: RemovedLinks?
  ) throws {
    if request.deleted.isEmpty { return }
    for links in removedLinks?.linksOfOthers ?? [] { try self.links(links) }
    let own = removedLinks?.linksOfDeleted ?? [:]
    for deleted in request.deleted {
      for links in own[deleted.reference] ?? [] { try self.links(links) }
      try delete(deleted.reference, oldRows[deleted.reference])
    }
  }

  private func report(_ change: SaveChangesRequest.RelationshipChange, at position: Int, _ applied: AppliedRelationships) throws {
    let relationship = model.relationships[change.relationshipID]
    guard needs.relationships[relationship.id] else { return }
    // Membership that is stored in the members' to-one slots is reported by their updates.
    if model.inverse(of: relationship)?.isToMany ?? true {
      let (added, removed) = applied.links(of: change, at: position)
      try links(relationship, of: change.source, added: added, removed: removed)
    }
    if let order = applied.orders[position] {
      try report(.order(ChangedOrder(relationship, of: change.source, order: order.members, order.change, in: space)))
    }
  }
}

extension CompiledModel {
  /// Returns the one of a relationship and its inverse whose links are stored and reported, which is the one that comes first in the model,
  /// and whether it is the inverse.
  package func leading(_ relationship: CompiledRelationship) -> (relationship: CompiledRelationship, isReversed: Bool) {
    guard let inverse = inverse(of: relationship), inverse.id < relationship.id else { return (relationship, false) }
    return (inverse, true)
  }
}

extension CompiledRelationship {
  /// Whether the relationship is its own inverse. Each link is then stored in both directions.
  package var isItsOwnInverse: Bool { inverseID == id }
}

extension ObjectReference {
  /// Returns whether the reference precedes another by entity and key.
  fileprivate func comesBefore(_ other: ObjectReference) -> Bool { UInt64(bitPattern: rawValue) < UInt64(bitPattern: other.rawValue) }
}

/// What a store has changed for the relationship changes of a save. The save may add a link that another context has already added, or remove
/// one that is not stored.
package struct AppliedRelationships {
  private var ineffective: [Int: Ineffective] = [:]
  /// The changed orders, by position in the request's relationship changes.
  private(set) var orders: [Int: (members: [ObjectReference], change: OrderChange)] = [:]

  private struct Ineffective {
    var added: Set<ObjectReference> = []
    var removed: Set<ObjectReference> = []
  }

  package init() {}

  /// Records that a link that the save adds was stored already.
  package mutating func omitAddition(of member: ObjectReference, at position: Int) {
    ineffective[position, default: Ineffective()].added.insert(member)
  }

  /// Records that a link that the save removes was not stored.
  package mutating func omitRemoval(of member: ObjectReference, at position: Int) {
    ineffective[position, default: Ineffective()].removed.insert(member)
  }

  /// Records the order of all members after the save, unless no member was moved.
  package mutating func setOrder(_ members: [ObjectReference], _ change: OrderChange, at position: Int) {
    if !change.isEmpty { orders[position] = (members, change) }
  }

  fileprivate func links(
    of change: SaveChangesRequest.RelationshipChange, at position: Int
  ) -> (added: [ObjectReference], removed: [ObjectReference]) {
    guard !ineffective.isEmpty, let omitted = ineffective[position] else { return (change.added, change.removed) }
    return (change.added.filter { !omitted.added.contains($0) }, change.removed.filter { !omitted.removed.contains($0) })
  }
}

/// Collects the links that are removed with deleted objects, each once: for the leading relationship of each pair.
package struct RemovedLinks {
  private let stream: ChangeStream
  package let deleted: Set<ObjectReference>
  /// The links that the request itself removes, and those of them that were found.
  private var known: Set<Link> = []
  private var found: Set<Link> = []
  private var owners: [Owner] = []
  private var members: [[ObjectReference]] = []
  /// Whether each owner is deleted.
  private var areDeleted: [Bool] = []
  /// The positions of the owners that remain. Links of a deleted owner arrive one after the other.
  private var positions: [Owner: Int] = [:]

  private struct Link: Hashable {
    let owner: Owner
    let member: ObjectReference
  }
  private struct Owner: Hashable {
    let relationship: Int
    let source: ObjectReference
  }

  package init(_ stream: ChangeStream, of request: SaveChangesRequest) {
    self.stream = stream
    deleted = Set(request.deleted.map(\.reference))
    for change in request.relationshipChanges {
      let owner = Owner(relationship: change.relationshipID, source: change.source)
      for member in change.removed { known.insert(Link(owner: owner, member: member)) }
    }
  }

  /// Adds a link of a deleted object. All links of the object in a relationship must be added one after the other. A link of two deleted
  /// objects is added from both sides.
  ///
  /// - Parameters:
  ///   - relationship: A relationship of the deleted object, or its inverse if `isReversed`.
  ///   - isReversed: Whether the deleted object is the member. A relationship that is its own inverse is added in one direction only.
  package mutating func add(_ relationship: CompiledRelationship, of object: ObjectReference, _ other: ObjectReference, isReversed: Bool) {
    let leading = stream.model.leading(relationship)
    var isReversed = isReversed != leading.isReversed
    let relationship = leading.relationship
    if relationship.isItsOwnInverse {
      if isReversed { return }
      isReversed = other.comesBefore(object)
    }
    // Added from the other side.
    if isReversed, deleted.contains(other) { return }
    let owner = Owner(relationship: relationship.id, source: isReversed ? other : object)
    let member = isReversed ? object : other
    if !known.isEmpty {
      var link = Link(owner: owner, member: member)
      if !known.contains(link), relationship.isItsOwnInverse {
        link = Link(owner: Owner(relationship: relationship.id, source: member), member: owner.source)
      }
      if known.contains(link) {
        found.insert(link)
        return
      }
    }
    let position: Int
    if isReversed {
      position = positions[owner] ?? owners.count
      positions[owner] = position
    } else {
      position = owners.last == owner ? owners.count - 1 : owners.count
    }
    if position == owners.count {
      owners.append(owner)
      members.append([member])
      areDeleted.append(!isReversed)
    } else {
      members[position].append(member)
    }
  }

  /// Returns whether a link that the request removes was found with a deleted object.
  package func contains(_ member: ObjectReference, removedBy change: SaveChangesRequest.RelationshipChange) -> Bool {
    !found.isEmpty
      && found.contains(Link(owner: Owner(relationship: change.relationshipID, source: change.source), member: member))
  }

  /// The links of objects that remain.
  var linksOfOthers: [ChangedLinks] { owners.indices.lazy.filter { !areDeleted[$0] }.map(links) }

  /// The links of deleted objects.
  var linksOfDeleted: [ObjectReference: [ChangedLinks]] {
    Dictionary(grouping: owners.indices.lazy.filter { areDeleted[$0] }.map(links), by: \.source)
  }

  private func links(at position: Int) -> ChangedLinks {
    let owner = owners[position]
    return ChangedLinks(stream.model.relationships[owner.relationship], of: owner.source, removed: members[position], in: stream.space)
  }
}

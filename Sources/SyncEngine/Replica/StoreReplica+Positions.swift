import Foundation
import ObjectModel
import ObjectStore
import SQLCipherStore
import SyncCore

/// A member of an ordered relationship: the record that has its position, and the reference to the object that has the list.
struct ListMember: Hashable {
  let id: RecordID
  let reference: PropertyID

  /// The property of the record that has the position.
  var property: PropertyID { .position(through: reference) }
  fileprivate var columns: (id: Slot, property: Slot) { (id.slot, .int(Int64(bitPattern: reference.value))) }
}

/// The positions of members in ordered relationships, as the rows of the store show them.
extension StoreReplica {
  func position(of member: ListMember) throws -> (owner: RecordID, key: PositionKey)? {
    var found: (owner: RecordID, key: PositionKey)?
    try transactionTables.query(SyncStatement.position, member.columns.id, member.columns.property) {
      found = (RecordID(bytes: $0.bytes(0)), PositionKey(bytes: $0.bytes(1)))
    }
    return found
  }

  /// - Parameter owner: The object that has the list; nil if the member refers to none.
  private func setPosition(_ key: PositionKey, of member: ListMember, in owner: RecordID?) throws {
    let owner = owner ?? RecordID(high: 0, low: 0)
    try transactionTables.execute(
      SyncStatement.setPosition, member.columns.id, member.columns.property, owner.slot, .bytes(Data(key.bytes)))
  }

  private func removePosition(of member: ListMember) throws {
    try transactionTables.execute(SyncStatement.removePosition, member.columns.id, member.columns.property)
  }

  func removePositions(of id: RecordID) throws {
    if !schema.lists.isEmpty { try transactionTables.execute(SyncStatement.removePositions, id.slot) }
  }

  /// Gives the positions of a record, and of the members of its lists, to another one.
  func renewPositions(of id: RecordID, as new: RecordID) throws {
    if schema.lists.isEmpty { return }
    for sql in SyncStatement.renewPositions { try transactionTables.execute(sql, id.slot, new.slot) }
  }

  /// Returns the key that a statement finds among those of a list.
  private func key(_ sql: String, _ list: MemberList, _ last: PositionKey? = nil) throws -> PositionKey? {
    var found: PositionKey?
    for reference in schema.references(of: list) {
      let property = Slot.int(Int64(bitPattern: reference.value))
      let add: (SideTableRow) -> Void = { row in
        if row.isNull(0) { return }
        let key = PositionKey(bytes: row.bytes(0))
        found = found.map { sql == SyncStatement.lastPosition ? max($0, key) : min($0, key) } ?? key
      }
      if let last {
        try transactionTables.query(sql, list.owner.slot, property, .bytes(Data(last.bytes)), row: add)
      } else {
        try transactionTables.query(sql, list.owner.slot, property, row: add)
      }
    }
    return found
  }

  // MARK: Members

  /// Returns the members of lists in the order of the rows.
  ///
  /// - Parameter objects: The objects that have the lists.
  func members(of relationship: CompiledRelationship, _ objects: [ObjectReference]) throws -> RelationshipValues {
    try store.incrementalStore.newValues(forRelationship: relationship, forObjectsWith: objects.map(store.space.objectID), in: scope)
  }

  /// Returns the records that have the positions of members.
  ///
  /// - Parameter objects: The records of the members.
  func listMembers(_ objects: some Sequence<RecordID>, of list: MemberList) -> [ListMember] {
    let reference = schema.lists[list.number].reference
    return objects.map { object in
      guard let link = link(of: object, in: list) else { return ListMember(id: object, reference: reference) }
      let isSwapped = schema.syncModel.entities[link.relationship]?.isSymmetric ?? false && link.source != list.owner
      return ListMember(id: link.recordID, reference: isSwapped ? .linkDestination : reference)
    }
  }

  /// Returns the link of a member to the object that has the list; nil if the members refer to the object themselves.
  func link(of member: RecordID, in list: MemberList) -> Link? {
    let relationship = schema.lists[list.number]
    guard let links = relationship.links.map({ schema.links[$0] }) else { return nil }
    let isOwn = links.relationship.id == relationship.relationship.id
    return isOwn ? links.link(from: list.owner, to: member) : links.link(from: member, to: list.owner)
  }

  /// Returns the members of lists in the order of the rows, as far as they have records.
  private func storedMembers(
    of lists: [(list: MemberList, object: ObjectReference)], _ number: Int
  ) throws -> [[(object: ObjectReference, member: ListMember)]] {
    let members = try members(of: schema.lists[number].relationship, lists.map(\.object))
    var identities = RecordIdentities(history)
    for member in members.references { identities.add(member) }
    try identities.load()
    return lists.indices.map { position in
      let known = members[position].compactMap { object in identities.knownRecord(of: object).map { (object, $0) } }
      return zip(known.map(\.0), listMembers(known.map(\.1), of: lists[position].list)).map { ($0, $1) }
    }
  }

  /// Gives positions to the members that a list has had from before synchronization began, unless they have some.
  ///
  /// The positions are in the order that the rows have now, after all saves of the application.
  /// - Returns: Whether the running transaction has given them.
  @discardableResult
  func number(_ list: MemberList) throws -> Bool {
    if let known = running.numberedLists[list] { return known }
    if running.isSnapshot { return false }
    running.numberedLists[list] = false
    if try key(SyncStatement.firstPosition, list) != nil { return false }
    guard let object = try reference(of: list.owner) ?? history.reference(forStableID: list.owner.uuid) else { return false }
    for (index, member) in try storedMembers(of: [(list, object)], list.number)[0].enumerated() where try row(of: member.member.id) == nil {
      try setPosition(PositionKey(baseline: index), of: member.member, in: list.owner)
      running.numberedLists[list] = true
    }
    return running.numberedLists[list] ?? false
  }

  /// Moves members of a list, or adds them.
  ///
  /// - Parameter previous: The member before them; nil if they are first.
  /// - Returns: Their keys.
  func place(_ members: [ListMember], after previous: ListMember?, in list: MemberList, by device: DeviceID) throws -> [PositionKey] {
    for member in members { try removePosition(of: member) }
    var (before, after): (PositionKey?, PositionKey?)
    if let previous {
      let known = try position(of: previous)
      // A member without a position, such as one that another version of the model has added, is last.
      before = try known?.owner == list.owner ? known?.key : key(SyncStatement.lastPosition, list)
      after = try before.flatMap { try key(SyncStatement.nextPosition, list, $0) }
    } else {
      after = try key(SyncStatement.firstPosition, list)
    }
    return try place(members, after: before, before: after, in: list, by: device)
  }

  /// Adds members at the end of a list.
  func append(_ members: [ListMember], to list: MemberList, by device: DeviceID) throws -> [PositionKey] {
    for member in members { try removePosition(of: member) }
    return try place(members, after: try key(SyncStatement.lastPosition, list), before: nil, in: list, by: device)
  }

  private func place(
    _ members: [ListMember], after before: PositionKey?, before after: PositionKey?, in list: MemberList, by device: DeviceID
  ) throws -> [PositionKey] {
    let keys = PositionKey.run(of: members.count, after: before, before: after, by: device)
    for (member, key) in zip(members, keys) { try setPosition(key, of: member, in: list.owner) }
    return keys
  }

  /// Returns the positions of an object or a link in lists.
  ///
  /// - Parameter values: Its references.
  func positions(of id: RecordID, _ entity: EntityID, _ values: [PropertyID: FieldValue]) throws -> [PropertyID: FieldValue] {
    var positions: [PropertyID: FieldValue] = [:]
    for (number, reference) in schema.memberships(of: entity) {
      let member = ListMember(id: id, reference: reference)
      var known = try position(of: member)
      if known == nil, let owner = values[reference]?.reference, try self.number(MemberList(owner: owner, number: number)) {
        known = try position(of: member)
      }
      if let known { positions[member.property] = .position(known.key) }
    }
    return positions
  }

  /// Returns the object of a link, with its positions.
  func linkObject(_ link: Link) throws -> SyncedObject {
    var object = SyncedObject(link)
    object.values.merge(try positions(of: link.recordID, link.relationship, object.values)) { $1 }
    return object
  }

  // MARK: Imports

  /// Notes the positions of an object or a link that is imported.
  func setPositions(of object: SyncedObject, _ id: RecordID) throws {
    for (number, reference) in schema.memberships(of: object.entity) {
      let member = ListMember(id: id, reference: reference)
      let (owner, key) = (object.values[reference]?.reference, object.values[member.property]?.position)
      let former = try position(of: member)
      if let former, former.key == key, former.owner == owner ?? RecordID(high: 0, low: 0) { continue }
      if let owner {
        try self.number(MemberList(owner: owner, number: number))
        running.changedLists.insert(MemberList(owner: owner, number: number))
      }
      if let key { try setPosition(key, of: member, in: owner) } else if former != nil { try removePosition(of: member) }
    }
  }

  /// Brings the rows of lists in which members were imported into the order of the positions.
  func orderChangedLists() throws {
    let changed = Dictionary(grouping: running.changedLists, by: \.number)
    running.changedLists = []
    for (number, lists) in changed.sorted(by: { $0.key < $1.key }) {
      let relationship = schema.lists[number].relationship
      var known: [(list: MemberList, object: ObjectReference)] = []
      for list in lists { if let object = try reference(of: list.owner) { known.append((list, object)) } }
      known.sort { $0.object.rawValue < $1.object.rawValue }
      for start in stride(from: 0, to: known.count, by: Self.listBatch) {
        let batch = Array(known[start..<min(start + Self.listBatch, known.count)])
        var request = SaveChangesRequest()
        for ((list, object), members) in zip(batch, try storedMembers(of: batch, number)) {
          let order = try inOrder(members, of: list).map(\.object)
          if order == members.map(\.object) { continue }
          request.relationshipChanges.append(
            SaveChangesRequest.RelationshipChange(source: object, relationshipID: relationship.id, order: order))
        }
        if !request.isEmpty { try coordinator.save(request, to: store, scope: scope) }
      }
    }
  }

  /// The number of lists that are ordered at once.
  private static let listBatch = 500

  /// Returns members in the order of their positions. Those without one are last, in the order of their records.
  private func inOrder(
    _ members: [(object: ObjectReference, member: ListMember)], of list: MemberList
  ) throws -> [(object: ObjectReference, member: ListMember)] {
    if members.count < 2 { return members }
    let keys = try members.map { member in try position(of: member.member).flatMap { $0.owner == list.owner ? $0.key : nil } }
    return members.indices.sorted { one, other in
      switch (keys[one], keys[other]) {
      case (let mine?, let theirs?) where mine != theirs: mine < theirs
      case (_?, nil): true
      case (nil, _?): false
      default: members[one].member.id < members[other].member.id
      }
    }.map { members[$0] }
  }

  // MARK: Comparing

  /// Returns the lists of objects whose rows are not in the order of the positions.
  ///
  /// - Parameter rows: Objects of one entity.
  func disorderedLists(among rows: RowList) throws -> [MemberList] {
    var (found, identities): ([MemberList], RecordIdentities) = ([], RecordIdentities(history))
    guard let entity = rows.first?.entityNumber else { return [] }
    let numbers = schema.listNumbers(ofEntity: entity)
    if numbers.isEmpty { return [] }
    for row in rows { identities.add(row.reference) }
    try identities.load()
    for number in numbers {
      let lists = rows.compactMap { row in
        identities.knownRecord(of: row.reference).map { (list: MemberList(owner: $0, number: number), object: row.reference) }
      }
      for ((list, _), members) in zip(lists, try storedMembers(of: lists, number)) {
        if try inOrder(members, of: list).map(\.object) != members.map(\.object) { found.append(list) }
      }
    }
    return found
  }

  /// Gives positions to the members of a list that the rows have in another order than their positions, as few as possible.
  ///
  /// - Returns: The moved members, with their keys.
  func reposition(_ list: MemberList, by device: DeviceID) throws -> [(member: ListMember, key: PositionKey)] {
    guard let object = try reference(of: list.owner) else { return [] }
    let members = try storedMembers(of: [(list, object)], list.number)[0].map(\.member)
    let keys = try members.map { member in try position(of: member).flatMap { $0.owner == list.owner ? $0.key : nil } }
    let kept = Set(keys.longestAscendingPart)
    var (moved, run, previous): ([(member: ListMember, key: PositionKey)], [ListMember], ListMember?) = ([], [], nil)
    func placeRun() throws {
      if run.isEmpty { return }
      moved += zip(run, try place(run, after: previous, in: list, by: device)).map { ($0, $1) }
      run = []
    }
    // Members that are moved do not separate others meanwhile.
    for (index, member) in members.enumerated() where !kept.contains(index) { try removePosition(of: member) }
    for (index, member) in members.enumerated() {
      if !kept.contains(index) {
        run.append(member)
        continue
      }
      try placeRun()
      previous = member
    }
    try placeRun()
    return moved
  }
}

extension [PositionKey?] {
  /// The indexes of a longest part with ascending keys.
  fileprivate var longestAscendingPart: [Int] {
    // The last index of the best part of each length, and the index before each.
    var (ends, previous): ([Int], [Int?]) = ([], Array<Int?>(repeating: nil, count: count))
    for (index, key) in enumerated() {
      guard let key else { continue }
      let place = ends.partitioningIndex { end in self[end].map { $0 >= key } ?? false }
      previous[index] = place > 0 ? ends[place - 1] : nil
      if place == ends.count { ends.append(index) } else { ends[place] = index }
    }
    var (part, next): ([Int], Int?) = ([], ends.last)
    while let index = next {
      part.append(index)
      next = previous[index]
    }
    return part
  }
}

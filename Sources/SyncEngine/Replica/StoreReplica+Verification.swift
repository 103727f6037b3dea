package import Foundation
package import ObjectModel
import ObjectStore
import SyncCore

/// An object that is not the one that follows from the records: it was changed by other means than this library.
package struct ObjectDifference: Hashable, Sendable {
  package enum Kind: String, Sendable {
    /// The record has no object.
    case missing
    /// The object has no record, or its record is deleted or hidden.
    case unknown
    /// Values differ, or the links of the object, or the order of members, or the two sides of a relationship.
    case different
  }

  /// The name of the entity.
  package let entity: String
  /// The object; nil if it is missing and its key is unknown.
  package let objectID: ManagedObjectID?
  /// The stable ID, which is also that of the record; nil if the object has none.
  package let stableID: UUID?
  package let kind: Kind
}

/// A comparison of the objects of a store with what is computed from its records and its pending saves.
package struct ObjectVerification: Hashable, Sendable {
  package static let maximumDifferences = 100

  /// The objects that differ, at most ``maximumDifferences``.
  package private(set) var differences: [ObjectDifference] = []
  /// Whether more objects differ.
  package private(set) var hasMore = false
  package var isEqual: Bool { differences.isEmpty }

  fileprivate enum Position: Hashable {
    case records(after: RecordID?)
    case rows(BaselineProgress)
    case end
  }
  fileprivate var position = Position.records(after: nil)

  package init() {}

  fileprivate mutating func add(_ difference: ObjectDifference) {
    if differences.contains(where: { $0.stableID == difference.stableID && $0.objectID == difference.objectID }) { return }
    if differences.count < Self.maximumDifferences { differences.append(difference) } else { hasMore = true }
  }
}

extension StoreReplica {
  /// Continues a comparison by one batch, in one transaction: each record is compared with its object, and then each object is checked to
  /// have a record.
  ///
  /// - Returns: Whether the comparison is complete.
  package func verifyObjects(_ verification: inout ObjectVerification, batch: Int = 500) throws -> Bool {
    try transaction {
      switch verification.position {
      case .records(let last):
        let ids = try records(after: last, maximumCount: batch)
        try compare(ids, &verification)
        if let final = ids.last {
          verification.position = .records(after: final)
        } else {
          try comparePendingRecords(&verification, batch)
          baselineKeys = nil
          verification.position = .rows(BaselineProgress())
        }
      case .rows(var progress):
        let rows = try nextRows(&progress, batch)
        try checkRecords(of: rows, &verification)
        for list in try disorderedLists(among: rows) { try add(list, to: &verification) }
        if rows.isEmpty { for link in try nextLinks(&progress, batch) { try checkRecord(of: link, &verification) } }
        verification.position = progress.isComplete(schema) ? .end : .rows(progress)
        if verification.position == .end { baselineKeys = nil }
      case .end: break
      }
      return verification.position == .end
    }
  }

  /// Compares the objects of records that only pending saves have.
  private func comparePendingRecords(_ verification: inout ObjectVerification, _ batch: Int) throws {
    var ids: [RecordID] = []
    try pending().forEachRecord { id in
      if try row(of: id) == nil { ids.append(id) }
      if ids.count < batch { return }
      try compare(ids, &verification)
      ids = []
    }
    try compare(ids, &verification)
  }

  private func compare(_ ids: [RecordID], _ verification: inout ObjectVerification) throws {
    let state = try VisibleState(schema.syncModel, in: self, batch: ids.count)
    let ids = try compareLinks(among: ids, state, &verification)
    let references = try ids.map(reference(of:))
    var rows: [ObjectReference: RowImage] = [:]
    for row in try readRows(references.compactMap { $0 }) { rows[row.reference] = row }
    var identities = RecordIdentities(history)
    for row in rows.values {
      identities.add(row.reference)
      for property in schema.entities[row.entityNumber].properties where property.kind == .reference && !row.isNull(property.slot) {
        identities.add(row.reference(property.slot))
      }
    }
    try identities.load()
    for (id, reference) in zip(ids, references) {
      // An object that was inserted again has another record.
      let row = reference.flatMap { rows[$0] }.flatMap { identities.knownRecord(of: $0.reference) == id ? $0 : nil }
      var expected = try state.visibleObject(of: id).flatMap { $0.isInstantiable(in: schema) ? $0 : nil }
      // The application may have the functions that this program lacks.
      if expected != nil {
        for value in try state.unmergedValues(of: id) where value.failure == .missing { expected?.values[value.property] = nil }
      }
      let kind: ObjectDifference.Kind
      switch (expected, row) {
      case (nil, nil): continue
      case (nil, _): kind = .unknown
      case (_, nil): kind = .missing
      case (let expected?, let row?):
        if try isEqual(row, expected, identities) { continue }
        kind = .different
      }
      let entity = expected.flatMap { schema.number(of: $0.entity) } ?? reference?.entity ?? 0
      verification.add(
        ObjectDifference(
          entity: schema.model.entities[entity].name, objectID: reference.map(store.space.objectID), stableID: id.uuid, kind: kind))
    }
  }

  /// Compares those of some records that are links.
  ///
  /// - Returns: The other records.
  private func compareLinks(
    among ids: [RecordID], _ state: VisibleState, _ verification: inout ObjectVerification
  ) throws -> [RecordID] {
    if schema.links.isEmpty { return ids }
    var (links, others): ([(RecordID, Link)], [RecordID]) = ([], [])
    for id in ids { if let link = try link(of: id) { links.append((id, link)) } else { others.append(id) } }
    let found = try self.links(of: links.map(\.0))
    for (id, link) in links {
      let expected = try state.visibleObject(of: id)
      let isInPlace = try expected.map { try hasPositions(of: $0, id) } ?? true
      if (expected == nil) != (found[id] == nil) || !isInPlace { try add(link, to: &verification) }
    }
    return others
  }

  /// Adds a link that only the store or only the records have, as a difference of its source.
  private func add(_ link: Link, to verification: inout ObjectVerification) throws {
    guard let relationship = schema.linkPosition(link.relationship).map({ schema.links[$0] }) else { return }
    let ends = relationship.ends(of: link)
    verification.add(
      ObjectDifference(
        entity: schema.model.entities[relationship.relationship.sourceEntity].name,
        objectID: try reference(of: ends.source).map(store.space.objectID), stableID: ends.source.uuid, kind: .different))
  }

  /// Adds a list whose rows are not in the order of the records, as a difference of the object that has it.
  private func add(_ list: MemberList, to verification: inout ObjectVerification) throws {
    guard let object = try reference(of: list.owner) else { return }
    verification.add(
      ObjectDifference(
        entity: schema.model.entities[object.entity].name, objectID: store.space.objectID(of: object), stableID: list.owner.uuid,
        kind: .different))
  }

  /// Checks that a link has a record.
  private func checkRecord(of link: IdentifiedLink, _ verification: inout ObjectVerification) throws {
    if try row(of: link.id) == nil, try pending().changes(of: link.id) == nil { try add(link.link, to: &verification) }
  }

  private func isEqual(_ row: RowImage, _ expected: SyncedObject, _ identities: RecordIdentities) throws -> Bool {
    let entity = schema.entities[row.entityNumber]
    guard entity.id == expected.entity else { return false }
    for property in entity.properties {
      // Records of other versions of the model lack properties, or have values of other types.
      guard let value = expected.values[property.id] else { continue }
      if property.kind == .bytes, value.asset != nil || value.slot(.bytes) != nil {
        if try binaryValue(property, of: row, identities.knownRecord(of: row.reference)) != value { return false }
        continue
      }
      guard value.reference != nil || value.slot(property.kind) != nil else { continue }
      if row.isNull(property.slot) {
        if value == .null { continue }
        // A destination without an object is nil. It is reported itself if it should have one.
        guard let destination = value.reference, try object(of: destination) == nil else { return false }
      } else if property.kind == .reference {
        guard let found = identities.knownRecord(of: row.reference(property.slot)), value == .reference(found) else { return false }
      } else if value != FieldValue(try row.slot(property.slot, kind: property.kind)) {
        return false
      }
    }
    guard let id = identities.knownRecord(of: row.reference) else { return false }
    return try hasPositions(of: expected, id)
  }

  /// Returns whether the store has the positions that an object or a link has by its record.
  private func hasPositions(of expected: SyncedObject, _ id: RecordID) throws -> Bool {
    try schema.memberships(of: expected.entity).allSatisfy { _, reference in
      let member = ListMember(id: id, reference: reference)
      return try position(of: member)?.key == expected.values[member.property]?.position
    }
  }

  /// Checks that objects have records, and that both sides of their one-to-one relationships agree.
  private func checkRecords(of rows: RowList, _ verification: inout ObjectVerification) throws {
    var identities = RecordIdentities(history)
    var destinations: Set<ObjectReference> = []
    for row in rows {
      identities.add(row.reference)
      for (slot, _) in schema.oneToOneSlots(ofEntity: row.entityNumber) where !row.isNull(slot) { destinations.insert(row.reference(slot)) }
    }
    try identities.load()
    var inverses: [ObjectReference: RowImage] = [:]
    for row in try readRows(Array(destinations)) { inverses[row.reference] = row }
    for row in rows {
      let id = identities.knownRecord(of: row.reference)
      let isKnown = try id.map { try self.row(of: $0) != nil || pending().changes(of: $0) != nil } ?? false
      let agrees = schema.oneToOneSlots(ofEntity: row.entityNumber).allSatisfy { slot, inverse in
        guard !row.isNull(slot) else { return true }
        guard let destination = inverses[row.reference(slot)], !destination.isNull(inverse) else { return false }
        return destination.reference(inverse) == row.reference
      }
      if isKnown, agrees { continue }
      verification.add(
        ObjectDifference(
          entity: schema.model.entities[row.entityNumber].name, objectID: store.space.objectID(of: row.reference), stableID: id?.uuid,
          kind: isKnown ? .different : .unknown))
    }
  }
}

extension SyncedObject {
  /// Whether the model has objects of the entity. Those of other versions of the model have none.
  fileprivate func isInstantiable(in schema: SyncSchema) -> Bool {
    schema.number(of: entity).map { !schema.model.entities[$0].isAbstract } ?? false
  }
}

extension SyncSchema {
  /// Returns the slots of an entity's one-to-one relationships, with those of their destinations that refer back.
  fileprivate func oneToOneSlots(ofEntity number: Int) -> [(slot: Int, inverse: Int)] {
    model.entities[number].slots.compactMap { slot in
      guard let relationship = slot.relationship, let inverse = model.inverse(of: relationship), !inverse.isToMany else { return nil }
      return (slot.index, inverse.index)
    }
  }
}

import Foundation
import ObjectModel
import ObjectStore
import SQLCipherStore
package import SyncCore

/// A link in the store.
struct StoredLink: Hashable {
  /// The position of its relationship in ``SyncSchema/links``.
  let relationship: Int
  let ends: LinkChanges.Link
}

extension StoreReplica {
  /// Returns the link that a record is, or was before it was deleted in the running transaction.
  func link(of id: RecordID) throws -> Link? {
    if schema.links.isEmpty { return nil }
    let state = (try row(of: id)?.entry.state).joined(with: try pending().changes(of: id))
    return state.flatMap { Link($0, schema.syncModel) } ?? running.formerLinks[id]
  }

  /// Returns a link by its objects, as far as they are known.
  func stored(_ link: Link, _ reference: (RecordID) throws -> ObjectReference?) throws -> StoredLink? {
    guard let position = schema.linkPosition(link.relationship) else { return nil }
    let relationship = schema.links[position]
    let ends = relationship.ends(of: link)
    guard let source = try reference(ends.source), let destination = try reference(ends.destination) else { return nil }
    let stored = StoredLink(relationship: position, ends: LinkChanges.Link(source: source, destination: destination))
    return relationship.admits(stored.ends, in: schema.model) ? stored : nil
  }

  /// Returns those of some links that the store contains.
  func existing(_ links: Set<StoredLink>) throws -> Set<StoredLink> {
    var found: Set<StoredLink> = []
    for (position, links) in Dictionary(grouping: links, by: \.relationship) {
      let exist = try linkStore?.contains(links.map(\.ends), of: schema.links[position].relationship) ?? []
      for (link, exists) in zip(links, exist) where exists { found.insert(link) }
    }
    return found
  }

  /// The store, if it has links.
  private var linkStore: (any LinkStore)? { history as? any LinkStore }

  package func contains(_ link: Link, _ id: RecordID) throws -> Bool {
    guard let stored = try stored(link, reference(of:)) else { return false }
    return try !existing([stored]).isEmpty
  }

  /// Returns the objects of those of some records that are links and exist.
  func links(of ids: [RecordID]) throws -> [RecordID: SyncedObject] {
    var (links, objects): ([StoredLink: RecordID], [RecordID: SyncedObject]) = ([:], [:])
    for id in ids {
      guard let link = try link(of: id), let stored = try stored(link, reference(of:)) else { continue }
      links[stored] = id
      objects[id] = try linkObject(link)
    }
    let existing = try existing(Set(links.keys))
    for (link, id) in links where !existing.contains(link) { objects[id] = nil }
    return objects
  }

  // MARK: All links

  /// A link in the store, with its record.
  struct IdentifiedLink {
    let stored: StoredLink
    let link: Link
    var id: RecordID { link.recordID }
  }

  /// Reads the next links, in the order of relationships and objects, after all objects.
  func nextLinks(_ progress: inout BaselineProgress, _ count: Int) throws -> [IdentifiedLink] {
    while !progress.isComplete(schema) {
      let position = progress.entity - schema.entities.count
      let relationship = schema.links[position]
      let last = LinkChanges.Link(
        source: ObjectReference(entity: relationship.relationship.sourceEntity, key: progress.key),
        destination: ObjectReference(entity: relationship.relationship.destinationEntity, key: progress.destination ?? 0))
      let found = try linkStore?.links(of: relationship.relationship, after: last, maximumCount: count) ?? []
      if let final = found.last {
        (progress.key, progress.destination) = (final.source.key, final.destination.key)
        return try identified(found, position)
      }
      progress.entity += 1
      (progress.key, progress.destination) = (0, nil)
    }
    return []
  }

  /// Returns links with their records. Links without a direction, which the store has in both, are returned in one.
  private func identified(_ links: [LinkChanges.Link], _ position: Int) throws -> [IdentifiedLink] {
    var identities = RecordIdentities(history)
    for link in links {
      identities.add(link.source)
      identities.add(link.destination)
    }
    try identities.load()
    let relationship = schema.links[position]
    return try links.compactMap { ends in
      if relationship.isSymmetric, ends.destination.key < ends.source.key { return nil }
      let link = relationship.link(
        from: try identities.record(of: ends.source), to: try identities.record(of: ends.destination))
      return IdentifiedLink(stored: StoredLink(relationship: position, ends: ends), link: link)
    }
  }

  // MARK: Removals

  /// Returns the removal of a link by a save: of the additions that were known when the save was first read.
  func removal(of link: Link, by number: Int64) throws -> PendingChange {
    let id = link.recordID
    return try storedRemoval(of: id, by: number) {
      var state = (try row(of: id)?.entry.state).joined(with: try pending().changes(of: id))
      // The link is from before synchronization.
      if state == nil { state = try Baseline.add(linkObject(link), of: id, in: self).state }
      return PendingChange.removal(of: link, id, from: state)
    }
  }

  /// Returns the removal of a link, or the deletion of an object, by a save, as it was determined when the save was first read.
  func storedRemoval(of id: RecordID, by number: Int64, _ make: () throws -> PendingChange) throws -> PendingChange {
    var known: PendingChange?
    try transactionTables.query(SyncStatement.removal, .int(number), id.slot) { known = try PendingChangeCoding.decode($0.bytes(0)) }
    if let known { return known }
    let change = try make()
    try setRemoval(change, by: number)
    return change
  }

  func setRemoval(_ change: PendingChange, by number: Int64) throws {
    try transactionTables.execute(
      SyncStatement.setRemoval, .int(number), change.id.slot, .bytes(Data(PendingChangeCoding.encode(change))))
  }
}

extension SyncedObject {
  /// The link, if the object is one.
  func link(_ model: SyncModel) -> Link? { Link(Record(entity: entity, values, Stamp(.zero, DeviceID(0))), model) }
}

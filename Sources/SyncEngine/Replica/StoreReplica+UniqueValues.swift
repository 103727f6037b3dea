import ObjectModel
import ObjectStore
import SQLCipherStore
package import SyncCore

/// Objects that devices have given the same unique values.
extension StoreReplica {
  /// Returns the objects that have some values.
  func holders(of values: [[Slot]], under constraint: DeclaredConstraint) throws -> [ObjectReference] {
    if values.isEmpty { return [] }
    return try (history as? any UniqueValueStore)?.holders(of: values, under: constraint).map(\.object) ?? []
  }

  package func id(of link: Link) -> RecordID { link.recordID }

  package func records(with key: UniqueKey) throws -> [RecordID] {
    guard let constraint = schema.constraints[key.constraint.id] else { return [] }
    var values: [Slot] = []
    for (slot, value) in zip(constraint.slots, key.values) {
      if let destination = value.reference {
        guard let object = try reference(of: destination) else { return [] }
        values.append(.int(object.key))
      } else {
        guard let stored = value.slot(slot.kind) else { return [] }
        values.append(stored)
      }
    }
    let objects = try holders(of: [values], under: constraint)
    return try history.stableIDs(of: objects).compactMap { $0.map(RecordID.init) }
  }

  package func redirect(_ successors: [RecordID: RecordID]) throws -> [RecordID] {
    var changed = Set<RecordID>()
    for id in successors.keys { changed.formUnion(try pending().referrers(of: id)) }
    if changed.isEmpty { return [] }
    // The saves that are read again refer to the successors.
    pendingSaves = nil
    try readPendingSaves()
    for id in successors.values { changed.formUnion(try pending().referrers(of: id)) }
    return changed.sorted()
  }

  /// Returns a change that refers to the successors of merged records.
  func redirected(_ change: PendingChange) throws -> PendingChange {
    guard schema.syncModel.hasUniqueConstraints else { return change }
    var successors: [RecordID: RecordID] = [:]
    for destination in change.destinations {
      let successor = try successor(of: destination)
      if successor != destination { successors[destination] = successor }
    }
    return successors.isEmpty ? change : change.redirected(successors, schema.syncModel, linkID: \.recordID)
  }

  /// Returns a move in the list of the successor of a merged record.
  func redirected(_ move: HistoryChangeReader.Move) throws -> HistoryChangeReader.Move {
    guard schema.syncModel.hasUniqueConstraints else { return move }
    var move = move
    move.list = MemberList(owner: try successor(of: move.list.owner), number: move.list.number)
    move.previous = try move.previous.map(successor)
    // A merged member is in the list as its successor is.
    move.members = try move.members.filter { try successor(of: $0.id) == $0.id }
    return move
  }
}

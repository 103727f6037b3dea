import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore

/// Converts transactions and changes to JSON.
struct HistoryJSON {
  let model: CompiledModel
  let showsValues: Bool

  /// Returns a transaction without its changes.
  func header(_ transaction: PersistentHistoryTransaction, _ counts: HistoryCounts) -> JSONValue {
    let time = InstantText.text(transaction.timestamp.timeIntervalSinceReferenceDate)
    var members: [(String, JSONValue)] = [
      ("token", .string(transaction.token.description)), ("time", time.map { .string($0) } ?? .null),
      ("author", transaction.author.map { .string($0) } ?? .null), ("context", transaction.contextName.map { .string($0) } ?? .null),
      ("process", .string(transaction.processID)), ("program", .string(transaction.bundleID)), ("kind", .string(transaction.kind.rawValue)),
      ("inserted", .integer(counts.inserted)), ("updated", .integer(counts.updated)), ("deleted", .integer(counts.deleted)),
    ]
    if transaction.isWhole { members.append(("whole", .bool(true))) }
    if !transaction.schemaChanges.isEmpty { members.append(("schema", .array(transaction.schemaChanges.map(schemaChange)))) }
    return .object(members)
  }

  /// Returns the changes of a transaction for one line.
  func changes(_ transaction: PersistentHistoryTransaction) -> JSONValue {
    .object([("token", .string(transaction.token.description)), ("changes", .array((transaction.changes ?? []).map(change)))])
  }

  func change(_ change: PersistentHistoryChange) -> JSONValue {
    let entity = model.entities[Int(change.changedObjectID.entityNumber)]
    var members: [(String, JSONValue)] = [
      ("type", .string(change.changeType.rawValue)), ("entity", .string(entity.name)), ("object", uri(change.changedObjectID)),
    ]
    if change.changeType == .update { members.append(("properties", .array(change.updatedProperties.map { .string($0) }))) }
    if !change.derivedProperties.isEmpty { members.append(("derived", .array(change.derivedProperties.map { .string($0) }))) }
    for isAdded in [true, false] {
      let links = change.links.filter { $0.isAdded == isAdded }
      if links.isEmpty { continue }
      let names = Set(links.map(\.relationship)).sorted()
      members.append(
        (
          isAdded ? "added" : "removed",
          .object(names.map { name in (name, .array(links.filter { $0.relationship == name }.map { uri($0.destination) })) })
        ))
    }
    let orders = change.orders.sorted { $0.key < $1.key }
    if !orders.isEmpty { members.append(("ordered", .object(orders.map { ($0.key, $0.value.map { .array($0.map(move)) } ?? .null) }))) }
    if let tombstone = change.tombstone, !tombstone.names.isEmpty { members.append(("tombstone", values(tombstone, entity))) }
    if showsValues {
      if let old = change.oldValues { members.append(("old", values(old, entity))) }
      if let new = change.newValues { members.append(("new", values(new, entity))) }
    }
    return .object(members)
  }

  private func schemaChange(_ change: PersistentHistoryTransaction.SchemaChange) -> JSONValue {
    var members: [(String, JSONValue)] = [("change", .string(change.kind.rawValue)), ("entity", .string(change.entityName))]
    if let name = change.propertyName { members.append(("property", .string(name))) }
    if let name = change.formerPropertyName { members.append(("from", .string(name))) }
    if showsValues, let value = value(change) { members.append(("value", value)) }
    return .object(members)
  }

  /// Returns the value that was filled in, or `nil` if it was not recorded.
  func value(_ change: PersistentHistoryTransaction.SchemaChange) -> JSONValue? {
    guard let name = change.propertyName, let value = change.values, let entity = model.entity(named: change.entityName) else { return nil }
    return values(value, entity)[name]
  }

  private func move(_ move: PersistentHistoryChange.Move) -> JSONValue {
    .object([("after", move.after.map(uri) ?? .null), ("members", .array(move.members.map(uri)))])
  }

  private func uri(_ id: ManagedObjectID) -> JSONValue { .string(id.uriString) }

  private func values(_ values: PersistentHistoryChange.Values, _ entity: CompiledEntity) -> JSONValue {
    .object(
      values.values.sorted { $0.key < $1.key }.map { name, value in
        switch value {
        case .attribute(let slot):
          guard case .attribute(let known)? = entity.property(named: name), let type = known.attributeType else {
            return (name, ValueCoding.json(slot, type: .undefined))
          }
          return (name, ValueCoding.json(slot, type: type))
        case .object(let id): return (name, id.map(uri) ?? .null)
        case .large(let size, let digest):
          return (name, .object([("bytes", .integer(size)), ("sha256", .string(Hexadecimal.encode(Data(digest))))]))
        }
      })
  }
}

/// The numbers of inserted, updated, and deleted objects in a transaction.
struct HistoryCounts: Sendable, Hashable {
  var inserted = 0
  var updated = 0
  var deleted = 0

  mutating func add(_ changes: [PersistentHistoryChange]) {
    for change in changes {
      switch change.changeType {
      case .insert: inserted += 1
      case .update: updated += 1
      case .delete: deleted += 1
      }
    }
  }
}

extension HistoryCounts {
  /// Counts the changes of a transaction from its first part. A transaction with several parts is fetched once for that.
  init(
    of part: PersistentHistoryTransaction, in coordinator: PersistentStoreCoordinator, changes: FetchPredicate?
  ) async throws {
    self.init()
    guard part.isContinued else {
      add(part.changes ?? [])
      return
    }
    let only: FetchPredicate = .and([
      .compare("token", .greater, part.transactionNumber - 1), .compare("token", .lessOrEqual, part.transactionNumber),
    ])
    for try await other in coordinator.history(where: only, changes: changes) { add(other.changes ?? []) }
  }
}

import Foundation
package import ObjectModel
package import ObjectStore
import SQLCipherConnection

/// Writes rows with the keys of another store, and links with their positions in orders. All calls belong in one transaction of the store.
///
/// The keys of each inheritance tree are shifted by one offset, which is 0 in a new store, so references need no translation table. Only
/// one batch of rows is in memory.
package struct RowTransfer {
  /// The position of a row in an ordered relationship with a to-one inverse.
  package struct Place {
    let relationship: Int
    let key: Int64
    let place: Int64

    /// - Parameters:
    ///   - relationship: The number of the ordered relationship.
    ///   - key: The member's key in this store.
    ///   - place: Any number; the members are ordered by it.
    package init(relationship: Int, key: Int64, place: Int64) {
      self.relationship = relationship
      self.key = key
      self.place = place
    }
  }

  /// A link of a relationship with a join table.
  package struct Link {
    let near: ObjectReference
    let far: ObjectReference
    let nearPosition: Int64?
    let farPosition: Int64?

    /// - Parameters:
    ///   - near: The source object.
    ///   - far: The member.
    ///   - nearPosition: The position of `near` among the members of the inverse, if that is ordered.
    ///   - farPosition: The position of `far` among the members, if they are ordered.
    package init(near: ObjectReference, far: ObjectReference, nearPosition: Int64?, farPosition: Int64?) {
      self.near = near
      self.far = far
      self.nearPosition = nearPosition
      self.farPosition = farPosition
    }
  }

  private let store: PersistentStore
  private let engine: StoreEngine
  private let scope: RequestScope
  private let orders = TransferredOrders()
  private let running = Running()

  /// The consumers of the running transaction.
  private final class Running {
    var consumer: PublishedChanges?
  }

  /// Prepares to write to an open store.
  ///
  /// - Throws: ``StoreError`` with the code `unsupported` for another type of store, or `readOnly` for a read-only store.
  package init(into store: PersistentStore, scope: RequestScope) throws {
    guard let encrypted = store.incrementalStore as? SQLCipherIncrementalStore else {
      throw StoreError(.rowImportUnsupported(type: store.type.rawValue), operation: .import)
    }
    if store.isReadOnly {
      throw StoreError(.readOnlyStore, operation: .import, path: store.url?.path)
    }
    self.store = store
    self.scope = scope
    engine = try encrypted.engine(.import)
  }

  /// Runs `body` as one transaction. It must not wait for a save of another thread or task.
  ///
  /// The objects that triggers maintain, such as derived values, are dropped first and recreated at the end. Otherwise values would be
  /// computed before the rows that they depend on exist.
  package func transaction(_ body: () throws -> Void) throws {
    try store.performTransaction {
      running.consumer = store.makeConsumer(.transfer, publishes: true)
      defer { running.consumer = nil }
      try StoreError.mapping { try engine.write { try SchemaAuxiliaries.dropFollowers($0) } }
      try body()
      try StoreError.mapping {
        try engine.withoutDamage {
          try engine.write { transaction in
            try SchemaAuxiliaries(schema: engine.schema).update(transaction)
            if let changes = try engine.beginChanges(.transfer, transaction, scope) { try orders.report(to: changes, engine, transaction) }
          }
        }
      }
      _ = store.finishBatch(.transfer, running.consumer, publishes: true, scope: scope)
    }
  }

  private var consumedScope: RequestScope {
    var scope = scope
    scope.consumers = running.consumer.map { [$0] }
    return scope
  }

  /// Reserves the keys up to the greatest of another store.
  ///
  /// - Returns: The offset to add to each key of the other store.
  package func reserveKeys(upTo maximum: Int64, rootEntity: Int) throws -> Int64 {
    let table = try engine.schema.table(of: rootEntity)
    let offset = try StoreError.mapping { try engine.reserveKeys(upTo: maximum, for: table) }
    orders.add(table.index, offset + 1...offset + max(maximum, 1))
    return offset
  }

  /// Inserts rows with their keys, versions and references.
  package func insert(_ rows: RowList, places: [Place]) throws {
    guard !rows.isEmpty else { return }
    var request = SaveChangesRequest()
    request.inserted = rows
    if !store.incrementalStore.acceptsExternalData { request = try request.withBytesInRows(engine.schema.model) }
    try StoreError.mapping {
      try engine.writeExplained(.import) { [request] transaction in
        _ = try engine.beginChanges(.transfer, transaction, consumedScope)
        var executor = SaveExecutor(engine: engine, transaction: transaction, request: request, space: scope.objectIDSpace)
        for place in places {
          executor.insertedOrders[SaveExecutor.OrderedMember(relationship: place.relationship, key: place.key)] = place.place
        }
        try executor.run()
        try executor.report()
      }
    }
  }

  /// Inserts links of a relationship. If it is its own inverse, pass each link in one direction only, see ``completeLinks(of:)``.
  ///
  /// - Returns: The number of new links. Existing links do not change.
  @discardableResult
  package func insert(_ links: [Link], of relationship: CompiledRelationship) throws -> Int {
    let side = try joinSide(of: relationship)
    return try StoreError.mapping {
      try engine.writeExplained(.import) { transaction in
        let connection = transaction.connection
        let changes = try engine.beginChanges(.transfer, transaction, consumedScope)
        let statement = try engine.statement(.positionedInsertion(side: side.number), on: connection)
        var count = 0
        for link in links {
          let index = try side.bind(link.near, link.far, to: statement, after: 0)
          try side.bindPositions(near: link.nearPosition, far: link.farPosition, to: statement, after: index)
          try statement.run()
          guard connection.changes > 0 else { continue }
          count += 1
          try changes?.link(relationship, link.near, link.far)
        }
        return count
      }
    }
  }

  /// Inserts the opposite direction of every link of a relationship that is its own inverse.
  package func completeLinks(of relationship: CompiledRelationship) throws {
    let side = try joinSide(of: relationship)
    guard side.isSymmetric else { return }
    try StoreError.mapping {
      try engine.write { try engine.statement(.completion(side: side.number), on: $0.connection).run() }
    }
  }

  private func joinSide(of relationship: CompiledRelationship) throws -> JoinSide {
    guard case .join(let side) = engine.schema.relationships[relationship.id], !side.isReversed else {
      throw StoreError(.noJoinTable(relationship: relationship.name), operation: .import)
    }
    return side
  }

  /// Returns the number of objects of each entity without its subentities, by the entity's number.
  package func counts() throws -> [Int: Int] {
    var counts: [Int: Int] = [:]
    try StoreError.mapping {
      try engine.read { transaction in
        let connection = transaction.connection
        for table in engine.schema.tables {
          let statement = try connection.statement(sql: table.entityCounts)
          defer { statement.reset() }
          while try statement.step() { counts[statement.int(0)] = statement.int(1) }
        }
      }
    }
    return counts
  }
}

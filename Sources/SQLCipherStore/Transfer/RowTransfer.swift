import Foundation
package import ObjectModel
package import ObjectStore
import SQLCipherConnection

/// Writes rows whose keys another store has given, and links with their places in orders. All of it belongs into one transaction of the store.
///
/// Keys move by a distance for each inheritance tree, which is 0 in a new store: references need no table that translates them.
package struct RowTransfer {
  /// The place of a row in the order of an ordered relationship whose inverse is to-one.
  package struct Place {
    let relationship: Int
    let key: Int64
    let place: Int64

    /// - Parameters:
    ///   - relationship: The number of the ordered relationship.
    ///   - key: The member's key in this store.
    ///   - place: A number that orders the members; it may be any.
    package init(relationship: Int, key: Int64, place: Int64) {
      self.relationship = relationship
      self.key = key
      self.place = place
    }
  }

  /// A link of a relationship that has a table of its own.
  package struct Link {
    let near: ObjectReference
    let far: ObjectReference
    let nearPlace: Int64?
    let farPlace: Int64?

    /// - Parameters:
    ///   - near: The object whose relationship it is.
    ///   - far: The member.
    ///   - nearPlace: The place of `near` among the members of the inverse, where that is ordered.
    ///   - farPlace: The place of `far` among the members, where they are ordered.
    package init(near: ObjectReference, far: ObjectReference, nearPlace: Int64?, farPlace: Int64?) {
      self.near = near
      self.far = far
      self.nearPlace = nearPlace
      self.farPlace = farPlace
    }
  }

  private let store: PersistentStore
  private let engine: StoreEngine
  private let scope: RequestScope

  /// Prepares to write into an open store.
  ///
  /// - Throws: ``StoreError`` with the code `unsupported` for another kind of store, `readOnly` for one that is only read.
  package init(into store: PersistentStore, scope: RequestScope) throws {
    guard let encrypted = store.incrementalStore as? SQLCipherIncrementalStore else {
      throw StoreError(.takesNoRows(type: store.type.rawValue), operation: .import)
    }
    if store.isReadOnly {
      throw StoreError(.readOnlyStore, operation: .import, path: store.url?.path)
    }
    self.store = store
    self.scope = scope
    engine = try encrypted.engine(.import)
  }

  /// Runs `body`, all of which takes effect or nothing. It must not wait for a save of another thread or task.
  ///
  /// What triggers keep in step is made anew at the end: values that are computed from rows that come later would be computed too early otherwise.
  package func transaction(_ body: () throws -> Void) throws {
    try store.performTransaction {
      try StoreError.mapping { try engine.write { try SchemaAuxiliaries.dropFollowers($0) } }
      try body()
      try StoreError.mapping {
        try engine.write { transaction in
          try SchemaAuxiliaries(schema: engine.schema).bringInStep(transaction)
          guard let recording = engine.history.recording else { return }
          try TransactionRecord.writeWhole(
            .transfer, recording, engine.rows, transaction, scope: scope, opening: engine.history.opening)
        }
      }
    }
  }

  /// Reserves the keys up to the greatest of another store.
  ///
  /// - Returns: What is added to a key of the other store.
  package func reserveKeys(upTo greatest: Int64, rootEntity: Int) throws -> Int64 {
    let table = try engine.schema.table(of: rootEntity)
    return try StoreError.mapping { try engine.reserveKeys(upTo: greatest, for: table) }
  }

  /// Writes rows with their keys, versions and references.
  package func insert(_ rows: RowList, places: [Place]) throws {
    guard !rows.isEmpty else { return }
    var request = SaveChangesRequest()
    request.inserted = rows
    if !store.incrementalStore.takesExternalData { request = try request.withBytesInRows(engine.schema.model) }
    try StoreError.mapping {
      try engine.writeExplained(.import) { [request] transaction in
        var executor = SaveExecutor(engine: engine, transaction: transaction, request: request, space: scope.objectIDSpace)
        for place in places {
          executor.insertedOrders[SaveExecutor.OrderedMember(relationship: place.relationship, key: place.key)] = place.place
        }
        try executor.run()
      }
    }
    store.publish {
      let references = rows.references
      let entities = Set(references.map(\.entity)).map { engine.schema.model.entities[$0] }
      return ChangeSet(
        BatchChanges(inserted: references), updatedSlots: nil, setting: entities.flatMap { $0.slots.compactMap(\.relationship) }, of: store,
        scope: scope)
    }
  }

  /// Writes links of a relationship. Of one that is its own inverse each link is written in one direction only, see ``completeLinks(of:)``.
  ///
  /// - Returns: How many of them were new; a link that is there already stays as it is.
  @discardableResult
  package func insert(_ links: [Link], of relationship: CompiledRelationship) throws -> Int {
    let side = try joinSide(of: relationship)
    let count = try StoreError.mapping {
      try engine.writeExplained(.import) { transaction in
        let connection = transaction.connection
        let statement = try engine.statement(.placedInsertion(side: side.number), on: connection)
        var count = 0
        for link in links {
          let index = try side.bind(link.near, link.far, to: statement, after: 0)
          try side.bindPlaces(near: link.nearPlace, far: link.farPlace, to: statement, after: index)
          try statement.run()
          count += connection.changes
        }
        return count
      }
    }
    store.publish {
      let changes = BatchChanges(updated: Array(Set(links.flatMap { [$0.near, $0.far] })))
      return ChangeSet(changes, updatedSlots: SlotMask(), setting: [relationship], of: store, scope: scope)
    }
    return count
  }

  /// Gives every link of a relationship that is its own inverse the other direction too.
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

  /// The number of objects of each entity, without those of its subentities, by the entities' numbers.
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

import ObjectModel
import ObjectStore
import SQLCipherConnection

extension StoreEngine {
  /// Returns the rows of objects in any order. Deleted objects are omitted.
  ///
  /// - Parameters:
  ///   - cancellation: The cancellation of the request.
  ///   - generation: The generation to read, or `nil` for the newest state.
  func rows(
    of objectIDs: [ManagedObjectID], cancellation: RequestCancellation? = nil, from generation: SnapshotGeneration? = nil
  ) throws -> RowList {
    if objectIDs.count == 1 { return try row(of: objectIDs[0], from: generation) }
    var keysByTable: [Int: [Int64]] = [:]
    for id in objectIDs where !id.isTemporaryID {
      keysByTable[try schema.table(of: Int(id.entityNumber)).index, default: []].append(id.key)
    }
    for (index, keys) in keysByTable { trace.record(.rows(entity: schema.tables[index].root.name), objects: keys.count) }
    let writer = makeRowWriter(rowCapacity: objectIDs.count)
    try read(from: generation, reusingSnapshot: true) { transaction in
      try transaction.withCancellation(cancellation) {
        for (index, keys) in keysByTable.sorted(by: { $0.key < $1.key }) {
          try self.rows.read(keys[...], of: schema.tables[index], transaction, into: writer)
        }
      }
      try transaction.connection.checkSentinel()
    }
    return writer.finishCompactly()
  }

  /// Returns the row of one object with the single statement that fulfills a fault.
  private func row(of id: ManagedObjectID, from generation: SnapshotGeneration?) throws -> RowList {
    let table = try schema.table(of: Int(id.entityNumber))
    let writer = makeRowWriter(rowCapacity: 1)
    let read = SingleRowRead(of: table, statements: statements, trace: trace)
    return try self.read(from: generation, reusingSnapshot: true) { transaction in
      try read.row(id.key, transaction, into: writer) == nil ? RowList() : writer.finish()
    }
  }
}

// MARK: - Members of relationships

extension StoreEngine {
  /// Returns the members of a to-many relationship of objects, in the order of the objects.
  func members(
    of relationship: CompiledRelationship, ofObjectsWith objectIDs: [ManagedObjectID], cancellation: RequestCancellation? = nil,
    from generation: SnapshotGeneration? = nil
  ) throws -> RelationshipValues {
    var values = RelationshipValues()
    let numbering: EntityEncoding
    /// The number of the join table's side, or `nil` if the members' column contains the links.
    let join: Int?
    switch schema.relationships[relationship.id] {
    case .inverse(let side): (numbering, join) = (side.members, nil)
    case .join(let side): (numbering, join) = (side.farNumbering, side.number)
    case .column, .none:
      for _ in objectIDs { values.append(EmptyCollection<ObjectReference>()) }
      return values
    }
    trace.record(
      .members(entity: schema.model.entities[relationship.sourceEntity].name, relationship: relationship.name), objects: objectIDs.count)
    var keys: [Int64] = []
    keys.reserveCapacity(objectIDs.count)
    // Rows are returned in the order of the owners' keys. An owner can be requested more than once.
    let isInOrder = Self.hasAscendingKeys(objectIDs)
    let order = isInOrder ? Array(objectIDs.indices) : objectIDs.indices.sorted { objectIDs[$0].key < objectIDs[$1].key }
    for position in order where objectIDs[position].key > 0 && keys.last != objectIDs[position].key { keys.append(objectIDs[position].key) }
    var references: [ObjectReference] = []
    var ends: [Int] = []
    try read(from: generation, reusingSnapshot: true) { transaction in
      let connection = transaction.connection
      try transaction.withCancellation(cancellation) {
        try KeyListSize.forEachChunk(of: keys[...]) { chunk, size in
          let statement =
            if let join { try self.statement(.members(side: join, size), on: connection) } else {
              try self.statement(.members(relationship: relationship.id, size), on: connection)
            }
          defer { statement.reset() }
          try size.bind(chunk, to: statement)
          trace.record(statement)
          var current = chunk.startIndex
          while try statement.step() {
            let owner = statement.int64(0)
            while current < chunk.endIndex, keys[current] < owner {
              ends.append(references.count)
              current += 1
            }
            let member = try reference(statement, 1, numbering)
            guard !member.isNull else { throw StoreError.invalidKey }
            references.append(member)
          }
          while current < chunk.endIndex {
            ends.append(references.count)
            current += 1
          }
        }
      }
      try connection.checkSentinel()
    }
    if isInOrder { return RelationshipValues(references: references, ends: ends) }
    var places: [Int64: Int] = [:]
    places.reserveCapacity(keys.count)
    for (place, key) in keys.enumerated() { places[key] = place }
    for id in objectIDs {
      guard let place = places[id.key] else {
        values.append(EmptyCollection<ObjectReference>())
        continue
      }
      values.append(references[(place == 0 ? 0 : ends[place - 1])..<ends[place]])
    }
    return values
  }

  /// Returns whether the keys are strictly ascending, as they usually are for siblings, and no ID is temporary.
  private static func hasAscendingKeys(_ objectIDs: [ManagedObjectID]) -> Bool {
    var last: Int64 = 0
    for id in objectIDs {
      if id.key <= last { return false }
      last = id.key
    }
    return true
  }
}

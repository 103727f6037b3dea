// StoreEngine+Relationships: the members of to-many relationships, for one object or many.
import ObjectModel
import ObjectStore
import SQLCipherConnection

extension StoreEngine {
  /// The members of a to-many relationship of objects, in the order of the objects.
  func members(
    of relationship: CompiledRelationship, ofObjectsWith objectIDs: [ManagedObjectID], cancellation: RequestCancellation? = nil
  ) throws -> RelationshipValues {
    var values = RelationshipValues()
    let reader: MemberReader
    switch schema.relationships[relationship.id] {
    case .inverse(let side): reader = MemberReader(side, table: schema.tables[side.table])
    case .join(let side): reader = MemberReader(side)
    case .column, .none:
      for _ in objectIDs { values.append(EmptyCollection<ObjectReference>()) }
      return values
    }
    // Sorted, since the answers come in the order of the owners' keys; an owner may be asked about twice.
    let order = objectIDs.indices.sorted { objectIDs[$0].key < objectIDs[$1].key }
    var keys: [Int64] = []
    keys.reserveCapacity(objectIDs.count)
    for position in order where objectIDs[position].key > 0 && keys.last != objectIDs[position].key { keys.append(objectIDs[position].key) }
    var references: [ObjectReference] = []
    var ends: [Int] = []
    try read(reusingSnapshot: true) { transaction in
      let connection = transaction.connection
      try transaction.whileWanted(cancellation) {
        try KeyListSize.forEachPiece(of: keys[...]) { piece, size in
          let statement = try connection.statement(schema.numbers.relationship(relationship.id, size), reader.sql(size))
          defer { statement.reset() }
          try KeyListSize.bind(piece, size, to: statement)
          trace.note(statement)
          var current = piece.startIndex
          while try statement.step() {
            let owner = statement.int64(0)
            while current < piece.endIndex, keys[current] < owner {
              ends.append(references.count)
              current += 1
            }
            let member = try reference(statement, 1, reader.members)
            guard !member.isNull else { throw StoreError.strangeKey }
            references.append(member)
          }
          while current < piece.endIndex {
            ends.append(references.count)
            current += 1
          }
        }
      }
      try connection.checkSentinel()
    }
    if objectIDs.count == 1 {
      values.append(references)
      return values
    }
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
}

/// The statement that reads members: owner, member, and the member's entity if it has to be read; in the order of the owners, then of the members.
struct MemberReader {
  let members: EntityNumbering
  private let columns: String
  private let from: String
  private let owner: String
  private let order: String

  init(_ side: InverseSide, table: EntityTable) {
    members = side.members
    owner = "t.\(side.column.name)"
    var columns = "\(owner), t.\(table.key)"
    if case .stored = side.members, let entity = table.entity { columns += ", t.\(entity)" }
    self.columns = columns
    from = "\(table.name) AS t"
    order = "\(owner)\(side.order.map { ", t.\($0)" } ?? ""), t.\(table.key)"
  }

  init(_ side: JoinSide) {
    members = side.farNumbering
    owner = "t.\(side.near)"
    columns = "\(owner), t.\(side.far)" + (side.farEntity.map { ", t.\($0)" } ?? "")
    from = "\(side.table) AS t"
    order = "\(owner)\(side.farOrder.map { ", t.\($0)" } ?? ""), t.\(side.far)"
  }

  func sql(_ size: Int) -> String { "SELECT \(columns) FROM \(from) WHERE \(owner) \(KeyListSize.condition(size)) ORDER BY \(order)" }
}

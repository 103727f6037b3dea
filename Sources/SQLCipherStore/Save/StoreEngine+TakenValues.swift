// StoreEngine+TakenValues: which unique values of a save are taken, and by whom: found for many rows with one statement.
import ObjectModel
import ObjectStore
import SQLCipherConnection

/// Thrown inside a save that a uniqueness constraint stops; the save is rolled back before it is found out which values are taken.
struct UniqueValuesTaken: Error {}

extension StoreEngine {
  /// A constraint and the rows of a save that it holds for, by their values.
  private struct Claims {
    let declaring: CompiledEntity
    let names: [String]
    var order: [[Slot]] = []
    var rows: [[Slot]: [ObjectReference]] = [:]
    var holders: [[Slot]: ObjectReference] = [:]
  }

  /// The error that names all clashes of a save that was rolled back; nil when there are none (any more).
  func constraintConflict(of request: SaveChangesRequest, space: ObjectIDSpace) throws -> StoreError? {
    var claims = self.claims(of: request)
    // Rows of the save have their new values, or are gone.
    var known = Set(request.deleted.lazy.map(\.reference))
    known.formUnion(request.updated.lazy.map(\.row.reference))
    known.formUnion(request.inserted.references)
    try read { connection in
      for index in claims.indices { try findHolders(&claims[index], except: known, connection) }
    }
    var conflicts: [ConstraintConflict] = []
    for claim in claims {
      for values in claim.order {
        guard let rows = claim.rows[values], rows.count > 1 || claim.holders[values] != nil else { continue }
        conflicts.append(
          ConstraintConflict(
            entityName: claim.declaring.name, constraint: claim.names, objectIDs: rows.map { Self.objectID(of: $0, in: space) },
            databaseObjectID: claim.holders[values].map { Self.objectID(of: $0, in: space) }))
      }
    }
    guard let first = conflicts.first else { return nil }
    var error = StoreError(
      .constraintConflict,
      "Objects of “\(first.entityName)” have the same values of \(first.constraint.joined(separator: ", ")). Nothing was saved.",
      operation: .save, path: path)
    error.entityName = first.entityName
    error.constraintConflicts = conflicts
    return error
  }

  private func claims(of request: SaveChangesRequest) -> [Claims] {
    var claims: [Claims] = []
    var positions: [Int: [(position: Int, slots: [CompiledSlot])]] = [:]
    func note(_ row: RowImage) {
      if positions[row.entityNumber] == nil {
        positions[row.entityNumber] = schema.model.entities[row.entityNumber].constraints(in: schema.model).map { constraint in
          let known = claims.firstIndex { $0.declaring.number == constraint.entity && $0.names == constraint.names }
          if known == nil { claims.append(Claims(declaring: schema.model.entities[constraint.entity], names: constraint.names)) }
          return (known ?? claims.count - 1, constraint.slots)
        }
      }
      for (position, slots) in positions[row.entityNumber] ?? [] where !slots.contains(where: { row.isNull($0.index) }) {
        let values = slots.map { $0.kind == .reference ? .int(row.reference($0.index).key) : row.slot($0.index, kind: $0.kind) }
        if claims[position].rows[values] == nil { claims[position].order.append(values) }
        claims[position].rows[values, default: []].append(row.reference)
      }
    }
    for update in request.updated { note(update.row) }
    for row in request.inserted { note(row) }
    return claims
  }

  /// Finds the stored rows that have claimed values.
  private func findHolders(_ claims: inout Claims, except known: Set<ObjectReference>, _ connection: Connection) throws {
    let table = try schema.table(of: claims.declaring.number)
    let columns = claims.names.compactMap { name in
      claims.declaring.property(named: name)?.slotIndex.flatMap { table.column(entity: claims.declaring.number, slot: $0) }
    }
    guard columns.count == claims.names.count else { return }
    let size = max(1, min(300, 900 / columns.count))
    var rest = claims.order[...]
    while !rest.isEmpty {
      let piece = rest.prefix(size)
      let statement = try connection.statement(sql: holdersSQL(claims.declaring, table, columns, count: piece.count))
      defer { statement.reset() }
      var index: Int32 = 0
      for value in piece.joined() {
        index += 1
        try statement.bind(index, value)
      }
      trace.note(statement)
      while try statement.step() {
        let holder = try schema.reference(key: statement.int64(1), entity: statement.int(2))
        if !known.contains(holder) { claims.holders[piece[piece.startIndex + statement.int(0)]] = holder }
      }
      rest = rest.dropFirst(size)
    }
  }

  private func holdersSQL(_ declaring: CompiledEntity, _ table: EntityTable, _ columns: [TableColumn], count: Int) -> String {
    let marks = columns.map { _ in ", ?" }.joined()
    let rows = (0..<count).map { "(\($0)\(marks))" }.joined(separator: ", ")
    var conditions = columns.enumerated().map { "t.\($1.name) = v.c\($0)" }
    if let ofEntity = table.entityCondition(declaring.number, includesSubentities: true, model: schema.model, alias: "t") {
      conditions.append(ofEntity)
    }
    let entity = table.entity.map { "t.\($0) + \(table.entityOffset)" } ?? "\(table.root.number)"
    // The order of the join is fixed: each value is looked for by the constraint's index.
    return "WITH v(n\(columns.indices.map { ", c\($0)" }.joined())) AS (VALUES \(rows)) SELECT v.n, t.\(table.key), \(entity) "
      + "FROM v CROSS JOIN \(table.name) AS t ON \(conditions.joined(separator: " AND "))"
  }
}

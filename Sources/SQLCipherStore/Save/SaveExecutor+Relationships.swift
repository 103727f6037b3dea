// SaveExecutor+Relationships: links in join tables, and the order of ordered relationships.
import ObjectModel
import ObjectStore
import SQLCipherConnection

extension SaveExecutor {
  /// Finds the order keys that can be written with the insertions: those of new members of new owners.
  mutating func prepareOrders() {
    guard request.relationshipChanges.contains(where: { $0.order != nil }) else { return }
    let inserted = Set(request.inserted.lazy.map(\.reference))
    guard !inserted.isEmpty else { return }
    for (position, change) in request.relationshipChanges.enumerated() {
      guard let order = change.order, case .inverse(let side) = schema.relationships[change.relationshipID], side.order != nil,
        inserted.contains(change.source), order.allSatisfy(inserted.contains)
      else { continue }
      for (index, member) in order.enumerated() {
        insertedOrders[OrderedMember(relationship: change.relationshipID, key: member.key)] = Int64(index + 1) * OrderKeys.gap
      }
      finishedOrders.insert(position)
    }
  }

  func writeRelationships() throws {
    guard !request.relationshipChanges.isEmpty else { return }
    var added: [Int: [(near: ObjectReference, far: ObjectReference)]] = [:]
    for change in request.relationshipChanges {
      guard case .join(let side) = schema.relationships[change.relationshipID] else { continue }
      for member in change.removed {
        try removeLink(side, change.source, member)
        if side.isSymmetric { try removeLink(side, member, change.source) }
      }
      for member in change.added {
        added[change.relationshipID, default: []].append((change.source, member))
        if side.isSymmetric { added[change.relationshipID, default: []].append((member, change.source)) }
      }
    }
    for (relationship, links) in added.sorted(by: { $0.key < $1.key }) {
      guard case .join(let side) = schema.relationships[relationship] else { continue }
      try addLinks(side, relationship, links[...])
    }
    for (position, change) in request.relationshipChanges.enumerated() where !finishedOrders.contains(position) {
      if let order = change.order { try write(order, of: change) }
    }
  }

  // MARK: Links

  private func removeLink(_ side: JoinSide, _ near: ObjectReference, _ far: ObjectReference) throws {
    let statement = try connection.statement(
      schema.numbers.relationship(side.relationshipID, side.isReversed ? 6 : 5),
      "DELETE FROM \(side.table) WHERE \(side.table).\(side.near) = ? AND \(side.table).\(side.far) = ?")
    try statement.bind(1, near.key)
    try statement.bind(2, far.key)
    engine.trace.note(statement)
    try statement.run()
  }

  /// `OR IGNORE`: another context may have made the same link.
  private func addLinks(
    _ side: JoinSide, _ relationship: Int, _ links: ArraySlice<(near: ObjectReference, far: ObjectReference)>
  ) throws {
    let columns = side.pairColumns
    let counts = [InsertPlan.greatestRowCount, 4, 1]
    var rest = links
    while !rest.isEmpty {
      let kind = counts.firstIndex { $0 <= rest.count } ?? 2
      let statement = try connection.statement(
        schema.numbers.relationship(relationship, 18 + kind),
        {
          let row = "(" + Array(repeating: "?", count: columns.count).joined(separator: ", ") + ")"
          return "INSERT OR IGNORE INTO \(side.table) (\(columns.joined(separator: ", "))) VALUES "
            + Array(repeating: row, count: counts[kind]).joined(separator: ", ")
        }())
      var index: Int32 = 0
      for link in rest.prefix(counts[kind]) {
        guard link.near.key > 0, link.far.key > 0 else {
          throw StoreError(.invalidRequest, "A relationship refers to an object without a permanent ID.", operation: .save)
        }
        index = try side.bind(link.near, link.far, to: statement, after: index)
      }
      engine.trace.note(statement)
      try statement.run()
      rest = rest.dropFirst(counts[kind])
    }
  }

  // MARK: Orders

  private func write(_ order: [ObjectReference], of change: SaveChangesRequest.RelationshipChange) throws {
    let read: String
    let update: String
    let isJoin: Bool
    switch schema.relationships[change.relationshipID] {
    case .inverse(let side):
      guard let column = side.order else { return }
      let table = schema.tables[side.table]
      read = "SELECT t.\(table.key), t.\(column) FROM \(table.name) AS t WHERE t.\(side.column.name) = ?"
      update = "UPDATE OR FAIL \(table.name) SET \(column) = ? WHERE \(table.name).\(table.key) = ?"
      isJoin = false
    case .join(let side):
      guard let column = side.farOrder else { return }
      read = "SELECT t.\(side.far), t.\(column) FROM \(side.table) AS t WHERE t.\(side.near) = ?"
      update = "UPDATE OR FAIL \(side.table) SET \(column) = ? WHERE \(side.table).\(side.far) = ? AND \(side.table).\(side.near) = ?"
      isJoin = true
    case .column, .none: return
    }
    let present = try currentOrder(read, change)
    let keys = OrderKeys.assign(order.map { present[$0.key] ?? nil })
    let statement = try connection.statement(schema.numbers.relationship(change.relationshipID, 22), update)
    for (position, member) in order.enumerated() where present[member.key] ?? nil != keys[position] {
      try statement.bind(1, keys[position])
      try statement.bind(2, member.key)
      if isJoin { try statement.bind(3, change.source.key) }
      engine.trace.note(statement)
      try statement.run()
    }
  }

  private func currentOrder(_ sql: String, _ change: SaveChangesRequest.RelationshipChange) throws -> [Int64: Int64?] {
    let statement = try connection.statement(schema.numbers.relationship(change.relationshipID, 21), sql)
    defer { statement.reset() }
    try statement.bind(1, change.source.key)
    engine.trace.note(statement)
    var keys: [Int64: Int64?] = [:]
    while try statement.step() { keys[statement.int64(0)] = .some(statement.isNull(1) ? nil : statement.int64(1)) }
    return keys
  }
}

// SaveExecutor+Relationships: links in join tables, and the order of ordered relationships.
import ObjectModel
import ObjectStore
import SQLCipherConnection

extension SaveExecutor {
  /// Finds the order keys that can be written with the insertions: those of new members of new owners.
  mutating func prepareOrders() {
    guard !request.inserted.isEmpty, request.relationshipChanges.contains(where: { $0.order != nil }) else { return }
    let new = NewRows(request.inserted, of: schema.model)
    for (position, change) in request.relationshipChanges.enumerated() {
      guard let order = change.order, case .inverse(let side) = schema.relationships[change.relationshipID], side.order != nil,
        new.contain(change.source), order.allSatisfy(new.contain)
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
    // Changes of a relationship come one after the other, as a rule.
    var (last, links): (Int, [(near: ObjectReference, far: ObjectReference)]) = (-1, [])
    for change in request.relationshipChanges {
      if change.relationshipID != last {
        if !links.isEmpty { added[last, default: []] += links }
        (last, links) = (change.relationshipID, [])
      }
      guard case .join(let side) = schema.relationships[change.relationshipID] else { continue }
      for member in change.removed {
        try removeLink(side, change.source, member)
        if side.isSymmetric { try removeLink(side, member, change.source) }
      }
      for member in change.added {
        links.append((change.source, member))
        if side.isSymmetric { links.append((member, change.source)) }
      }
    }
    if !links.isEmpty { added[last, default: []] += links }
    for (relationship, links) in added.sorted(by: { $0.key < $1.key }) {
      guard case .join(let side) = schema.relationships[relationship] else { continue }
      try addLinks(side, links[...])
    }
    for (position, change) in request.relationshipChanges.enumerated() where !finishedOrders.contains(position) {
      if let order = change.order { try write(order, of: change) }
    }
  }

  // MARK: Links

  private func removeLink(_ side: JoinSide, _ near: ObjectReference, _ far: ObjectReference) throws {
    let statement = try engine.statement(.removal(side: side.number), on: connection)
    try statement.bind(1, near.key)
    try statement.bind(2, far.key)
    engine.trace.note(statement)
    try statement.run()
  }

  private func addLinks(_ side: JoinSide, _ links: ArraySlice<(near: ObjectReference, far: ObjectReference)>) throws {
    var rest = links
    while !rest.isEmpty {
      let size = InsertionSize(ofLinks: rest.count)
      let statement = try engine.statement(.insertion(side: side.number, size), on: connection)
      var index: Int32 = 0
      for link in rest.prefix(size.linkCount) {
        guard link.near.key > 0, link.far.key > 0 else {
          throw StoreError(.misuse(.noPermanentID), operation: .save)
        }
        index = try side.bind(link.near, link.far, to: statement, after: index)
      }
      engine.trace.note(statement)
      try statement.run()
      rest = rest.dropFirst(size.linkCount)
    }
  }

  // MARK: Orders

  private func write(_ order: [ObjectReference], of change: SaveChangesRequest.RelationshipChange) throws {
    switch schema.relationships[change.relationshipID] {
    case .inverse(let side):
      guard side.order != nil else { return }
      try write(
        order, reading: try engine.statement(.places(relationship: change.relationshipID), on: connection),
        writing: try engine.statement(.placing(relationship: change.relationshipID), on: connection), of: change.source, isJoin: false)
    case .join(let side):
      guard side.isOrdered else { return }
      try write(
        order, reading: try engine.statement(.places(side: side.number), on: connection),
        writing: try engine.statement(.placing(side: side.number), on: connection), of: change.source, isJoin: true)
    case .column, .none: return
    }
  }

  /// - Parameter isJoin: Whether a place is that of a link: then its owner belongs to its key.
  private func write(
    _ order: [ObjectReference], reading read: Statement, writing update: Statement, of owner: ObjectReference, isJoin: Bool
  ) throws {
    let present = try currentOrder(read, of: owner)
    let keys = OrderKeys.assign(order.map { present[$0.key] ?? nil })
    for (position, member) in order.enumerated() where present[member.key] ?? nil != keys[position] {
      try update.bind(1, keys[position])
      try update.bind(2, member.key)
      if isJoin { try update.bind(3, owner.key) }
      engine.trace.note(update)
      try update.run()
    }
  }

  private func currentOrder(_ statement: Statement, of owner: ObjectReference) throws -> [Int64: Int64?] {
    defer { statement.reset() }
    try statement.bind(1, owner.key)
    engine.trace.note(statement)
    var keys: [Int64: Int64?] = [:]
    while try statement.step() { keys[statement.int64(0)] = .some(statement.isNull(1) ? nil : statement.int64(1)) }
    return keys
  }
}

/// The new rows of a save. Those of a tree of entities have keys that follow each other, as a rule: then they are a range, and no set is made.
private struct NewRows {
  private let roots: [Int]
  private var ranges: [Range<Int64>]
  private var others: Set<ObjectReference> = []

  init(_ rows: RowList, of model: CompiledModel) {
    roots = model.entities.map(\.root)
    ranges = Array(repeating: 0..<0, count: roots.count)
    for row in rows {
      let (root, key) = (roots[row.entityNumber], row.key)
      if ranges[root].isEmpty {
        ranges[root] = key..<(key + 1)
      } else if ranges[root].upperBound == key {
        ranges[root] = ranges[root].lowerBound..<(key + 1)
      } else {
        others.insert(ObjectReference(entity: root, key: key))
      }
    }
  }

  func contain(_ reference: ObjectReference) -> Bool {
    let root = roots[reference.entity]
    return ranges[root].contains(reference.key) || !others.isEmpty && others.contains(ObjectReference(entity: root, key: reference.key))
  }
}

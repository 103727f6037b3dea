import ObjectModel
import ObjectStore
import SQLCipherConnection

extension SaveExecutor {
  /// Determines the order keys that the insertions can write: those of new members of new owners.
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
      if reportsRelationship(at: position) { applied.setOrder(order, OrderChange(to: order, kept: []), at: position) }
    }
  }

  mutating func writeRelationships() throws {
    guard !request.relationshipChanges.isEmpty else { return }
    // The numbers of the relationships with new links.
    var relationships: [Int] = []
    let changes = request.relationshipChanges
    // Iterate by position: copying a change would retain its three arrays.
    for position in changes.indices {
      let relationship = changes[position].relationshipID
      if !changes[position].removed.isEmpty { try removeLinks(changes[position], at: position) }
      if changes[position].added.isEmpty { continue }
      // Changes of a relationship are usually contiguous, and relationships are few.
      if relationships.last != relationship, !relationships.contains(relationship) { relationships.append(relationship) }
    }
    let new = self.changes == nil || relationships.isEmpty ? nil : NewRows(request.inserted, of: schema.model)
    for relationship in relationships.sorted() { try addLinks(of: relationship, changes, new) }
    for (position, change) in request.relationshipChanges.enumerated() where !finishedOrders.contains(position) {
      if change.order != nil { try writeOrder(of: change, at: position) }
    }
  }

  /// Returns whether a relationship change of the request is reported.
  private func reportsRelationship(at position: Int) -> Bool {
    changes?.needs.relationships[request.relationshipChanges[position].relationshipID] ?? false
  }

  // MARK: Links

  private mutating func removeLinks(_ change: SaveChangesRequest.RelationshipChange, at position: Int) throws {
    guard case .join(let side) = schema.relationships[change.relationshipID] else { return }
    for member in change.removed {
      if try !removeLink(side, change.source, member), reportsRelationship(at: position),
        removedLinks?.contains(member, removedBy: change) != true
      {
        applied.omitRemoval(of: member, at: position)
      }
      if side.isSymmetric { try removeLink(side, member, change.source) }
    }
  }

  /// - Returns: Whether the link was stored.
  @discardableResult
  private func removeLink(_ side: JoinSide, _ near: ObjectReference, _ far: ObjectReference) throws -> Bool {
    let statement = try engine.statement(.removal(side: side.number), on: connection)
    try statement.bind(1, near.key)
    try statement.bind(2, far.key)
    engine.trace.record(statement)
    try statement.run()
    return connection.changes > 0
  }

  /// - Parameter new: The new rows, if changes are reported.
  private mutating func addLinks(of relationship: Int, _ changes: [SaveChangesRequest.RelationshipChange], _ new: NewRows?) throws {
    guard case .join(let side) = schema.relationships[relationship] else { return }
    if let new, self.changes?.needs.relationships[relationship] ?? false { return try addReported(side, relationship, changes, new) }
    var count = 0
    for position in changes.indices where changes[position].relationshipID == relationship { count += changes[position].added.count }
    var links = LinkInsertion(side: side, rest: side.isSymmetric ? count * 2 : count)
    for position in changes.indices where changes[position].relationshipID == relationship {
      let source = changes[position].source
      for member in changes[position].added {
        try add(source, member, to: &links)
        if side.isSymmetric { try add(member, source, to: &links) }
      }
    }
  }

  /// Adds links, and records which of them were stored already. Links without a new object are inserted one by one.
  private mutating func addReported(
    _ side: JoinSide, _ relationship: Int, _ changes: [SaveChangesRequest.RelationshipChange], _ new: NewRows
  ) throws {
    let positions = changes.indices.filter { changes[$0].relationshipID == relationship }
    /// Returns whether a link cannot be stored already. A link of a symmetric relationship can be added from both ends.
    func isNew(_ source: ObjectReference, _ member: ObjectReference) -> Bool {
      !side.isSymmetric && (new.contain(source) || new.contain(member))
    }
    var count = 0
    for position in positions {
      let source = changes[position].source
      for member in changes[position].added where isNew(source, member) { count += 1 }
    }
    var links = LinkInsertion(side: side, rest: count)
    for position in positions {
      let source = changes[position].source
      for member in changes[position].added {
        if isNew(source, member) {
          try add(source, member, to: &links)
          continue
        }
        var link = LinkInsertion(side: side, rest: 1)
        try add(source, member, to: &link)
        if connection.changes == 0 { applied.omitAddition(of: member, at: position) }
        if side.isSymmetric {
          link.rest = 1
          try add(member, source, to: &link)
        }
      }
    }
  }

  private struct LinkInsertion {
    let side: JoinSide
    /// The number of links to insert.
    var rest: Int
    /// The statement for the next link, the number of its bound parameters, and the number of links that it can still take.
    var statement: Statement?
    var index: Int32 = 0
    var capacity = 0
  }

  @inline(__always) private func add(_ near: ObjectReference, _ far: ObjectReference, to links: inout LinkInsertion) throws {
    guard near.key > 0, far.key > 0 else {
      throw StoreError(.noPermanentID, operation: .save)
    }
    if links.capacity == 0 {
      let size = LinkInsertionSize(for: links.rest)
      links.statement = try engine.statement(.insertion(side: links.side.number, size), on: connection)
      (links.index, links.capacity) = (0, size.linkCount)
    }
    guard let statement = links.statement else { return }
    links.index = try links.side.bind(near, far, to: statement, after: links.index)
    links.capacity -= 1
    links.rest -= 1
    if links.capacity > 0 { return }
    engine.trace.record(statement)
    try statement.run()
  }

  // MARK: Orders

  private mutating func writeOrder(of change: SaveChangesRequest.RelationshipChange, at position: Int) throws {
    switch schema.relationships[change.relationshipID] {
    case .inverse(let side):
      guard side.order != nil else { return }
      try writeOrder(
        of: change, reading: try engine.statement(.positions(relationship: change.relationshipID), on: connection),
        writing: try engine.statement(.positioning(relationship: change.relationshipID), on: connection), isJoin: false, at: position)
    case .join(let side):
      guard side.isOrdered else { return }
      try writeOrder(
        of: change, reading: try engine.statement(.positions(side: side.number), on: connection),
        writing: try engine.statement(.positioning(side: side.number), on: connection), isJoin: true, at: position)
    case .column, .none: return
    }
  }

  /// - Parameter isJoin: Whether the positions are stored in links, whose key includes the owner.
  private mutating func writeOrder(
    of change: SaveChangesRequest.RelationshipChange, reading read: Statement, writing update: Statement, isJoin: Bool, at place: Int
  ) throws {
    let owner = change.source
    let present = try currentOrder(read, of: owner)
    let order = isBasedOnCurrentOrder(change, present) ? change.order ?? [] : try mergeOrder(of: change, at: place)
    let current = order.map { present[$0.key] ?? nil }
    let keys = OrderKeys.assign(current)
    if reportsRelationship(at: place) { reportOrder(order, present, at: place) }
    for (position, member) in order.enumerated() where present[member.key] ?? nil != keys[position] {
      try update.bind(1, keys[position])
      try update.bind(2, member.key)
      if isJoin { try update.bind(3, owner.key) }
      engine.trace.record(update)
      try update.run()
    }
  }

  /// Returns whether no others have inserted, moved or removed members since the context read them.
  ///
  /// - Parameter present: The positions of the members, by key. They include those that the save has added.
  private func isBasedOnCurrentOrder(_ change: SaveChangesRequest.RelationshipChange, _ present: [Int64: Int64?]) -> Bool {
    guard let former = change.previousOrder, let order = change.order else { return true }
    guard order.count == present.count, order.allSatisfy({ present[$0.key] != nil }) else { return false }
    var last = Int64.min
    for member in former {
      guard let position = present[member.key] ?? nil else { continue }
      if position < last { return false }
      last = position
    }
    return true
  }

  /// Merges an order with the stored one.
  private mutating func mergeOrder(of change: SaveChangesRequest.RelationshipChange, at place: Int) throws -> [ObjectReference] {
    let (statement, numbering): (Statement, EntityEncoding)
    switch schema.relationships[change.relationshipID] {
    case .inverse(let side):
      statement = try engine.statement(.members(relationship: change.relationshipID, .one), on: connection)
      numbering = side.members
    case .join(let side):
      statement = try engine.statement(.members(side: side.number, .one), on: connection)
      numbering = side.farNumbering
    case .column, .none: return change.order ?? []
    }
    defer { statement.reset() }
    try statement.bind(1, change.source.key)
    engine.trace.record(statement)
    var stored: [ObjectReference] = []
    while try statement.step() { stored.append(try engine.reference(statement, 1, numbering)) }
    request.relationshipChanges[place] = change.merged(with: stored)
    return request.relationshipChanges[place].order ?? stored
  }

  /// Records the order of the members after the save.
  ///
  /// - Parameter present: The positions of the members before the new ones are written.
  private mutating func reportOrder(_ order: [ObjectReference], _ present: [Int64: Int64?], at place: Int) {
    let members = order.filter { present[$0.key] != nil }
    // A member that came from another owner still has its position there.
    let arrived = arrivedMembers(of: request.relationshipChanges[place].relationshipID)
    let known = members.map { arrived.contains($0) ? nil : present[$0.key] ?? nil }
    applied.setOrder(members, OrderChange(to: members, kept: OrderChange.longestAscending(known)), at: place)
  }

  /// Returns the members that the save moves to other owners by their to-one relationships.
  private func arrivedMembers(of relationship: Int) -> Set<ObjectReference> {
    guard let inverse = schema.model.inverse(of: schema.model.relationships[relationship]), !inverse.isToMany else { return [] }
    let sources = schema.model.entities[inverse.sourceEntity].subtree
    return Set(
      request.updated.lazy.filter { sources.contains($0.row.entityNumber) && $0.changedSlots.contains(inverse.index) }.map(\.row.reference))
  }

  private func currentOrder(_ statement: Statement, of owner: ObjectReference) throws -> [Int64: Int64?] {
    defer { statement.reset() }
    try statement.bind(1, owner.key)
    engine.trace.record(statement)
    var keys: [Int64: Int64?] = [:]
    while try statement.step() { keys[statement.int64(0)] = .some(statement.isNull(1) ? nil : statement.int64(1)) }
    return keys
  }
}

/// The new rows of a save. The keys of an entity tree are usually consecutive, so that a range replaces a set.
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

/// Assigns sparse keys that order the members of a relationship, so that moving a member changes few rows.
enum OrderKeys {
  /// The distance between neighbors that are numbered together.
  static let gap: Int64 = 1 << 20

  /// Returns ascending keys for members in a new order. As many keys as possible are kept. If no number is left between two keys, all keys
  /// are assigned again.
  ///
  /// - Parameter current: The members' present keys in the new order; `nil` for a new member.
  /// - Complexity: O(*n* log *n*), where *n* is the number of members.
  static func assign(_ current: [Int64?]) -> [Int64] {
    let kept = OrderChange.longestAscending(current)
    var keys: [Int64] = []
    keys.reserveCapacity(current.count)
    var previous: Int64?
    var start = 0
    for index in kept + [current.count] {
      let next = index < current.count ? current[index] : nil
      let count = Int64(index - start)
      if count > 0 {
        switch (previous, next) {
        case (nil, nil): for step in 1...count { keys.append(step * gap) }
        case (let low?, nil):
          guard low < Int64.max - (count + 1) * gap else { return fresh(current.count) }
          for step in 1...count { keys.append(low + step * gap) }
        case (nil, let high?):
          guard high > Int64.min + (count + 1) * gap else { return fresh(current.count) }
          for step in 1...count { keys.append(high - (count - step + 1) * gap) }
        case (let low?, let high?):
          let (range, isTooFar) = high.subtractingReportingOverflow(low)
          let distance = range / (count + 1)
          guard !isTooFar, distance > 0 else { return fresh(current.count) }
          for step in 1...count { keys.append(low + step * distance) }
        }
      }
      if let next {
        keys.append(next)
        previous = next
      }
      start = index + 1
    }
    return keys
  }

  private static func fresh(_ count: Int) -> [Int64] { (0..<count).map { Int64($0 + 1) * gap } }
}

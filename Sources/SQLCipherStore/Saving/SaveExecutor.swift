import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreKeys

/// Runs one save.
///
/// Deletions come first and insertions last, so that unique values are released before they are used again. Foreign keys are deferred, so
/// the order of entities does not matter.
struct SaveExecutor {
  let engine: StoreEngine
  let transaction: WriteTransaction
  let files: ExternalTransaction?
  var connection: Connection { transaction.connection }
  var request: SaveChangesRequest
  let inserted: RowList
  let space: ObjectIDSpace
  var schema: StoreSchema { engine.schema }
  /// Updates that would have used a unique value before its release. Their unique columns are NULL until all other updates have run.
  var deferredUpdates: [SaveChangesRequest.Update] = []
  /// The order keys of members that are inserted with their owner.
  var insertedOrders: [OrderedMember: Int64] = [:]
  /// The positions of changes whose order the insertions write.
  var finishedOrders: Set<Int> = []

  /// The numbers of the values in files.
  let externals: ExternalNumbers?
  /// The stream of the changes, or `nil` without consumers.
  let changes: ChangeStream?
  /// The links that are removed with deleted rows, if they are reported.
  private(set) var removedLinks: RemovedLinks?
  /// What the relationship changes of the request have changed, if they are reported.
  var applied = AppliedRelationships()

  struct OrderedMember: Hashable {
    let relationship: Int
    let key: Int64
  }

  init(engine: StoreEngine, transaction: WriteTransaction, request: SaveChangesRequest, space: ObjectIDSpace) {
    self.engine = engine
    self.transaction = transaction
    files = engine.externals == nil ? nil : transaction.files
    externals = files == nil ? nil : ExternalNumbers()
    changes = transaction.changes
    // The history refers to values in files by their numbers.
    if changes != nil, let externals { transaction.keep(externals) }
    self.request = request
    inserted = request.inserted
    self.space = space
  }

  /// Reports the changes of the save to the consumers, after it was written.
  ///
  /// - Parameter oldRows: The former rows that the consumers need.
  func report(oldRows: [ObjectReference: RowImage] = [:]) throws {
    try changes?.save(request, oldRows: oldRows, removedLinks: removedLinks, applied: applied)
  }

  mutating func run() throws {
    do {
      try checkLockedRows()
      try deleteRows()
      try updateRows()
      try applyDeferredUpdates()
      prepareOrders()
      try insertRows()
      try writeRelationships()
    } catch let error as StoreAccessError where error.extendedCode == ConstraintCode.unique {
      throw try uniquenessConflict(error, UniqueClaims(request, model: schema.model))
    }
  }

  /// Returns the error with all uniqueness conflicts of the save. It must be called in the open transaction.
  func uniquenessConflict(_ error: StoreAccessError, _ claims: UniqueClaims) throws -> StoreError {
    try UniquenessConflict(engine.rows, transaction.reading, .save, in: space).error(error, claims)
  }

  // MARK: Checks and deletions

  private func checkLockedRows() throws {
    for locked in request.locked where locked.version != 0 {
      let table = try schema.table(of: locked.reference.entity)
      let statement = try engine.statement(.version(table: table.index), on: connection)
      defer { statement.reset() }
      try statement.bind(1, locked.reference.key)
      engine.trace.record(statement)
      guard try statement.step(), statement.int64(0) == locked.version else { throw VersionsDiffer() }
    }
  }

  private struct DeletionGroup: Hashable {
    let table: Int
    let version: Int64
  }

  private mutating func deleteRows() throws {
    guard !request.deleted.isEmpty else { return }
    removedLinks = changes.map { RemovedLinks($0, of: request) }
    var groups: [DeletionGroup: [Int64]] = [:]
    var byEntity: [Int: [Int64]] = [:]
    for item in request.deleted {
      let table = try schema.table(of: item.reference.entity)
      groups[DeletionGroup(table: table.index, version: item.version), default: []].append(item.reference.key)
      byEntity[item.reference.entity, default: []].append(item.reference.key)
    }
    let sorted = byEntity.sorted { $0.key < $1.key }.map { (entity: $0.key, keys: $0.value.sortedKeys()) }
    // All links are read before the first of them is deleted, since a link of two deleted rows is reported by one of them.
    if changes != nil { for (entity, keys) in sorted { try findLinks(of: keys, entity) } }
    for (entity, keys) in sorted {
      for side in schema.joinSides[entity] { try deleteLinks(side, of: keys) }
    }
    for (group, keys) in groups.sorted(by: { ($0.key.table, $0.key.version) < ($1.key.table, $1.key.version) }) {
      try KeyListSize.forEachChunk(of: keys.sortedKeys()[...]) { chunk, size in
        let isChecked = group.version != 0
        let statement = try engine.statement(
          isChecked ? .checkedDeletion(table: group.table, size) : .deletion(table: group.table, size), on: connection)
        try size.bind(chunk, to: statement)
        if isChecked { try statement.bind(Int32(size.rawValue) + 1, group.version) }
        engine.trace.record(statement)
        try statement.run()
        if isChecked, connection.changes != chunk.count { throw VersionsDiffer() }
      }
    }
  }

  private func deleteLinks(_ side: JoinSide, of keys: [Int64]) throws {
    try KeyListSize.forEachChunk(of: keys[...]) { chunk, size in
      let statement = try engine.statement(.deletion(side: side.number, size), on: connection)
      try size.bind(chunk, to: statement)
      engine.trace.record(statement)
      try statement.run()
    }
  }

  /// Reads the links that are about to be removed with rows of an entity.
  private mutating func findLinks(of keys: [Int64], _ entity: Int) throws {
    for side in schema.joinSides[entity] {
      let relationship = schema.model.relationships[side.relationshipID]
      // Each link of a relationship that is its own inverse is stored in both directions.
      guard let changes, changes.needsLinks(of: relationship), !(side.isSymmetric && side.isReversed) else { continue }
      try KeyListSize.forEachChunk(of: keys[...]) { chunk, size in
        let statement = try engine.statement(.members(side: side.number, size), on: connection)
        defer { statement.reset() }
        try size.bind(chunk, to: statement)
        engine.trace.record(statement)
        while try statement.step() {
          guard let member = side.farNumbering.object(of: statement, key: 1, entity: 2) else { continue }
          let object = ObjectReference(entity: entity, key: statement.int64(0))
          removedLinks?.add(relationship, of: object, member, isReversed: side.isReversed)
        }
      }
    }
  }

  // MARK: Updates

  private mutating func updateRows() throws {
    let updates = request.updated
    var position = 0
    while position < updates.count {
      let (entity, slots) = (updates[position].row.entityNumber, updates[position].changedSlots)
      let plan = try engine.saveStatements.update(entity, slots, schema)
      let statement = try statement(of: plan)
      // Often many consecutive objects have the same changed slots.
      repeat {
        let (row, version) = (updates[position].row, updates[position].oldVersion)
        do {
          try run(plan, statement, row, oldVersion: version)
        } catch let error as StoreAccessError where error.extendedCode == ConstraintCode.unique {
          try run(plan, statement, row, oldVersion: version, parking: uniqueSlots(of: entity))
          deferredUpdates.append(updates[position])
        }
        position += 1
      } while position < updates.count && updates[position].row.entityNumber == entity && updates[position].changedSlots == slots
    }
  }

  /// Writes the unique values of deferred updates, after all others have released theirs.
  private mutating func applyDeferredUpdates() throws {
    for update in deferredUpdates {
      let entity = update.row.entityNumber
      var slots = SlotMask()
      let unique = uniqueSlots(of: entity)
      for slot in update.changedSlots.slots(below: update.row.slotCount) where unique.contains(slot) { slots.insert(slot) }
      try run(try engine.saveStatements.update(entity, slots, schema), update.row, oldVersion: update.row.version)
    }
  }

  private func uniqueSlots(of entity: Int) -> SlotMask {
    SlotMask(slots: schema.model.entities[entity].uniquenessConstraints.joined())
  }

  func run(_ plan: UpdatePlan, _ row: RowImage, oldVersion: Int64) throws {
    try run(plan, try statement(of: plan), row, oldVersion: oldVersion)
  }

  private func statement(of plan: UpdatePlan) throws -> Statement {
    try plan.number.map { try connection.statement($0, plan.sql) } ?? connection.statement(sql: plan.sql)
  }

  private func run(_ plan: UpdatePlan, _ statement: Statement, _ row: RowImage, oldVersion: Int64, parking: SlotMask? = nil) throws {
    var index: Int32 = 1
    try statement.bind(1, row.version)
    for step in plan.steps {
      if let parking, parking.contains(step.slot) {
        try step.bindNothing(at: &index, to: statement)
      } else if step.isLarge, !row.isNull(step.slot) {
        try bindLarge(step, row, at: &index, to: statement)
      } else {
        try step.bind(row, at: &index, to: statement)
      }
    }
    try statement.bind(index + 1, row.key)
    try statement.bind(index + 2, oldVersion)
    engine.trace.record(statement)
    try statement.run()
    if connection.changes != 1 { throw VersionsDiffer() }
  }
}

// MARK: - Inserting rows

extension SaveExecutor {
  mutating func insertRows() throws {
    guard !inserted.isEmpty else { return }
    var groups: [Int: [Int]] = [:]
    // New rows of an entity are usually contiguous.
    var (entity, start) = (-1, 0)
    for (position, row) in inserted.enumerated() where row.entityNumber != entity {
      if position > start { groups[entity, default: []] += start..<position }
      (entity, start) = (row.entityNumber, position)
    }
    groups[entity, default: []] += start..<inserted.count
    for (entity, positions) in groups.sorted(by: { $0.key < $1.key }) {
      let plan = try engine.saveStatements.insert(entity, schema)
      var start = 0
      while start < positions.count {
        let size = plan.size(for: positions.count - start)
        let chunk = positions[start..<(start + plan.rowCounts[size.rawValue])]
        try insert(chunk, entity, plan, size)
        start += chunk.count
      }
    }
  }

  mutating func insertRow(_ position: Int) throws {
    let entity = inserted[position].entityNumber
    let plan = try engine.saveStatements.insert(entity, schema)
    try insert([position], entity, plan, .one)
  }

  private mutating func insert(_ positions: ArraySlice<Int>, _ entity: Int, _ plan: InsertPlan, _ size: InsertionSize) throws {
    do {
      try runInsert(positions, entity, plan, size)
    } catch let error as StoreAccessError where [ConstraintCode.primaryKey, ConstraintCode.rowID].contains(error.extendedCode) {
      var failure = StoreError(.keyInUse, operation: .save, path: engine.path, underlying: error)
      failure.entityName = schema.model.entities[entity].name
      throw failure
    }
  }

  private func runInsert(_ positions: ArraySlice<Int>, _ entity: Int, _ plan: InsertPlan, _ size: InsertionSize) throws {
    let statement = try engine.statement(.insertion(entity: entity, size), on: connection)
    var index: Int32 = 0
    let table = plan.table
    for position in positions {
      let row = inserted[position]
      guard row.key > 0, row.key <= RowKey.maximum else {
        throw StoreError(.noPermanentKey(entity: schema.model.entities[entity].name), operation: .save)
      }
      try statement.bind(index + 1, row.key)
      try statement.bind(index + 2, row.version)
      index += 2
      if table.entity != nil {
        index += 1
        try statement.bind(index, entity - table.entityOffset)
      }
      for step in plan.steps {
        if step.isLarge, !row.isNull(step.slot) {
          try bindLarge(step, row, at: &index, to: statement)
        } else {
          try step.bind(row, at: &index, to: statement)
        }
      }
      for relationship in plan.orders {
        index += 1
        if let order = insertedOrders[OrderedMember(relationship: relationship, key: row.key)] {
          try statement.bind(index, order)
        } else {
          try statement.bindNull(index)
        }
      }
    }
    engine.trace.record(statement)
    try statement.run()
  }
}

extension CompiledProperty {
  /// The slot of an attribute or to-one relationship, or `nil` for other properties.
  var slotIndex: Int? {
    switch self {
    case .attribute(let slot): slot.index
    case .toOne(let relationship): relationship.index
    case .toMany, .composite, .fetched: nil
    }
  }
}

// MARK: - Binding large values

extension SaveExecutor {
  /// Binds the value of a binary attribute: its number if it is stored in a file, else its bytes.
  func bindLarge(_ step: BindStep, _ row: RowImage, at index: inout Int32, to statement: Statement) throws {
    let external = row.external(step.slot)
    guard let storage = engine.externals, let files, step.keepsExternals else {
      guard let external else { return try step.bind(row, at: &index, to: statement) }
      index += 1
      return try bindInside(external, index, to: statement)
    }
    if external == nil, row.bytes(step.slot).count < storage.threshold { return try step.bind(row, at: &index, to: statement) }
    index += 1
    if let known = externals?.id(of: row, step.slot) { return try statement.bind(index, known) }
    let id: Int64
    if let external {
      let place = StoredLargeValue.Place(object: row.reference, slot: step.slot)
      let isOwn = (external.content as? StoredLargeValue).map { $0.storage === storage && $0.place == place } ?? false
      if !isOwn, try external.count < storage.threshold { return try bindInside(external, index, to: statement) }
      id = try files.keep(external, at: place, in: storage)
    } else {
      id = try files.keep(row.bytes(step.slot))
    }
    externals?.record(id, of: row, step.slot)
    try statement.bind(index, id)
  }

  /// Binds all bytes of a value that is stored in the row from now on. The value no longer refers to its former content.
  private func bindInside(_ value: ExternalData, _ index: Int32, to statement: Statement) throws {
    let data = try value.data()
    try statement.bind(index, data)
    value.replaceContent(ExternalBytes(data))
  }
}

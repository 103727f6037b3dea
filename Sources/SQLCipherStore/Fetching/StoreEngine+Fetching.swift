import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection
import StoreKeys

extension StoreEngine {
  /// Executes a fetch.
  ///
  /// - Parameter keys: Receives the keys of a fetch for IDs, if all IDs have the same entity according to the plan. The result is empty
  ///   then.
  func fetch(_ specification: FetchSpecification, in scope: RequestScope, keys: FetchedKeys? = nil) throws -> PersistentStoreResult {
    let fetch = try FetchResolver(model: schema.model).resolve(specification)
    let shape = FetchShape(fetch, specification: specification)
    let plan = try plan(fetch, specification, shape)
    do {
      return try self.fetch(fetch, specification, plan, scope, keys)
    } catch let error as StoreAccessError where !schema.fullText.isEmpty && error.isOfMissingFullText {
      // Another process has opened the store with a model that has other indexes. The result is the same without them.
      let plain = try StoreSchema(model: schema.model, layout: schema.layout, hasFullText: false)
      return try self.fetch(
        fetch, specification, try SelectGenerator(schema: plain, sums: .exact).plan(fetch, specification, shape, number: nil), scope, keys)
    } catch let error as StoreAccessError where error.isOfIntegerOverflow {
      let exact = try SelectGenerator(schema: schema, sums: .exact).plan(fetch, specification, shape, number: nil)
      return try self.fetch(fetch, specification, exact, scope, keys)
    }
  }

  private func fetch(
    _ fetch: ResolvedFetch, _ specification: FetchSpecification, _ plan: SelectPlan, _ scope: RequestScope, _ keys: FetchedKeys?
  ) throws -> PersistentStoreResult {
    try read(from: try generation(of: scope)) { transaction in
      try transaction.withCancellation(scope.cancellation) { try answer(fetch, specification, plan, scope, transaction, keys) }
    }
  }

  private func answer(
    _ fetch: ResolvedFetch, _ specification: FetchSpecification, _ planned: SelectPlan, _ scope: RequestScope,
    _ transaction: ReadTransaction, _ keys: FetchedKeys?
  ) throws -> PersistentStoreResult {
    let space = scope.objectIDSpace
    let plan = try chosen(planned, fetch, specification, space, transaction)
    let statement = try statement(of: plan, transaction)
    defer { statement.reset() }
    try bind(plan.binders, fetch, specification, space, to: statement)
    trace.record(statement)
    if case .topRows(let sortKeys) = plan.output {
      return .rows(try topRows(sortKeys, plan, specification, statement, transaction))
    }
    return try read(plan, statement, of: fetch.entity, scope, limit: specification.fetchLimit, keys)
  }

  private func statement(of plan: SelectPlan, _ transaction: ReadTransaction) throws -> Statement {
    let connection = transaction.connection
    guard let number = plan.number else { return try connection.statement(sql: plan.sql) }
    if let sql = plan.backwardSQL, connection.scanDirections.isBackwards(number) { return try connection.statement(sql: sql) }
    return try connection.statement(number, plan.sql)
  }

  /// Returns the objects that a fetch for IDs finds: only their keys if they all have the same entity.
  func fetchedIDs(_ specification: FetchSpecification, in scope: RequestScope) throws -> FetchedIDs {
    let keys = FetchedKeys()
    guard case .objectIDs(let ids) = try fetch(specification, in: scope, keys: keys) else {
      throw StoreError(.resultTypeMismatch, operation: .fetch)
    }
    return keys.entity == nil ? .ids(ids) : .keys(keys)
  }

  /// Returns the plan of a fetch. It is made on the first use of the fetch's shape.
  func plan(_ fetch: ResolvedFetch, _ specification: FetchSpecification, _ shape: FetchShape) throws -> SelectPlan {
    try plans.plan(for: shape) { try SelectGenerator(schema: schema).plan(fetch, specification, shape, number: $0) }
  }

  private func read(
    _ plan: SelectPlan, _ statement: Statement, of entity: CompiledEntity, _ scope: RequestScope, limit: Int, _ keys: FetchedKeys?
  ) throws -> PersistentStoreResult {
    switch plan.output {
    case .rows(let order):
      let writer = makeRowWriter(rowCapacity: min(limit, 10_000))
      try read(statement, of: plan.table, scope.rowTables.map { ReusableRows($0) }, into: writer)
      return .rows(writer.finishCompactly().sorted(by: order))
    case .topRows: return .rows(RowList())
    case .identifiers(let numbering):
      var ids: [ManagedObjectID] = []
      while try statement.step() {
        let reference = try reference(statement, 0, numbering)
        guard !reference.isNull else { throw StoreError.invalidKey }
        if let keys, case .fixed = numbering {
          keys.insert(reference.key, entity: reference.entity)
          continue
        }
        ids.append(ManagedObjectID(space: scope.objectIDSpace.number, entityNumber: UInt32(reference.entity), key: reference.key))
      }
      return .objectIDs(ids)
    case .count:
      return .count(try statement.step() ? statement.int(0) : 0)
    case .dictionaries(let columns, let condition):
      var rows: [[Slot]] = []
      while try statement.step() {
        if let condition, statement.int64(condition) == 0 { continue }
        rows.append(try columns.map { try value(statement, $0, of: entity) })
      }
      return .dictionaries(DictionaryRows(columns: columns.map(\.column), rows: rows))
    }
  }

  /// Reads all rows of a statement. Rows that are cached in the stored version are taken from the cache.
  private func read(_ statement: Statement, of table: EntityTable, _ known: ReusableRows?, into writer: RowWriter) throws {
    let read = table.readPlans[0]
    if table.entity != nil {
      while try statement.step() {
        if let known, try table.takeRow(statement, from: known, into: writer) { continue }
        try table.readRow(statement, into: writer)
        writer.closeRow()
      }
    } else if let known, read.versionIdentifiesContent {
      while try statement.step() {
        if read.take(statement.columnValues, from: known, into: writer) { continue }
        try read.read(statement, into: writer)
        writer.closeRow()
      }
    } else {
      while try statement.step() {
        try read.read(statement, into: writer)
        writer.closeRow()
      }
    }
  }

  private func topRows(
    _ sortKeys: [TopRows.SortKey], _ plan: SelectPlan, _ specification: FetchSpecification, _ statement: Statement,
    _ transaction: ReadTransaction
  ) throws -> RowList {
    var top = TopRows(sortKeys, capacity: specification.fetchLimit + specification.fetchOffset)
    let connection = transaction.connection
    let pagesBefore = connection.pagesRead
    while try statement.step() { top.offer(statement) }
    statement.reset()
    if let number = plan.number, let backwardSQL = plan.backwardSQL {
      try connection.scanDirections.record(number, missed: connection.pagesRead - pagesBefore, capacity: connection.pagesInCache) {
        try [plan.sql, backwardSQL].allSatisfy(transaction.isScan)
      }
    }
    let keys = Array(top.keys().dropFirst(specification.fetchOffset))
    // Statements with lists of keys return rows in the order of the keys.
    let byKey = keys.indices.sorted { keys[$0] < keys[$1] }
    let writer = makeRowWriter(rowCapacity: keys.count)
    try rows.read(byKey.map { keys[$0] }[...], of: plan.table, transaction, into: writer)
    let found = writer.finishCompactly()
    var positions = [Int](repeating: -1, count: keys.count)
    var next = 0
    for place in byKey where next < found.count && found.reference(next).key == keys[place] {
      positions[place] = next
      next += 1
    }
    return found.rows(at: positions.lazy.filter { $0 >= 0 })
  }

  /// Returns the reference in a column, which is followed by the entity column if there is one; a null reference for NULL.
  func reference(_ statement: Statement, _ column: Int32, _ numbering: EntityEncoding) throws -> ObjectReference {
    let key = statement.int64(column)
    guard key != 0 else { return ObjectReference(rawValue: 0) }
    guard RowKey.isKey(key) else { throw StoreError.invalidKey }
    switch numbering {
    case .fixed(let number): return ObjectReference(entity: number, key: key)
    case .stored(let offset, let entities):
      let entity = statement.int(column + 1) &+ offset
      guard entities.contains(entity) else { throw StoreError.invalidEntity }
      return ObjectReference(entity: entity, key: key)
    case .none: return ObjectReference(rawValue: 0)
    }
  }

  private func value(_ statement: Statement, _ column: SelectPlan.DictionaryColumn, of entity: CompiledEntity) throws -> Slot {
    guard let value = try slot(statement, column) else {
      throw StoreError(.unreadableValue(entity: entity.name, property: column.column.name, nil), operation: .fetch)
    }
    return try column.conversion?.converted(value) ?? value
  }

  /// Returns the value of a column as stored, or `nil` if it does not have the column's type.
  private func slot(_ statement: Statement, _ column: SelectPlan.DictionaryColumn) throws -> Slot? {
    let type = statement.type(column.index)
    // A computed number can have another numeric type; a stored one cannot.
    let isStored = column.column.attribute != nil
    switch (column.kind, type) {
    case (_, .null), (.none, _): return .null
    case (.int, .integer): return .int(statement.int64(column.index))
    case (.bytes, .integer) where !isStored: return .int(statement.int64(column.index))
    case (.int, .real) where !isStored, (.bytes, .real) where !isStored, (.real, .real), (.real, .integer):
      return .real(statement.double(column.index))
    case (.bytes, .blob): return .bytes(statement.data(column.index))
    case (.int, .blob) where !isStored: return .bytes(statement.data(column.index))
    case (.text, .text): return RowImage.text(statement.textBuffer(column.index)).map { .text($0) }
    case (.reference, .integer):
      let reference = try reference(statement, column.index, column.destination)
      return reference.isNull ? .null : .int(reference.rawValue)
    default: return nil
    }
  }

  // MARK: Binding

  func bind(
    _ binders: [SQLBinder], _ fetch: ResolvedFetch, _ specification: FetchSpecification, _ space: ObjectIDSpace, probe: Int = 0,
    to statement: Statement
  ) throws {
    var index: Int32 = 0
    for binder in binders {
      index += 1
      switch binder {
      case .constant(let number):
        switch fetch.constants[number] {
        case .slot(let slot): try statement.bind(index, slot)
        case .object(let id): try statement.bind(index, space.key(of: id))
        case .slots, .objects: throw StoreError(.listForValue, operation: .fetch)
        }
      case .listMember(let number, let position):
        switch fetch.constants[number] {
        case .slots(let slots): try statement.bind(index, slots[min(position, slots.count - 1)])
        case .objects(let ids): try statement.bind(index, space.key(of: ids[min(position, ids.count - 1)]))
        case .slot, .object: throw StoreError(.valueForList, operation: .fetch)
        }
      case .list(let number):
        try fetch.constants[number].list(in: space).bytes.withUnsafeBytes { try statement.bindBlob(index, $0) }
      case .prefixEnd(let number):
        guard case .slot(.text(let prefix)) = fetch.constants[number] else {
          try statement.bindNull(index)
          continue
        }
        try Self.bindEnd(ofPrefix: prefix, index, to: statement)
      case .packedConstants: try statement.bind(index, PackedConstants.pack(fetch.constants, in: space))
      case .limit: try statement.bind(index, specification.fetchLimit)
      case .offset: try statement.bind(index, specification.fetchOffset)
      case .probe: try statement.bind(index, probe)
      }
    }
  }

  /// Binds the exclusive upper bound of all texts with a prefix: its last byte is incremented, which cannot overflow in UTF-8. For an empty
  /// prefix, an empty blob follows all texts.
  private static func bindEnd(ofPrefix prefix: String, _ index: Int32, to statement: Statement) throws {
    var bytes = Array(prefix.utf8)
    guard let last = bytes.popLast() else { return try statement.bind(index, Data()) }
    bytes.append(last + 1)
    try bytes.withUnsafeBytes { try statement.bindText(index, $0) }
  }
}

extension StoreAccessError {
  fileprivate var isOfMissingFullText: Bool {
    guard case .noSuchTable(let name) = kind else { return false }
    return name.hasPrefix("f_")
  }

  fileprivate var isOfIntegerOverflow: Bool { kind == .sql("integer overflow") }
}

// MARK: - Choosing a plan

extension StoreEngine {
  /// Returns the alternative plan that starts with the fewest objects, or the given plan if there are no alternatives or all start with
  /// many.
  func chosen(
    _ plan: SelectPlan, _ fetch: ResolvedFetch, _ specification: FetchSpecification, _ space: ObjectIDSpace, isTraced: Bool = true,
    _ transaction: ReadTransaction
  ) throws -> SelectPlan {
    guard let choice = plan.choice else { return plan }
    func count(_ probe: SelectivityProbe, upTo bound: Int) throws -> Int {
      let statement = try transaction.connection.statement(sql: probe.sql.text)
      defer { statement.reset() }
      try bind(probe.sql.binders, fetch, specification, space, probe: bound, to: statement)
      if isTraced { trace.record(statement) }
      return try statement.step() ? statement.int(0) : bound
    }
    for bound in DrivingCondition.bounds {
      var best: Int?
      var least = bound
      for (position, probe) in choice.probes.enumerated() {
        let found =
          try probe.table.map { table in
            try tableSizes.size(of: table) { try count(probe, upTo: DrivingCondition.bounds.max() ?? 0) }
          } ?? count(probe, upTo: least)
        if found < least { (best, least) = (position, found) }
      }
      if let best { return choice.plans[best] }
    }
    return plan
  }
}

// MARK: - Reading query plans

extension ReadTransaction {
  func queryPlan(of sql: String) throws -> [QueryPlanLine] {
    try QueryPlanLine.lines(try statement(sql: QueryPlanLine.statement(about: sql)))
  }

  /// Returns whether a statement only scans one whole table.
  func isScan(_ sql: String) throws -> Bool {
    let lines = try queryPlan(of: sql)
    return lines.count == 1 && lines[0].children.isEmpty && QueryPlanFacts(lines[0].detail).access == .scan
  }
}

import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreKeys
import Synchronization

/// Updates derived attributes after other changes are written. Each affected row is computed once, regardless of the number of changes.
struct DerivationUpdater {
  private let rows: StoreRows
  private let marks: OutdatedDerivations
  private let transaction: WriteTransaction
  private let now: Double
  private var schema: StoreSchema { rows.schema }
  private var trace: StatementTrace { rows.trace }
  private var connection: Connection { transaction.connection }
  /// The keys of the rows with new values, by the number of their entity in the model.
  private(set) var changed: [Int: RowKeySet] = [:]
  /// The same by entity and slot, if they are reported.
  private var changedBySlot: [Int: [Int: RowKeySet]] = [:]
  /// The former values of the changed slots, if they are reported.
  private var former: [ObjectReference: [Int: Slot]] = [:]

  private typealias Update = (key: Int64, entity: Int, old: Slot, value: Slot)

  /// The maximum number of rows outside the save that are read for its outcome. Of more, the outcome contains only the keys.
  private static let maximumAnswer = 500

  init(rows: StoreRows, marks: OutdatedDerivations, transaction: WriteTransaction, now: Double) {
    self.rows = rows
    self.marks = marks
    self.transaction = transaction
    self.now = now
  }

  /// Computes the marked values. Attributes that depend on other derived attributes come later; their rows are marked by the values written
  /// here.
  mutating func run() throws {
    for derivation in schema.derivations {
      let marked = marks.take(derivation.number)
      guard var keys = marked.first else { continue }
      for position in marked.indices.dropFirst() where !marked[position].isEmpty {
        try addOwners(of: marked[position], at: position, derivation, to: &keys)
      }
      if !keys.isEmpty { try update(derivation, keys) }
    }
  }

  private func addOwners(of rows: RowKeySet, at position: Int, _ derivation: StoreDerivation, to keys: inout RowKeySet) throws {
    try rows.forEachList { list in
      try KeyListSize.forEachChunk(of: list) { chunk, size in
        let statement = try connection.statement(sql: derivation.owners(of: position, size.condition))
        defer { statement.reset() }
        try size.bind(chunk, to: statement)
        trace.record(statement)
        while try statement.step() { keys.insert(statement.int64(0)) }
      }
    }
  }

  private mutating func update(_ derivation: StoreDerivation, _ keys: RowKeySet) throws {
    let isUnique = isUnique(derivation)
    var updates: [Update] = []
    try keys.forEachList { list in
      try addUpdates(of: derivation, list, to: &updates)
      // Unique values are written when all of them are known, so that they can move between rows.
      if isUnique { return }
      try write(updates, derivation)
      updates.removeAll(keepingCapacity: true)
    }
    guard !updates.isEmpty else { return }
    try KeyListSize.forEachChunk(of: updates.map(\.key)[...]) { chunk, size in
      let statement = try connection.statement(sql: derivation.table.clearing(derivation.column, size))
      try size.bind(chunk, to: statement)
      trace.record(statement)
      try statement.run()
    }
    try write(updates, derivation)
  }

  private func addUpdates(of derivation: StoreDerivation, _ keys: ArraySlice<Int64>, to updates: inout [Update]) throws {
    let table = derivation.table
    let isNow = derivation.derivation.operation == .now
    let value = isNow ? "NULL" : try derivation.value(of: "t", in: schema)
    let condition = derivation.entityCondition(schema.model, alias: "t")
    try KeyListSize.forEachChunk(of: keys) { chunk, size in
      let statement = try connection.statement(sql: table.computed(value, nextTo: derivation.column, where: condition, size))
      defer { statement.reset() }
      try size.bind(chunk, to: statement)
      trace.record(statement)
      while try statement.step() {
        let new = isNow ? Slot.real(now) : statement.slot(3)
        if !DerivedValue.isSame(statement.slot(2), new) {
          let reference = try schema.reference(key: statement.int64(0), entity: statement.int(1))
          // The value can be a copy of invalid data that was written directly by SQL.
          guard AttributeChecker.typeFailure(of: new, type: derivation.derivation.type) == nil else {
            let name = schema.model.entities[reference.entity].name
            let id = transaction.purpose.objectIDSpace?.objectID(of: reference)
            throw StoreError(
              .unreadableValue(entity: name, property: derivation.derivation.slot.name, id), operation: .save, path: rows.path)
          }
          updates.append((reference.key, reference.entity, statement.slot(2), new))
        }
      }
    }
  }

  private mutating func write(_ updates: [Update], _ derivation: StoreDerivation) throws {
    if updates.isEmpty { return }
    let statement = try connection.statement(sql: derivation.table.setting(derivation.column))
    for update in updates {
      try statement.bind(1, update.value)
      try statement.bind(2, update.key)
      trace.record(statement)
      do {
        try statement.run()
      } catch {
        if error.extendedCode == ConstraintCode.unique { throw try constraintConflict(derivation, updates, error) }
        throw error
      }
      changed[update.entity, default: RowKeySet()].insert(update.key)
      guard let changes = transaction.changes else { continue }
      let slot = derivation.derivation.slot.index
      changedBySlot[update.entity, default: [:]][slot, default: RowKeySet()].insert(update.key)
      if changes.needs[update.entity].includesOldDerivedRow {
        former[ObjectReference(entity: update.entity, key: update.key), default: [:]][slot] = update.old
      }
    }
  }

  private func isUnique(_ derivation: StoreDerivation) -> Bool {
    let entities = schema.model.entities
    return derivation.table.root.subtree.contains { number in
      entities[number].slots.contains { $0 === derivation.derivation.slot }
        && entities[number].uniquenessConstraints.contains { $0.contains(derivation.derivation.slot.index) }
    }
  }

  private func constraintConflict(_ derivation: StoreDerivation, _ updates: [Update], _ error: StoreAccessError) throws -> StoreError {
    let slot = derivation.derivation.slot
    guard let space = transaction.purpose.objectIDSpace else {
      let name = schema.model.entities[derivation.derivation.entity].name
      return StoreError(.duplicateValues(entity: name, properties: [slot.name]), operation: .save, path: rows.path, underlying: error)
    }
    let values = Dictionary(updates.map { ($0.key, $0.value) }) { $1 }
    let (reader, writer) = (RowWriter(), RowWriter())
    try rows.read(updates.map(\.key)[...], of: derivation.table, transaction.reading, into: reader)
    let written = reader.finish().map { row in
      row.edited([slot.index: values[row.key] ?? .null], of: schema.model.entities[row.entityNumber], into: writer)
    }
    return try UniquenessConflict(rows, transaction.reading, .save, in: space).error(error, UniqueClaims(written, model: schema.model))
  }

  // MARK: Outcome

  /// Reports the rows with new values.
  func report(to changes: ChangeStream) throws {
    for (entity, keys) in changed.sorted(by: { $0.key < $1.key }) where changes.needs.includes(entity) {
      let (table, needs) = (try schema.table(of: entity), changes.needs[entity])
      let slots = (changedBySlot[entity] ?? [:]).sorted { $0.key < $1.key }
      try keys.forEachList { list in
        try KeyListSize.forEachChunk(of: list) { chunk, _ in
          var rows: [Int64: RowImage] = [:]
          if needs.includesOldDerivedRow || needs.includesNewDerivedRow {
            let writer = RowWriter(rowCapacity: chunk.count)
            try self.rows.read(chunk, of: table, transaction.reading, into: writer)
            for row in writer.finish() { rows[row.key] = row }
          }
          for key in chunk {
            let (reference, new) = (ObjectReference(entity: entity, key: key), rows[key])
            let old = former[reference].flatMap { new?.edited($0, of: schema.model.entities[entity]) }
            let mask = SlotMask(slots: slots.lazy.filter { $0.value.contains(key) }.map(\.key))
            try changes.update(reference, mask, old: old, new: new, isDerived: true)
          }
        }
      }
    }
  }

  /// Returns the outcome of a save.
  ///
  /// - Parameter request: The save as written.
  func outcome(of request: SaveChangesRequest) throws -> SaveOutcome {
    var outcome = SaveOutcome()
    var read: [Int: [Int64]] = [:]
    var images: [RowImage] = []
    var saved: Set<ObjectReference> = []
    for row in request.inserted where schema.model.entities[row.entityNumber].hasDerivedSlots {
      if changed[row.entityNumber]?.contains(row.key) ?? false {
        read[try schema.table(of: row.entityNumber).index, default: []].append(row.key)
      } else {
        images.append(row)
      }
      saved.insert(row.reference)
    }
    // The saving context may have outdated derived values of these rows, since updates of derived values do not change versions.
    for update in request.updated where schema.model.entities[update.row.entityNumber].hasDerivedSlots {
      read[try schema.table(of: update.row.entityNumber).index, default: []].append(update.row.key)
      saved.insert(update.row.reference)
    }
    var others: [ObjectReference] = []
    for (entity, keys) in changed.sorted(by: { $0.key < $1.key }) {
      keys.forEach { key in
        let reference = ObjectReference(entity: entity, key: key)
        if !saved.contains(reference) { others.append(reference) }
      }
    }
    if others.count > Self.maximumAnswer {
      outcome.outdated = others
    } else {
      for other in others { read[try schema.table(of: other.entity).index, default: []].append(other.key) }
    }
    guard !read.isEmpty else {
      outcome.refreshed = RowList(images)
      return outcome
    }
    let writer = RowWriter()
    for (table, keys) in read.sorted(by: { $0.key < $1.key }) {
      try rows.read(keys[...], of: schema.tables[table], transaction.reading, into: writer)
    }
    try connection.checkSentinel()
    let found = writer.finish()
    outcome.refreshed = images.isEmpty ? found : RowList(images + Array(found))
    return outcome
  }
}

/// The rows that triggers have marked since the beginning of the transaction, by derivation and by position in its path. Only the writer
/// uses it.
final class OutdatedDerivations: Sendable {
  private struct State {
    var identities: [[UInt8]] = []
    var rows: [[RowKeySet]] = []
    var areLocal: [Bool] = []
    var isEmpty = true
    /// Whether the derivations are set. While the store is being opened, they are not, and calls of triggers are ignored.
    var isPrepared = false
  }
  private let state = Mutex(State())

  func prepare(for derivations: [StoreDerivation]) {
    state.withLock { state in
      state.identities = derivations.map { Array($0.identity.utf8) }
      state.rows = derivations.map { Array(repeating: RowKeySet(), count: $0.positionCount) }
      state.areLocal = derivations.map { $0.derivation.isLocal }
      state.isEmpty = true
      state.isPrepared = true
    }
  }

  /// Registers the function that triggers call on a connection.
  func register(on connection: Connection) throws {
    try connection.registerFunction(name: SQLFunctions.derive, argumentCount: 3) { [self] call in
      if call.isNull(2) { return call.setResultNull() }
      let isKnown = record(call.text(0), position: Int(call.int64(1)), key: call.int64(2))
      // Another process has opened the store with other derivations. Writing here would leave their values outdated.
      if isKnown { call.setResultNull() } else { call.setError("the derived attributes of the store were changed; open it again") }
    }
  }

  private func record(_ identity: UnsafeRawBufferPointer, position: Int, key: Int64) -> Bool {
    state.withLock { state in
      guard let number = state.identities.firstIndex(where: { $0.count == identity.count && identity.elementsEqual($0) }),
        state.rows[number].indices.contains(position)
      else { return !state.isPrepared }
      state.rows[number][position].insert(key)
      state.isEmpty = false
      return true
    }
  }

  /// Removes all marks, at the beginning of a request.
  func reset() {
    state.withLock { state in
      if state.isEmpty { return }
      for number in state.rows.indices {
        for position in state.rows[number].indices where !state.rows[number][position].isEmpty {
          state.rows[number][position] = RowKeySet()
        }
      }
      state.isEmpty = true
    }
  }

  /// Removes the marks of attributes that depend only on their own row. Their values were computed before the row was written.
  func removeLocalMarks() {
    state.withLock { state in
      if state.isEmpty { return }
      for number in state.rows.indices where state.areLocal[number] { state.rows[number][0] = RowKeySet() }
    }
  }

  /// Returns the marked rows of a derivation by position, and removes the marks.
  func take(_ number: Int) -> [RowKeySet] {
    state.withLock { state in
      if state.isEmpty { return [] }
      let rows = state.rows[number]
      for position in rows.indices where !rows[position].isEmpty { state.rows[number][position] = RowKeySet() }
      return rows
    }
  }
}

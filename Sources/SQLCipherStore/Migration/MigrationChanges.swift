import ObjectModel
import ObjectStore

/// Determines what a planned migration changes in stored objects. It does not read rows.
///
/// Changes apply to exactly one entity each, because the entities of a tree can get a property's values from different places. Changes that
/// only move rows or columns are not listed.
struct MigrationChanges {
  let plan: PlannedMigration
  /// The IDs of the older model, and those of the newer one.
  let older: HistoryIDs
  let newer: HistoryIDs

  private var map: MigrationMap { plan.map }

  func all() -> [HistorySchemaChange] {
    var changes = removedObjects()
    for table in plan.tables {
      guard let source = table.source else { continue }
      for (position, entity) in table.migratedEntities.enumerated() where !entity.newer.isAbstract {
        var list = EntityChanges(self, entity)
        for column in table.columns { list.add(column, column.values[position], of: source) }
        for relationship in entity.newer.toManyRelationships { list.add(relationship, orders: table.orders) }
        list.addRemovedProperties()
        changes += list.changes
      }
    }
    return changes
  }

  /// Returns the older entities whose objects the newer tables do not have.
  private func removedObjects() -> [HistorySchemaChange] {
    let migrated = Set(plan.tables.flatMap { $0.migratedEntities.map(\.older.number) })
    return map.source.model.entities.compactMap { entity in
      guard !entity.isAbstract, !migrated.contains(entity.number), map.source.tableIfStored(entity.number) != nil else { return nil }
      let id = older.entity(entity.number)
      return id > 0 ? HistorySchemaChange(.objectsRemoved, entity: id) : nil
    }
  }

  /// Returns the changes of derived values that were computed again.
  static func computed(_ slots: [SchemaAuxiliary.ComputedSlot], _ ids: HistoryIDs) -> [HistorySchemaChange] {
    slots.flatMap { slot in
      ids.model.entities[slot.entity].subtree.compactMap { number -> HistorySchemaChange? in
        let (entity, property) = (ids.entity(number), ids.slots(of: number)[slot.slot])
        guard !ids.model.entities[number].isAbstract, entity > 0, property > 0 else { return nil }
        return HistorySchemaChange(.computed, entity: entity, property: property)
      }
    }
  }

  // MARK: Relationships

  /// Returns whether a to-one relationship takes over links from other places than its own column.
  fileprivate func isFilledFromLinks(_ relationship: CompiledRelationship) -> Bool {
    plan.linkSources.contains { $0.relationship.id == relationship.id }
  }

  /// Returns whether objects that remain can no longer be destinations of a relationship. Only stages with a handler permit it.
  fileprivate func losesDestinations(_ known: CompiledRelationship, as relationship: CompiledRelationship) -> Bool {
    let target = map.destination.entities[relationship.destinationEntity]
    return map.source.model.entities[known.destinationEntity].subtree.contains { number in
      let entity = map.source.model.entities[number]
      return !entity.isAbstract && map.newer(entity).map { !$0.isKind(of: target) } ?? false
    }
  }

  /// Returns whether the links of a join table come from elsewhere than the table itself.
  fileprivate func isRefilled(_ relationship: CompiledRelationship) -> Bool {
    guard case .join = plan.schema.relationships[relationship.id] else { return false }
    let sources = map.linkSources(of: relationship)
    return sources.count > 1 || sources.contains { $0.linkSource.joinTable == nil }
  }
}

/// The changes of the objects of one entity.
private struct EntityChanges {
  private let plan: MigrationChanges
  private let entity: TableMigration.MigratedEntity
  private let id: Int
  /// The older properties whose values or members the newer model has.
  private var kept: Set<Int> = []
  private(set) var changes: [HistorySchemaChange] = []

  init(_ plan: MigrationChanges, _ entity: TableMigration.MigratedEntity) {
    (self.plan, self.entity) = (plan, entity)
    id = plan.newer.entity(entity.newer.number)
  }

  private mutating func add(_ kind: HistorySchemaChange.Kind, _ property: Int, former: Int = 0, value: HistoryValue? = nil) {
    guard id > 0, property > 0 else { return }
    let change = HistorySchemaChange(kind, entity: id, property: property, former: former, value: value)
    if !changes.contains(change) { changes.append(change) }
  }

  /// Records that a newer property has the values of an older one.
  private mutating func keep(_ known: Int, as property: Int) {
    guard known > 0 else { return }
    kept.insert(known)
    if known != property { add(.moved, property, former: known) }
  }

  private func olderProperty(_ name: String) -> CompiledProperty? {
    plan.plan.map.difference.sourceName(ofProperty: name, in: entity.newer.number).flatMap { entity.older.property(named: $0) }
  }

  // MARK: Columns

  /// Adds the changes of an attribute or to-one relationship.
  mutating func add(_ column: TableMigration.Column, _ value: TableMigration.Value, of source: EntityTable) {
    let (slot, map) = (column.slot, plan.plan.map)
    guard entity.newer.isKind(of: map.destination.entities[slot.declaringEntity]) else { return }
    let property = plan.newer.slots(of: entity.newer.number)[slot.index]
    let rows = RowExpressions(map: map, table: source, prefix: "t")
    let index: Int? =
      switch value {
      case .column(let index), .columnOr(let index, _), .part(let index?, _, _): index
      case .null, .literal, .part(nil, _, _): nil
      }
    if let index { keep(plan.older.slots(of: entity.older.number)[source.columns[index].slot.index], as: property) }
    if slot.isDerived { return }
    if let relationship = slot.relationship {
      let known = index.flatMap { source.columns[$0].slot.relationship }
      let loses = known.map { plan.losesDestinations($0, as: relationship) } ?? false
      if loses || plan.isFilledFromLinks(relationship) {
        let former = olderProperty(slot.name)?.toMany.map { plan.older.relationship($0.id) } ?? 0
        kept.insert(former)
        add(.rewritten, property, former: former)
      }
      return
    }
    if let index, rows.isWritten(index, by: column) { add(.converted, property) }
    switch value {
    case .null, .column: break
    case .columnOr: add(.completed, property, value: HistoryValue(slot.defaultValue))
    case .literal: add(.filled, property, value: HistoryValue(slot.defaultValue))
    // Depends on the other parts of the composite.
    case .part: add(.rewritten, property)
    }
  }

  // MARK: To-many relationships

  mutating func add(_ relationship: CompiledRelationship, orders: [TableMigration.Order]) {
    guard !relationship.isTransient else { return }
    let property = plan.newer.relationship(relationship.id)
    let known = olderProperty(relationship.name)
    var former = 0
    switch known {
    case .toMany(let known):
      let known = plan.older.relationship(known.id)
      if property > 0 { keep(known, as: property) } else { former = known }
    case .toOne(let known): former = plan.older.slots(of: entity.older.number)[known.index]
    default: break
    }
    kept.insert(former)
    let loses = known?.toMany.map { plan.losesDestinations($0, as: relationship) } ?? false
    if property == 0 {
      // The members are in another column, and the older values or the order were dropped.
      add(.rewritten, former)
    } else if loses || former > 0 || plan.isRefilled(relationship) || isReordered(relationship, known, orders) {
      add(.rewritten, property, former: former)
    }
  }

  /// Returns whether existing members get an order that they did not have before.
  private func isReordered(
    _ relationship: CompiledRelationship, _ known: CompiledProperty?, _ orders: [TableMigration.Order]
  ) -> Bool {
    let map = plan.plan.map
    guard relationship.isOrdered, !map.linkSources(of: relationship).isEmpty else { return false }
    guard let known = known?.toMany, known.isOrdered else { return true }
    // The order is in the members' table, which is not this one.
    guard case .inverse = plan.plan.schema.relationships[relationship.id], let inverse = map.destination.inverse(of: relationship) else {
      return false
    }
    let owner = map.destination.entities[relationship.sourceEntity].name
    let order = plan.plan.tables.lazy.flatMap(\.orders).first { $0.layout.entity == owner && $0.layout.property == relationship.name }
    return order?.reused == nil && !plan.isFilledFromLinks(inverse)
  }

  // MARK: Removed properties

  mutating func addRemovedProperties() {
    for id in plan.older.slots(of: entity.older.number) where id > 0 && !kept.contains(id) { add(.propertyRemoved, id) }
    for relationship in entity.older.toManyRelationships {
      let id = plan.older.relationship(relationship.id)
      if id > 0, !kept.contains(id) { add(.propertyRemoved, id) }
    }
  }
}

extension HistoryValue {
  fileprivate init(_ slot: Slot) {
    switch slot {
    case .null: self = .null
    case .int(let value): self = .int(value)
    case .real(let value): self = .real(bits: value.bitPattern)
    case .text(let value): self = .text(value)
    case .bytes(let value): self = .bytes(value)
    }
  }
}

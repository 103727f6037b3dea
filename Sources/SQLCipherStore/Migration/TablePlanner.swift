import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection

/// Plans the entity tables of a newer model.
struct TablePlanner {
  let map: MigrationMap
  /// The layout that a new store would have.
  let fresh: TableLayout
  /// The unquoted final names of the newer tables, by the number of their root entity.
  let names: [Int: String]
  /// The older tables that are dropped later, so that references to them can remain.
  let deferredDrops: Set<String>
  let defersCleanUp: Bool
  /// Whether the older rows must not change before the stage's handler has run.
  let preservesSource: Bool
  /// The newer to-one relationships that take links both from their own column and from other places.
  let mixed: Set<Int>
  /// Whether rows are migrated by inference.
  let copiesRows: Bool

  /// Returns the migration of a root entity's table. Its working name is still the final name.
  func plan(_ root: CompiledEntity, from source: EntityTable?, id: Int, isPrimary: Bool) -> TableMigration? {
    guard let name = names[root.number], let fresh = fresh.tables.first(where: { $0.entities.first?.name == root.name }) else { return nil }
    let migratedEntities = copiesRows ? source.map { self.migratedEntities(of: root, in: $0) } ?? [] : []
    var absent: [Int] = []
    if let source {
      let here = Set(migratedEntities.map(\.older.number))
      absent = source.root.subtree.filter { !here.contains($0) && !map.source.model.entities[$0].isAbstract }.map {
        $0 - source.root.number + 1
      }
    }
    var columns: [TableMigration.Column] = []
    for column in fresh.columns {
      guard let declaring = map.destination.entity(named: column.entity),
        let slot = declaring.slots.first(where: { $0.name == column.property })
      else { continue }
      columns.append(
        TableMigration.Column(
          layout: column, slot: slot, reused: nil, values: migratedEntities.map { value(of: slot, declaring, for: $0, in: source) },
          parent: parentName(of: slot)))
    }
    var result = TableMigration(
      root: root, source: source, migratedEntities: migratedEntities, absent: absent, mode: source != nil && isPrimary ? .rebuild : .create,
      name: name,
      workingName: name, id: id, entityColumn: fresh.entityColumn, columns: columns,
      orders: fresh.orderColumns.map { TableMigration.Order(layout: $0, reused: olderOrder(of: $0, in: source)) },
      rootNames: root.subtree.map { map.destination.entities[$0].name })
    if isPrimary, !preservesSource, let source, let altered = altered(result, source) { result = altered }
    return result
  }

  private func migratedEntities(of root: CompiledEntity, in source: EntityTable) -> [TableMigration.MigratedEntity] {
    root.subtree.compactMap { number in
      let newer = map.destination.entities[number]
      guard let older = map.older(newer), !older.isAbstract, map.source.tableIfStored(older.number) === source else { return nil }
      return TableMigration.MigratedEntity(older: older, newer: newer)
    }
  }

  private func parentName(of slot: CompiledSlot) -> String? {
    SchemaGenerator.parent(of: slot, in: map.destination).flatMap { names[map.destination.entities[$0].root] }
  }

  private func value(
    of slot: CompiledSlot, _ declaring: CompiledEntity, for migratedEntity: TableMigration.MigratedEntity, in source: EntityTable?
  ) -> TableMigration.Value {
    guard migratedEntity.newer.isKind(of: declaring) else { return .null }
    let isFilled = slot.attribute != nil && !slot.defaultValue.isNull && slot.attribute?.derivationExpression == nil
    if let known = map.olderSlot(of: slot, in: migratedEntity.newer), let source,
      let index = source.position(entity: migratedEntity.older.number, slot: known.index)
    {
      if isFilled, slot.isOptional, let composite = newlyRequiring(slot, known, migratedEntity) {
        let others = olderParts(of: composite, otherThan: slot, for: migratedEntity, in: source)
        if !others.isEmpty { return .part(column: index, DefaultLiteral.text(slot.defaultValue), others: others) }
      }
      guard isFilled, !slot.isOptional, known.isOptional else { return .column(index) }
      return .columnOr(index, DefaultLiteral.text(slot.defaultValue))
    }
    guard isFilled else { return .null }
    // Nested composites come first.
    for composite in migratedEntity.newer.composites where slot.isOptional && composite.slots.contains(slot.index) {
      let others = olderParts(of: composite, otherThan: slot, for: migratedEntity, in: source)
      if !others.isEmpty { return .part(column: nil, DefaultLiteral.text(slot.defaultValue), others: others) }
      // A new composite has its default values, or is nil if they do not make a valid value.
      let parts = composite.requiredSlots.map { migratedEntity.newer.slots[$0] }
      if composite.attribute.isOptional, parts.contains(where: { $0.isOptional && $0.defaultValue.isNull }) { return .null }
    }
    return .literal(DefaultLiteral.text(slot.defaultValue))
  }

  private func olderParts(
    of composite: CompiledComposite, otherThan slot: CompiledSlot, for migratedEntity: TableMigration.MigratedEntity,
    in source: EntityTable?
  ) -> [Int] {
    guard let source else { return [] }
    return composite.slots.compactMap { index in
      guard index != slot.index, let known = map.olderSlot(of: migratedEntity.newer.slots[index], in: migratedEntity.newer) else {
        return nil
      }
      return source.position(entity: migratedEntity.older.number, slot: known.index)
    }
  }

  /// Returns the smallest composite that requires a part that was not required before.
  private func newlyRequiring(_ slot: CompiledSlot, _ known: CompiledSlot, _ migratedEntity: TableMigration.MigratedEntity)
    -> CompiledComposite?
  {
    if migratedEntity.older.composites.contains(where: { $0.requiredSlots.contains(known.index) }) { return nil }
    return migratedEntity.newer.composites.first { $0.slotsWithDefaults.contains(slot.index) }
  }

  private func olderOrder(of order: TableLayout.OrderColumn, in source: EntityTable?) -> String? {
    guard let source, let relationship = map.destination.entity(named: order.entity)?.property(named: order.property)?.toMany else {
      return nil
    }
    for older in map.olderRelationships(of: relationship) {
      let entity = map.source.model.entities[older.sourceEntity].name
      let found = map.source.layout.tables[source.index].orderColumns.first { $0.entity == entity && $0.property == older.name }
      if let found { return found.name }
    }
    return nil
  }

  // MARK: Altering

  /// Returns the migration with the table altered in place, or `nil` if it has to be copied.
  private func altered(_ plan: TableMigration, _ source: EntityTable) -> TableMigration? {
    var plan = plan
    let layout = map.source.layout.tables[source.index]
    var taken: Set<Int> = []
    for index in plan.columns.indices {
      let slot = plan.columns[index].slot
      let declaring = map.destination.entities[slot.declaringEntity]
      var reused: Int?
      if let older = map.older(declaring), map.source.tableIfStored(older.number) === source,
        let known = map.olderSlot(of: slot, in: declaring)
      {
        reused = source.position(entity: older.number, slot: known.index)
      }
      if reused == nil {
        reused =
          plan.columns[index].values.lazy.compactMap { value -> Int? in
            switch value {
            case .column(let index), .columnOr(let index, _), .part(let index?, _, _): index
            default: nil
            }
          }.first
      }
      guard let reused, taken.insert(reused).inserted else { continue }
      // The affinity of an older integer column would convert other numbers back to integers.
      guard layout.columns[reused].kind == plan.columns[index].layout.kind else { return nil }
      // A changed foreign key is part of the table's definition, so it needs a new table.
      guard SchemaGenerator.parent(of: source.columns[reused].slot, in: map.source) == plan.columns[index].parent else { return nil }
      // References from other places already have the newer entity numbers.
      if let relationship = slot.relationship, mixed.contains(relationship.id) { return nil }
      plan.columns[index].reused = reused
    }
    var names = NameAllocator(reserved: ["rowid", "oid", "_rowid_"] + layout.physicalColumns)
    plan.leftovers = layout.leftovers ?? []
    for (index, column) in layout.columns.enumerated() where !taken.contains(index) {
      guard defersCleanUp else { return nil }
      // When its destinations are deleted later, nothing would clear the unused column.
      if let parent = SchemaGenerator.parent(of: source.columns[index].slot, in: map.source), !deferredDrops.contains(parent) {
        return nil
      }
      plan.leftovers += [column.name] + (column.entityColumn.map { [$0] } ?? [])
      plan.hasDeferredColumns = true
    }
    plan.mode = .alter
    plan.keyColumn = layout.keyColumn
    plan.versionColumn = layout.versionColumn
    if let known = layout.entityColumn {
      plan.entityColumn = known
    } else if plan.entityColumn != nil {
      plan.entityColumn = names.take("_entity")
      plan.addedEntityNumber = plan.migratedEntities.first?.newerNumber ?? 1
    }
    for index in plan.columns.indices { nameColumn(&plan.columns[index], plan.migratedEntities, layout, &names) }
    for index in plan.orders.indices {
      if let reused = plan.orders[index].reused {
        plan.orders[index].layout.name = reused
      } else {
        plan.orders[index].layout.name = names.take(plan.orders[index].layout.name)
      }
    }
    let orders = Set(plan.orders.map(\.layout.name))
    plan.leftovers += layout.orderColumns.map(\.name).filter { !orders.contains($0) }
    // Unused columns count against the limit of columns.
    return SchemaLimits.fits(plan.layout) ? plan : nil
  }

  private func nameColumn(
    _ column: inout TableMigration.Column, _ migratedEntities: [TableMigration.MigratedEntity], _ layout: TableLayout.Table,
    _ names: inout NameAllocator
  ) {
    let needsEntity = column.layout.entityColumn != nil
    if let reused = column.reused {
      column.layout.name = layout.columns[reused].name
      column.layout.entityColumn = layout.columns[reused].entityColumn
    } else {
      column.layout.name = names.take(column.slot.name)
      column.layout.entityColumn = nil
      // If all rows have the same value, the DEFAULT of ADD COLUMN provides it without writing rows.
      if let plain = DefaultLiteral.plain(column.slot.defaultValue), !column.values.isEmpty,
        column.values.allSatisfy({ $0 == .literal(DefaultLiteral.text(column.slot.defaultValue)) })
      {
        column.addedDefault = plain
      }
    }
    if needsEntity, column.layout.entityColumn == nil {
      column.layout.entityColumn = names.take("\(column.layout.name)_entity")
      column.addsEntityColumn = true
    }
  }
}

extension EntityTable {
  /// Returns the position of the column of an entity's slot.
  func position(entity: Int, slot: Int) -> Int? {
    guard let name = column(entity: entity, slot: slot)?.name else { return nil }
    return columns.firstIndex { $0.name == name }
  }
}

extension CompiledProperty {
  var toMany: CompiledRelationship? {
    if case .toMany(let relationship) = self { relationship } else { nil }
  }
}

/// Formats default values of the model as SQL text.
enum DefaultLiteral {
  /// Returns an expression with exactly the value, or NULL if there is none.
  static func text(_ slot: Slot) -> String {
    if case .real(let value) = slot { exact(value) } else { SQLLiteral.text(slot) }
  }

  /// Returns the value as a literal, as a column's DEFAULT requires, or `nil` if only an expression is exact.
  static func plain(_ slot: Slot) -> String? {
    switch slot {
    case .null: nil
    case .real(let value): isWhole(value) ? text(slot) : nil
    case .text(let value): value.utf8.contains(0) ? nil : text(slot)
    // SQL has no literal for `Int64.min`.
    case .int(let value): value == .min ? nil : text(slot)
    case .bytes: text(slot)
    }
  }

  private static func isWhole(_ value: Double) -> Bool {
    value.rounded() == value && abs(value) < 1e15 && !(value == 0 && value.sign == .minus)
  }

  /// Returns an exact expression. Old versions of SQLite can parse decimal fractions with an error in the last bit, but not whole numbers
  /// and powers of two.
  private static func exact(_ value: Double) -> String {
    if !value.isFinite { return value.isNaN ? "NULL" : value < 0 ? "-9e999" : "9e999" }
    if isWhole(value) { return "\(Int64(value)).0" }
    guard value != 0 else { return "-0.0" }
    var significand = value.significand.magnitude
    var exponent = Int(value.exponent)
    while significand != significand.rounded() {
      significand *= 2
      exponent -= 1
    }
    var text = "CAST(\(value < 0 ? "-" : "")\(Int64(significand)) AS REAL)"
    while exponent != 0 {
      let step = min(abs(exponent), 62)
      text += " \(exponent < 0 ? "/" : "*") CAST(\(Int64(1) << Int64(step)) AS REAL)"
      exponent += exponent < 0 ? step : -step
    }
    return "(\(text))"
  }
}

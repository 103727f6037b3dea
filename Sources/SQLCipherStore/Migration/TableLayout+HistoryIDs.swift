// TableLayout+HistoryIDs: the ids of the history on their way through a migration.
import ObjectModel

extension TableLayout {
  /// Takes over the ids of the layout that a migration began with; what is gone keeps its id under its last name.
  ///
  /// - Parameters:
  ///   - older: The older layout, of the older model.
  ///   - map: What was what before.
  mutating func takeHistoryIDs(from older: TableLayout, _ map: MigrationMap) {
    guard var numbering = older.history else { return }
    var waiting = older.namedHistoryIDs
    let (source, model) = (map.source.model, map.destination)
    func take(_ id: Int?) -> Int? {
      // Of two that took over the values of one, the first has its id.
      id.flatMap { waiting.removeValue(forKey: $0) == nil ? nil : $0 }
    }
    func olderSlotID(_ entity: String, _ property: String) -> Int? {
      guard let newer = model.entity(named: entity), let index = newer.property(named: property)?.slotIndex,
        let slot = map.olderSlot(of: newer.slots[index], in: newer)
      else { return nil }
      let declaring = source.entities[slot.declaringEntity].name
      return older.tables.lazy.flatMap(\.columns).first { $0.entity == declaring && $0.property == slot.name }?.historyID
    }
    func olderToManyID(_ relationship: CompiledRelationship?) -> Int? {
      guard let relationship, let known = map.olderRelationships(of: relationship).first, known.isToMany else { return nil }
      return older.historyID(ofToMany: known, in: source)
    }
    func toMany(_ entity: String, _ property: String) -> CompiledRelationship? {
      guard case .toMany(let relationship)? = model.entity(named: entity)?.property(named: property) else { return nil }
      return relationship
    }
    for table in tables.indices {
      for index in tables[table].entities.indices {
        let known = model.entity(named: tables[table].entities[index].name).flatMap { map.older($0) }
        let id = older.tables.lazy.flatMap(\.entities).first { $0.name == known?.name }?.historyID
        tables[table].entities[index].historyID = take(id)
      }
      for index in tables[table].columns.indices {
        tables[table].columns[index].historyID = take(
          olderSlotID(tables[table].columns[index].entity, tables[table].columns[index].property))
      }
      for index in tables[table].orderColumns.indices {
        let order = tables[table].orderColumns[index]
        tables[table].orderColumns[index].historyID = take(olderToManyID(toMany(order.entity, order.property)))
      }
    }
    for index in joinTables.indices {
      let relationship = toMany(joinTables[index].entity, joinTables[index].property)
      joinTables[index].historyID = take(olderToManyID(relationship))
      joinTables[index].inverseHistoryID = take(olderToManyID(relationship.flatMap(model.inverse(of:))))
    }
    numbering.retired += waiting.sorted { $0.key < $1.key }.map { .init(id: $0.key, name: $0.value.name, isEntity: $0.value.isEntity) }
    history = numbering
    assignHistoryIDs()
  }

  /// All ids with the names of what they stand for.
  private var namedHistoryIDs: [Int: (name: String, isEntity: Bool)] {
    var names: [Int: (name: String, isEntity: Bool)] = [:]
    for table in tables {
      for entity in table.entities { if let id = entity.historyID { names[id] = (entity.name, true) } }
      for column in table.columns { if let id = column.historyID { names[id] = (column.property, false) } }
      for order in table.orderColumns { if let id = order.historyID { names[id] = (order.property, false) } }
    }
    for join in joinTables {
      if let id = join.historyID { names[id] = (join.property, false) }
      // The inverse may be none that is stored: then nothing speaks of the id.
      if let id = join.inverseHistoryID { names[id] = (join.property, false) }
    }
    return names
  }

  /// The id of a to-many relationship of the layout's model.
  private func historyID(ofToMany relationship: CompiledRelationship, in model: CompiledModel) -> Int? {
    func name(_ relationship: CompiledRelationship) -> (entity: String, property: String) {
      (model.entities[relationship.sourceEntity].name, relationship.name)
    }
    let own = name(relationship)
    if let join = joinTables.first(where: { $0.entity == own.entity && $0.property == own.property }) { return join.historyID }
    if let inverse = model.inverse(of: relationship).map(name),
      let join = joinTables.first(where: { $0.entity == inverse.entity && $0.property == inverse.property })
    {
      return join.inverseHistoryID
    }
    return tables.lazy.flatMap(\.orderColumns).first { $0.entity == own.entity && $0.property == own.property }?.historyID
  }
}

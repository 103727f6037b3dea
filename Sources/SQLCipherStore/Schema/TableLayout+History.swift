// TableLayout+History: the ids by which the history speaks of entities and properties: given out once, kept through renames, never given out again.
import ObjectModel
import ObjectStore

extension TableLayout {
  /// What is known of the history's ids beside those of the entities and properties that are there.
  struct HistoryNumbering: Codable, Sendable, Hashable {
    /// What has an id and is gone from the model: records still speak of it.
    struct Retired: Codable, Sendable, Hashable {
      var id: Int
      /// The last name of the entity, or of the property.
      var name: String
      /// Whether it was an entity.
      var isEntity: Bool
    }

    /// The greatest id that was given out.
    var last = 0
    var retired: [Retired] = []

    mutating func take() -> Int {
      last += 1
      return last
    }
  }

  /// Gives ids to all that has none yet.
  mutating func assignHistoryIDs() {
    var numbering = history ?? HistoryNumbering()
    for table in tables.indices {
      for index in tables[table].entities.indices where tables[table].entities[index].historyID == nil {
        tables[table].entities[index].historyID = numbering.take()
      }
      for index in tables[table].columns.indices where tables[table].columns[index].historyID == nil {
        tables[table].columns[index].historyID = numbering.take()
      }
      for index in tables[table].orderColumns.indices where tables[table].orderColumns[index].historyID == nil {
        tables[table].orderColumns[index].historyID = numbering.take()
      }
    }
    for index in joinTables.indices {
      if joinTables[index].historyID == nil { joinTables[index].historyID = numbering.take() }
      if joinTables[index].inverseHistoryID == nil { joinTables[index].inverseHistoryID = numbering.take() }
    }
    history = numbering
  }

  /// The layout without what the history goes by: two that differ in nothing else have the same tables.
  var withoutHistory: TableLayout {
    var layout = self
    layout.history = nil
    for table in layout.tables.indices {
      for index in layout.tables[table].entities.indices { layout.tables[table].entities[index].historyID = nil }
      for index in layout.tables[table].columns.indices { layout.tables[table].columns[index].historyID = nil }
      for index in layout.tables[table].orderColumns.indices { layout.tables[table].orderColumns[index].historyID = nil }
    }
    for index in layout.joinTables.indices {
      layout.joinTables[index].historyID = nil
      layout.joinTables[index].inverseHistoryID = nil
    }
    return layout
  }
}

extension HistoryIDs {
  /// The ids of a layout, for its model.
  convenience init(_ layout: TableLayout, of model: CompiledModel) {
    var assignment = Assignment(of: model)
    func relationship(_ entity: String, _ property: String) -> CompiledRelationship? {
      guard case .toMany(let relationship)? = model.entity(named: entity)?.property(named: property) else { return nil }
      return relationship
    }
    for table in layout.tables {
      for entity in table.entities {
        if let id = entity.historyID, let known = model.entity(named: entity.name) { assignment.entities[known.number] = id }
      }
      for column in table.columns {
        guard let id = column.historyID, let entity = model.entity(named: column.entity),
          let slot = entity.property(named: column.property)?.slotIndex
        else { continue }
        for number in entity.subtree { assignment.slots[number][slot] = id }
      }
      for order in table.orderColumns {
        if let id = order.historyID, let relationship = relationship(order.entity, order.property) {
          assignment.relationships[relationship.id] = id
        }
      }
    }
    for join in layout.joinTables {
      guard let relationship = relationship(join.entity, join.property) else { continue }
      assignment.relationships[relationship.id] = join.historyID ?? 0
      if let inverse = model.inverse(of: relationship), inverse.id != relationship.id, inverse.isToMany {
        assignment.relationships[inverse.id] = join.inverseHistoryID ?? 0
      }
    }
    for retired in layout.history?.retired ?? [] {
      if retired.isEntity { assignment.goneEntities.insert(retired.id) } else { assignment.gone[retired.id] = retired.name }
    }
    self.init(assignment, of: model)
  }
}

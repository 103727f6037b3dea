import ObjectModel
import ObjectStore

/// The entity or property that a history ID denotes, by its names in the layout's model.
enum HistorySubject {
  case entity(String)
  /// An attribute or a to-one relationship.
  case slot(entity: String, property: String)
  case toMany(entity: String, property: String)
  /// The inverse of a to-many relationship with a join table.
  case inverse(entity: String, property: String)
}

extension TableLayout {
  /// The state of the history's IDs apart from those of existing entities and properties.
  ///
  /// An ID is assigned once, kept through renames, and never reused.
  struct HistoryNumbering: Codable, Sendable, Hashable {
    /// An ID whose entity or property is no longer in the model, but still in records.
    struct Retired: Codable, Sendable, Hashable {
      var id: Int
      /// The last name of the entity or property.
      var name: String
      /// Whether the ID denoted an entity.
      var isEntity: Bool
    }

    /// The greatest assigned ID.
    var last = 0
    var retired: [Retired] = []

    mutating func take() -> Int {
      last += 1
      return last
    }
  }

  /// Calls a closure with each ID for reading or changing: table by table those of entities, columns and orders, then those of join tables.
  mutating func forEachHistoryID(_ body: (_ id: inout Int?, _ subject: HistorySubject) -> Void) {
    for table in tables.indices {
      for index in tables[table].entities.indices {
        body(&tables[table].entities[index].historyID, .entity(tables[table].entities[index].name))
      }
      for index in tables[table].columns.indices {
        let column = tables[table].columns[index]
        body(&tables[table].columns[index].historyID, .slot(entity: column.entity, property: column.property))
      }
      for index in tables[table].orderColumns.indices {
        let order = tables[table].orderColumns[index]
        body(&tables[table].orderColumns[index].historyID, .toMany(entity: order.entity, property: order.property))
      }
    }
    for index in joinTables.indices {
      let join = joinTables[index]
      body(&joinTables[index].historyID, .toMany(entity: join.entity, property: join.property))
      body(&joinTables[index].inverseHistoryID, .inverse(entity: join.entity, property: join.property))
    }
  }

  /// Assigns the missing IDs.
  mutating func assignHistoryIDs() {
    var numbering = history ?? HistoryNumbering()
    forEachHistoryID { id, _ in id = id ?? numbering.take() }
    history = numbering
  }

  /// The layout without history IDs. Two layouts that are equal without them have the same tables.
  var withoutHistory: TableLayout {
    var layout = self
    layout.history = nil
    layout.forEachHistoryID { id, _ in id = nil }
    return layout
  }
}

extension HistoryIDs {
  /// Creates the IDs of a layout for its model.
  convenience init(_ layout: TableLayout, of model: CompiledModel) {
    var assignment = Assignment(of: model)
    var layout = layout
    layout.forEachHistoryID { id, subject in
      guard let id else { return }
      switch subject {
      case .entity(let name):
        if let entity = model.entity(named: name) { assignment.entities[entity.number] = id }
      case .slot(let name, let property):
        guard let entity = model.entity(named: name), let slot = entity.property(named: property)?.slotIndex else { return }
        for number in entity.subtree { assignment.slots[number][slot] = id }
      case .toMany(let name, let property):
        if let relationship = model.toMany(name, property) { assignment.relationships[relationship.id] = id }
      case .inverse(let name, let property):
        guard let relationship = model.toMany(name, property), let inverse = model.inverse(of: relationship),
          inverse.id != relationship.id, inverse.isToMany
        else { return }
        assignment.relationships[inverse.id] = id
      }
    }
    for retired in layout.history?.retired ?? [] {
      if retired.isEntity { assignment.removedEntities[retired.id] = retired.name } else { assignment.removed[retired.id] = retired.name }
    }
    self.init(assignment, of: model)
  }
}

extension CompiledModel {
  func toMany(_ entity: String, _ property: String) -> CompiledRelationship? {
    guard case .toMany(let relationship)? = self.entity(named: entity)?.property(named: property) else { return nil }
    return relationship
  }
}

import ObjectModel
import ObjectStore

extension TableLayout {
  /// Takes over the history IDs and identities of the layout that a migration began with. Removed entities and properties keep their IDs under their last
  /// names.
  ///
  /// - Parameters:
  ///   - older: The older layout, of the older model.
  ///   - map: The mapping between the models.
  mutating func takeHistoryIDs(from older: TableLayout, _ map: MigrationMap) {
    guard var numbering = older.history else { return }
    let (source, model) = (map.source.model, map.destination)
    var waiting = older.namedHistoryIDs(source)
    func olderEntityID(_ entity: String) -> Int? {
      let known = model.entity(named: entity).flatMap { map.older($0) }
      return older.tables.lazy.flatMap(\.entities).first { $0.name == known?.name }?.historyID
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
    forEachHistoryID { id, subject in
      let known: Int? =
        switch subject {
        case .entity(let name): olderEntityID(name)
        case .slot(let entity, let property): olderSlotID(entity, property)
        case .toMany(let entity, let property): olderToManyID(model.toMany(entity, property))
        case .inverse(let entity, let property): olderToManyID(model.toMany(entity, property).flatMap(model.inverse(of:)))
        }
      // If two properties take over the values of one, the first gets its ID.
      id = known.flatMap { waiting.removeValue(forKey: $0) == nil ? nil : $0 }
    }
    let identities = older.identities(of: source)
    numbering.retired += waiting.sorted { $0.key < $1.key }.map {
      .init(id: $0.key, name: $0.value.name, isEntity: $0.value.isEntity, identity: identities[$0.key])
    }
    numbering.identities = nil
    history = numbering
    assignHistoryIDs(of: model, carried: identities)
  }

  private func namedHistoryIDs(_ model: CompiledModel) -> [Int: (name: String, isEntity: Bool)] {
    var names: [Int: (name: String, isEntity: Bool)] = [:]
    var layout = self
    layout.forEachHistoryID { id, subject in
      guard let id else { return }
      switch subject {
      case .entity(let name): names[id] = (name, true)
      case .slot(_, let property), .toMany(_, let property): names[id] = (property, false)
      case .inverse(let entity, let property):
        // If the inverse is not stored, no record uses the ID.
        names[id] = (model.toMany(entity, property).flatMap(model.inverse(of:))?.name ?? property, false)
      }
    }
    return names
  }

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

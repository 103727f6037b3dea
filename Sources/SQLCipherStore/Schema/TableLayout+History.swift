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
      /// The identity on all devices, or `nil` if an earlier version of the library retired the ID.
      var identity: StableIdentifier?
    }

    /// The greatest assigned ID.
    var last = 0
    var retired: [Retired] = []
    /// The identities that do not follow from the present names, by ID; `nil` if an earlier version of the library assigned the IDs. The
    /// identity that follows from the names is that of a model without renaming identifiers.
    var identities: [Int: StableIdentifier]?

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

  /// Assigns the missing IDs and identities.
  ///
  /// - Parameters:
  ///   - model: The layout's model.
  ///   - carried: The identities of IDs from before a migration.
  mutating func assignHistoryIDs(of model: CompiledModel, carried: [Int: StableIdentifier] = [:]) {
    var numbering = history ?? HistoryNumbering()
    var known = history == nil ? [:] : identities(of: model)
    known.merge(carried) { $1 }
    forEachHistoryID { id, _ in id = id ?? numbering.take() }
    history = numbering
    let derived = StableIdentifiers(of: model)
    var taken: Set<StableIdentifier> = []
    var exceptions: [Int: StableIdentifier] = [:]
    var new: [(id: Int, name: SubjectName)] = []
    forEachNamedID(of: model) { id, name in
      guard let identity = known[id] else { return new.append((id, name)) }
      taken.insert(identity)
      exceptions[id] = identity
    }
    for (id, name) in new {
      guard var identity = name.identity(derived, model) else { continue }
      // A migrated property can have kept what the model derives for a new one.
      while taken.contains(identity) { identity = identity.distinguished(by: name.property ?? name.entity) }
      taken.insert(identity)
      exceptions[id] = identity
    }
    history?.identities = [:]
    let plain = identities(of: model)
    history?.identities = exceptions.filter { plain[$0.key] != $0.value }
  }

  /// The identities of all entities and properties, by ID.
  ///
  /// - Parameter model: The layout's model.
  func identities(of model: CompiledModel) -> [Int: StableIdentifier] {
    var result: [Int: StableIdentifier] = [:]
    let derived = history?.identities == nil ? StableIdentifiers(of: model) : nil
    var entities: [String: StableIdentifier] = [:]
    forEachNamedID(of: model) { id, name in
      if let derived {
        result[id] = name.identity(derived, model)
      } else if let property = name.property {
        let entity = entities[name.entity] ?? StableIdentifier(entity: name.entity)
        result[id] = history?.identities?[id] ?? StableIdentifier(entity: entity, property: property)
      } else {
        let identity = history?.identities?[id] ?? StableIdentifier(entity: name.entity)
        (result[id], entities[name.entity]) = (identity, identity)
      }
    }
    return result
  }

  /// Calls a closure with each assigned ID, first with those of entities.
  private func forEachNamedID(of model: CompiledModel, _ body: (_ id: Int, _ name: SubjectName) -> Void) {
    var layout = self
    var properties: [(id: Int, name: SubjectName)] = []
    layout.forEachHistoryID { id, subject in
      guard let id, let name = SubjectName(subject, in: model) else { return }
      if name.property == nil { body(id, name) } else { properties.append((id, name)) }
    }
    for (id, name) in properties { body(id, name) }
  }

  /// The names of what an ID denotes.
  private struct SubjectName {
    let entity: String
    let property: String?

    /// Creates the names, or returns `nil` for an inverse that the model does not store.
    init?(_ subject: HistorySubject, in model: CompiledModel) {
      switch subject {
      case .entity(let name): (entity, property) = (name, nil)
      case .slot(let name, let property), .toMany(let name, let property): (entity, self.property) = (name, property)
      case .inverse(let name, let property):
        guard let inverse = model.storedInverse(name, property) else { return nil }
        (entity, self.property) = (model.entities[inverse.sourceEntity].name, inverse.name)
      }
    }

    func identity(_ derived: StableIdentifiers, _ model: CompiledModel) -> StableIdentifier? {
      guard let number = model.entity(named: entity)?.number else { return nil }
      guard let property else { return derived.entities[number] }
      return derived.property(property, ofEntity: number)
    }
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
        if let inverse = model.storedInverse(name, property) { assignment.relationships[inverse.id] = id }
      }
    }
    assignment.identities = { [layout] in
      var retired: [Int: StableIdentifier] = [:]
      for id in layout.history?.retired ?? [] { retired[id.id] = id.identity }
      return .init(present: layout.identities(of: model), retired: retired)
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

  /// Returns the inverse of a to-many relationship with a join table, if that is a to-many relationship with an ID of its own.
  fileprivate func storedInverse(_ entity: String, _ property: String) -> CompiledRelationship? {
    guard let relationship = toMany(entity, property), let inverse = inverse(of: relationship), inverse.id != relationship.id,
      inverse.isToMany
    else { return nil }
    return inverse
  }
}

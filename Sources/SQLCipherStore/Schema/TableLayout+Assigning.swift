import ObjectModel

extension TableLayout {
  /// The version of the rules below. It determines whether a computed layout equals the one in a file.
  static let assignmentVersion = 1

  /// Assigns names and numbers for the entities of a new store.
  init(model: CompiledModel, entityNumbers: [Int]) {
    let storedRoots = Set(entityNumbers.map { model.entities[$0].root })
    var tableNames = NameAllocator(reserved: BookkeepingTables.reservedNames)
    let roots = model.entities.filter { $0.parent == nil && storedRoots.contains($0.number) }
    for root in roots {
      var table = TableLayout.table(of: root, in: model, id: tables.count + 1)
      table.name = tableNames.take(root.name)
      tables.append(table)
    }
    for relationship in model.relationships where storedRoots.contains(model.entities[relationship.sourceEntity].root) {
      guard Self.needsJoinTable(relationship, in: model) else { continue }
      let source = model.entities[relationship.sourceEntity]
      let target = model.entities[relationship.destinationEntity]
      let inverse = model.inverse(of: relationship)
      joinTables.append(
        JoinTable(
          entity: source.name, property: relationship.name, name: tableNames.take("\(source.name)_\(relationship.name)"),
          sourceColumn: "source", sourceEntityColumn: source.subtree.count > 1 ? "source_entity" : nil, targetColumn: "target",
          targetEntityColumn: target.subtree.count > 1 ? "target_entity" : nil,
          targetOrderColumn: relationship.isOrdered ? "target_order" : nil,
          sourceOrderColumn: inverse.map { $0.isOrdered && $0.id != relationship.id } ?? false ? "source_order" : nil))
    }
  }

  /// Returns whether a relationship declares a join table. Of two inverse to-many relationships, the one with the lower number declares it.
  static func needsJoinTable(_ relationship: CompiledRelationship, in model: CompiledModel) -> Bool {
    guard relationship.isToMany, !relationship.isTransient else { return false }
    guard let inverse = model.inverse(of: relationship), !inverse.isTransient else { return true }
    return inverse.isToMany && relationship.id <= inverse.id
  }

  /// Returns whether the members' table stores their order.
  static func needsOrderColumn(_ relationship: CompiledRelationship, in model: CompiledModel) -> Bool {
    guard relationship.isToMany, relationship.isOrdered, !relationship.isTransient else { return false }
    guard let inverse = model.inverse(of: relationship), !inverse.isTransient else { return false }
    return !inverse.isToMany
  }

  private static func table(of root: CompiledEntity, in model: CompiledModel, id: Int) -> Table {
    let isTree = root.subtree.count > 1
    // Columns with these names would hide SQLite's own.
    var names = NameAllocator(reserved: ["rowid", "oid", "_rowid_"])
    var table = Table(
      id: id, name: "", keyColumn: names.take("_pk"), versionColumn: names.take("_version"),
      entityColumn: isTree ? names.take("_entity") : nil, entities: [], columns: [], orderColumns: [])
    for number in root.subtree {
      let entity = model.entities[number]
      table.entities.append(Entity(name: entity.name, discriminator: number - root.number + 1))
      for slot in entity.slots where slot.declaringEntity == number && !slot.isTransient {
        guard let kind = Kind(slot.kind) else { continue }
        table.columns.append(Column(entity: entity.name, property: slot.name, name: names.take(slot.name), kind: kind))
      }
    }
    // All properties have their names; now name the columns that accompany them.
    for index in table.columns.indices where table.columns[index].kind == .reference {
      let column = table.columns[index]
      guard let relationship = model.entity(named: column.entity)?.property(named: column.property)?.toOne,
        model.entities[relationship.destinationEntity].subtree.count > 1
      else { continue }
      table.columns[index].entityColumn = names.take("\(column.name)_entity")
    }
    for relationship in model.relationships where needsOrderColumn(relationship, in: model) {
      guard let inverse = model.inverse(of: relationship), root.subtree.contains(inverse.sourceEntity) else { continue }
      table.orderColumns.append(
        OrderColumn(
          entity: model.entities[relationship.sourceEntity].name, property: relationship.name, name: names.take("\(inverse.name)_order")))
    }
    return table
  }
}

extension TableLayout.Kind {
  /// Creates the kind of a slot's column, or `nil` if nothing is stored.
  init?(_ kind: SlotKind) {
    switch kind {
    case .int: self = .integer
    case .real: self = .real
    case .text: self = .text
    case .bytes: self = .bytes
    case .reference: self = .reference
    case .none: return nil
    }
  }

  var sqlType: String {
    switch self {
    case .integer, .reference: "INTEGER"
    case .real: "REAL"
    case .text: "TEXT"
    case .bytes: "BLOB"
    }
  }
}

extension CompiledProperty {
  var toOne: CompiledRelationship? {
    if case .toOne(let relationship) = self { relationship } else { nil }
  }
}

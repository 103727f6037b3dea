import ObjectModel
import ObjectStore
import SQLCipherConnection

/// The migration of one join table.
struct JoinMigration {
  /// The relationship that declares the table.
  let relationship: CompiledRelationship
  var layout: TableLayout.JoinTable
  /// The position in the older layout of the table that is kept, or whose name the new table takes.
  var reused: Int?
  /// Whether the older table is kept with its rows.
  var isAltered = false
  /// The links in a table that is kept, with names for an UPDATE.
  var kept: LinkSource?
  var linkSources: [LinkSource]
  /// The unquoted names of columns to add to the older table.
  var added: [String] = []
  /// The table's unquoted name during the migration.
  var workingName: String

  /// Returns the steps that create the table, or add its missing columns.
  func makingSteps(_ text: () throws -> String) throws -> [MigrationStep] {
    guard isAltered else {
      let what = "\(reused == nil ? "create" : "rebuild") the table “\(layout.name)” for \(layout.entity).\(layout.property)"
      return [MigrationStep(summary: what, work: .schema([try text()]))]
    }
    return try added.map { column in
      MigrationStep(
        summary: "add the column “\(column)” to “\(layout.name)”",
        work: .schema([try layout.adding(column)]))
    }
  }

  /// Returns the steps that insert links from other tables.
  func fillingSteps(_ map: MigrationMap) throws -> [MigrationStep] {
    try linkSources.map { linkSource in
      let (near, far) = linkSource.numbers(map, as: relationship)
      let condition = linkSource.condition(map, as: relationship)
      let sql = try layout.filling(
        named: workingName, from: linkSource.links, nearEntity: near.value, farEntity: far.value, where: condition)
      return MigrationStep(
        summary: "copy the links of \(layout.entity).\(layout.property)",
        work: .batches(linkSource.links.batches(sql)), countSQL: linkSource.links.count(where: condition))
    }
  }

  /// Returns the steps that delete and update links in a table that is kept.
  func changingSteps(_ map: MigrationMap) throws -> [MigrationStep] {
    guard isAltered, let kept else { return [] }
    let (near, far) = kept.numbers(map, as: relationship)
    var steps: [MigrationStep] = []
    func add(_ summary: String, _ assignments: [(column: String, value: String)], _ condition: String?) throws {
      let (sql, count) = try kept.links.change(assignments, where: condition)
      steps.append(
        MigrationStep(
          summary: summary, work: .batches(kept.links.batches(sql)), countSQL: count))
    }
    let live = [near.isLive, far.isLive].compactMap { $0 }
    if !live.isEmpty {
      try add(
        "delete links to removed objects from “\(layout.name)”", [],
        live.map { "NOT (\($0))" }.joined(separator: " OR "))
    }
    var assignments: [(column: String, value: String)] = []
    var affected: [String?] = []
    for (column, numbers) in [(layout.sourceEntityColumn, near), (layout.targetEntityColumn, far)] {
      guard let column else { continue }
      let isNew = added.contains(column)
      guard isNew || numbers.isChanged != nil else { continue }
      assignments.append((column, numbers.value))
      affected.append(isNew ? nil : numbers.isChanged)
    }
    if !assignments.isEmpty {
      let condition = affected.contains(nil) ? nil : affected.compactMap { $0 }.joined(separator: " OR ")
      try add("update the numbers of entities in “\(layout.name)”", assignments, condition)
    }
    return steps
  }
}

/// Plans the join tables of a newer model.
struct JoinPlanner {
  let map: MigrationMap
  let fresh: TableLayout
  /// The names of the newer entity tables, by the number of their root entity.
  let names: [Int: String]
  let preservesSource: Bool
  let copiesRows: Bool

  /// Returns the migrations of all join tables. `take` returns an unused table name.
  func plan(_ take: (String) -> String) -> [JoinMigration] {
    var taken: Set<Int> = []
    return fresh.joinTables.compactMap { fresh in
      guard let relationship = map.destination.entity(named: fresh.entity)?.property(named: fresh.property)?.toMany else { return nil }
      let linkSources = copiesRows ? map.linkSources(of: relationship).map(\.linkSource) : []
      if let reused = linkSources.first(where: { $0.joinTable.map { !taken.contains($0) } ?? false }), let index = reused.joinTable {
        taken.insert(index)
        if !preservesSource, let altered = altered(relationship, fresh, reused, index, linkSources) { return altered }
        var layout = fresh
        layout.name = map.source.layout.joinTables[index].name
        return JoinMigration(relationship: relationship, layout: layout, reused: index, linkSources: linkSources, workingName: layout.name)
      }
      var layout = fresh
      layout.name = take(fresh.name)
      return JoinMigration(relationship: relationship, layout: layout, linkSources: linkSources, workingName: layout.name)
    }
  }

  /// Returns the migration that keeps an older table with its rows, or `nil` if that is not possible.
  private func altered(
    _ relationship: CompiledRelationship, _ fresh: TableLayout.JoinTable, _ reused: LinkSource, _ index: Int, _ linkSources: [LinkSource]
  ) -> JoinMigration? {
    let older = map.source.layout.joinTables[index]
    let isSymmetric = relationship.isItsOwnInverse
    var declared = relationship
    if reused.isReversed, !isSymmetric {
      // The older table is ordered by the other side, so the inverse declares it.
      guard let inverse = map.destination.inverse(of: relationship) else { return nil }
      declared = inverse
    }
    guard let kept = LinkSource(reused.relationship, in: map.source, alias: nil) else { return nil }
    let oriented = kept.isReversed ? kept.reversed : kept
    // The foreign keys in the table's definition must refer to the same tables.
    func parent(_ older: CompiledEntity) -> String? { map.source.tableIfStored(older.number)?.plainName }
    let (source, target) = (map.destination.entities[declared.sourceEntity], map.destination.entities[declared.destinationEntity])
    guard parent(oriented.nearEntity) == names[source.root], parent(oriented.farEntity) == names[target.root] else { return nil }
    var columns = NameAllocator(reserved: older.physicalColumns)
    var added: [String] = []
    func column(_ known: String?, _ isNeeded: Bool, _ name: String) -> String? {
      if let known { return known }
      guard isNeeded else { return nil }
      let name = columns.take(name)
      added.append(name)
      return name
    }
    var layout = older
    layout.entity = source.name
    layout.property = declared.name
    layout.sourceEntityColumn = column(older.sourceEntityColumn, source.subtree.count > 1, "source_entity")
    layout.targetEntityColumn = column(older.targetEntityColumn, target.subtree.count > 1, "target_entity")
    let inverse = map.destination.inverse(of: declared)
    let ordersTargets = declared.isOrdered
    let ordersSources = inverse.map { $0.isOrdered && $0.id != declared.id } ?? false
    layout.targetOrderColumn = ordersTargets ? column(older.targetOrderColumn, true, "target_order") : nil
    layout.sourceOrderColumn = ordersSources ? column(older.sourceOrderColumn, true, "source_order") : nil
    let left = [ordersTargets ? nil : older.targetOrderColumn, ordersSources ? nil : older.sourceOrderColumn].compactMap { $0 }
    let leftovers = (older.leftovers ?? []) + left
    layout.leftovers = leftovers.isEmpty ? nil : leftovers
    let others = linkSources.filter { !($0.joinTable == index && $0.isReversed == reused.isReversed) }
    // Inserted links already have the newer entity numbers, so they must not be updated afterward.
    let (near, far) = oriented.numbers(map, as: declared)
    guard others.isEmpty || near.isIdentity && far.isIdentity && added.isEmpty else { return nil }
    return JoinMigration(
      relationship: declared, layout: layout, reused: index, isAltered: true, kept: oriented,
      linkSources: declared.id == relationship.id ? others : others.map(\.reversed), added: added, workingName: layout.name)
  }
}

/// The links of an older relationship as the source of a query, seen from one of its sides.
struct LinkSource {
  let relationship: CompiledRelationship
  let links: LinkColumns
  let nearNumbering: OlderNumbering
  let farNumbering: OlderNumbering
  let nearEntity: CompiledEntity
  let farEntity: CompiledEntity
  /// The condition that a row contains a link, or `nil` if all rows do.
  let linkCondition: String?
  /// The position of the join table in the older layout.
  let joinTable: Int?
  /// Whether the near objects are in the join table's second column.
  let isReversed: Bool

  /// The same links seen from the other side.
  var reversed: LinkSource { reversed(as: relationship) }

  private func reversed(as relationship: CompiledRelationship) -> LinkSource {
    LinkSource(
      relationship: relationship, links: links.reversed, nearNumbering: farNumbering, farNumbering: nearNumbering, nearEntity: farEntity,
      farEntity: nearEntity, linkCondition: linkCondition, joinTable: joinTable, isReversed: !isReversed)
  }

  /// Creates the feed of an older relationship, or returns `nil` if nothing is stored.
  ///
  /// - Parameter alias: The prefix of column names, or `nil` for the quoted table name, which an UPDATE needs.
  init?(_ relationship: CompiledRelationship, in schema: StoreSchema, alias: String? = "f") {
    let model = schema.model
    switch schema.relationships[relationship.id] {
    case .none: return nil
    case .column(let index, let column):
      let table = schema.tables[index]
      var order: String?
      if let inverse = model.inverse(of: relationship), case .inverse(let side) = schema.relationships[inverse.id] { order = side.order }
      links = LinkColumns(column, in: table, order: order, alias: alias)
      self.relationship = relationship
      nearNumbering = links.nearEntity.map { .stored($0) } ?? .fixed(table.root.number)
      if let entity = links.farEntity {
        farNumbering = .stored(entity)
      } else if case .fixed(let number) = column.destination {
        farNumbering = .fixed(number)
      } else {
        return nil
      }
      nearEntity = model.entities[relationship.sourceEntity]
      farEntity = model.entities[relationship.destinationEntity]
      // Without a foreign key, the column can refer to a deleted object.
      var condition = "\(links.far) IS NOT NULL"
      if SchemaGenerator.parent(of: column.slot, in: schema) == nil, let target = schema.tableIfStored(relationship.destinationEntity) {
        condition += " AND \(target.exists(links.far))"
      }
      linkCondition = condition
      joinTable = nil
      isReversed = false
    case .inverse:
      guard let inverse = model.inverse(of: relationship), let linkSource = LinkSource(inverse, in: schema, alias: alias) else {
        return nil
      }
      self = linkSource.reversed(as: relationship)
    case .join(let side):
      links = LinkColumns(side, alias: alias)
      self.relationship = relationship
      nearNumbering = links.nearEntity.map { .stored($0) } ?? .fixed(side.nearEntityNumber)
      farNumbering = links.farEntity.map { .stored($0) } ?? .fixed(side.farEntityNumber)
      nearEntity = model.entities[side.nearEntityNumber]
      farEntity = model.entities[side.farEntityNumber]
      linkCondition = nil
      joinTable = side.tableIndex
      isReversed = side.isReversed
    }
  }

  private init(
    relationship: CompiledRelationship, links: LinkColumns, nearNumbering: OlderNumbering, farNumbering: OlderNumbering,
    nearEntity: CompiledEntity, farEntity: CompiledEntity, linkCondition: String?, joinTable: Int?, isReversed: Bool
  ) {
    self.relationship = relationship
    self.links = links
    self.nearNumbering = nearNumbering
    self.farNumbering = farNumbering
    self.nearEntity = nearEntity
    self.farEntity = farEntity
    self.linkCondition = linkCondition
    self.joinTable = joinTable
    self.isReversed = isReversed
  }

  /// Returns the newer entity numbers of the near and the far objects for a newer relationship.
  func numbers(_ map: MigrationMap, as newer: CompiledRelationship) -> (near: NumberMap, far: NumberMap) {
    let entities = map.destination.entities
    return (
      map.numbers(nearNumbering, of: nearEntity, within: entities[newer.sourceEntity]),
      map.numbers(farNumbering, of: farEntity, within: entities[newer.destinationEntity])
    )
  }

  /// Returns the condition that a row contains a link that a newer relationship takes over, or `nil` if all rows do.
  func condition(_ map: MigrationMap, as newer: CompiledRelationship) -> String? {
    let (near, far) = numbers(map, as: newer)
    let parts = [linkCondition, near.isLive, far.isLive].compactMap { $0 }
    return parts.isEmpty ? nil : parts.joined(separator: " AND ")
  }
}

extension MigrationMap {
  /// Returns a step for each source relationship whose links no destination relationship takes over while its objects remain. The links are removed with
  /// their column or table; the step counts them.
  func removedLinkSteps() -> [MigrationStep] {
    let kept = Set(destination.relationships.flatMap { olderRelationships(of: $0) }.map(links))
    return source.model.relationships.compactMap { older in
      guard !kept.contains(older.id), links(of: older) == older.id, let linkSource = LinkSource(older, in: source),
        linkSource.nearEntity.subtree.contains(where: { newer(source.model.entities[$0]) != nil })
      else { return nil }
      return MigrationStep(
        summary: "remove the links of \(source.model.entities[older.sourceEntity].name).\(older.name)", work: .schema([]),
        countSQL: linkSource.links.count(where: linkSource.linkCondition))
    }
  }

  /// Returns an ID for the links that an older relationship shares with its inverse.
  private func links(of older: CompiledRelationship) -> Int { min(older.id, older.inverseID ?? older.id) }

  /// Returns the older links that a newer relationship takes over, seen from its source: its own, and those of its inverse if they are
  /// different.
  ///
  /// - Returns: The feeds, and whether each comes from the relationship itself, whose links a column can already contain.
  func linkSources(of newer: CompiledRelationship) -> [(linkSource: LinkSource, isOwn: Bool)] {
    var result: [(linkSource: LinkSource, isOwn: Bool)] = []
    let own = olderRelationships(of: newer)
    var covered = Set(own.map(links))
    for older in own { if let linkSource = LinkSource(older, in: source) { result.append((linkSource, true)) } }
    if let inverse = destination.inverse(of: newer), inverse.id != newer.id {
      for older in olderRelationships(of: inverse) where covered.insert(links(of: older)).inserted {
        if let linkSource = LinkSource(older, in: source) { result.append((linkSource.reversed, false)) }
      }
    } else if newer.isItsOwnInverse {
      // Each link is stored in both directions.
      for older in own where older.inverseID != older.id {
        if let linkSource = LinkSource(older, in: source) { result.append((linkSource.reversed, false)) }
      }
    }
    return result.filter { item in
      let (near, far) = item.linkSource.numbers(self, as: newer)
      return !near.isEmpty && !far.isEmpty
    }
  }
}

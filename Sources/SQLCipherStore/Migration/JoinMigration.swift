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
    let isSymmetric = relationship.inverseID == relationship.id
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

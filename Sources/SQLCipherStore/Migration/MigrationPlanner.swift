import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection

/// A planned migration from one model to the next.
struct PlannedMigration {
  let map: MigrationMap
  /// The newer tables with their final names.
  let schema: StoreSchema
  /// The newer tables with their working names, while the older tables still exist.
  let workingSchema: StoreSchema
  /// The newer tables, and the to-one relationships that take over links from other places than their column.
  let tables: [TableMigration]
  let linkSources: [MigrationPlanner.ToOneSource]
  let checks: [MigrationCheck]
  let steps: [MigrationStep]
  /// The unquoted names of the older tables that are dropped or replaced by copies. Their indexes are dropped with them.
  let replacedTables: Set<String>
  let deferredTasks: [String]
}

/// Plans a migration from two models and the recorded layout: the newer layout, and the steps that produce it. It does not read rows.
struct MigrationPlanner {
  let map: MigrationMap
  let entityNumbers: [Int]
  let step: StoreMigrationStep?
  let defersCleanUp: Bool

  private var preservesSource: Bool { step?.handler != nil || !copiesRows }
  private var copiesRows: Bool { step?.infersRows ?? true }
  private var older: TableLayout { map.source.layout }
  private var roots: [CompiledEntity] { map.destination.entities.filter { $0.parent == nil && map.storedEntities.contains($0.number) } }

  init(
    from source: StoreSchema, to model: CompiledModel, entityNumbers: [Int], step: StoreMigrationStep? = nil, defersCleanUp: Bool = false
  ) {
    map = MigrationMap(source: source, destination: model, entityNumbers: entityNumbers)
    self.entityNumbers = entityNumbers
    self.step = step
    self.defersCleanUp = defersCleanUp && step?.handler == nil
  }

  /// The changes that require a handler.
  var obstacles: [ModelChange] { step?.handler == nil ? map.difference.obstacles : [] }

  func plan() throws -> PlannedMigration {
    let fresh = TableLayout(model: map.destination, entityNumbers: entityNumbers)
    let sources = sourceTables()
    let primaries = primaries(sources)
    var allocator = NameAllocator(reserved: BookkeepingTables.reservedNames + older.physicalTables)
    var names: [Int: String] = [:]
    for root in roots {
      if let table = sources[root.number], primaries[table] == root.number {
        names[root.number] = older.tables[table].name
      } else {
        names[root.number] = allocator.take(root.name)
      }
    }
    let joinPlanner = JoinPlanner(map: map, fresh: fresh, names: names, preservesSource: preservesSource, copiesRows: copiesRows)
    var joins = joinPlanner.plan { allocator.take($0) }
    let unused = unusedTables(primaries, joins)
    let deferredDrops = defersCleanUp ? deferredDrops(unused) : []
    let linkSources = toOneSources()
    let planner = TablePlanner(
      map: map, fresh: fresh, names: names, deferredDrops: deferredDrops, defersCleanUp: defersCleanUp, preservesSource: preservesSource,
      mixed: Set(linkSources.filter { $0.isMixed }.map(\.relationship.id)), copiesRows: copiesRows)
    var nextID = (older.tables.map(\.id).max() ?? 0) + 1
    var tables: [TableMigration] = []
    for root in roots {
      let table = sources[root.number]
      let isPrimary = table.map { primaries[$0] == root.number } ?? false
      let id = isPrimary ? table.map { older.tables[$0].id } ?? nextID : nextID
      if !isPrimary { nextID += 1 }
      if let plan = planner.plan(root, from: table.map { map.source.tables[$0] }, id: id, isPrimary: isPrimary) { tables.append(plan) }
    }
    for index in tables.indices where tables[index].mode == .rebuild {
      tables[index].workingName = allocator.take("cipherdata_new_\(index + 1)")
    }
    for index in joins.indices where !joins[index].isAltered && joins[index].reused != nil {
      joins[index].workingName = allocator.take("cipherdata_new_\(tables.count + index + 1)")
    }
    return try assemble(tables, joins, linkSources, unused: unused, left: deferredDrops)
  }

  // MARK: Tables

  /// Returns the index of the older table that the rows of each newer root come from.
  private func sourceTables() -> [Int: Int] {
    var result: [Int: Int] = [:]
    for root in roots {
      // If several trees were merged, only a handler can migrate the objects of the others.
      let table = root.subtree.lazy.compactMap { number in
        map.older(map.destination.entities[number]).flatMap { map.source.tableIfStored($0.number)?.index }
      }.first
      if let table { result[root.number] = table }
    }
    return result
  }

  /// Returns the newer root that keeps each older table: the newer version of its own root, or the first of the trees that it was split
  /// into.
  private func primaries(_ sources: [Int: Int]) -> [Int: Int] {
    var result: [Int: Int] = [:]
    for table in map.source.tables {
      let successors = roots.map(\.number).filter { sources[$0] == table.index }
      let own = map.newer(table.root)?.root
      result[table.index] = own.flatMap { successors.contains($0) ? $0 : nil } ?? successors.first
    }
    return result
  }

  /// Returns the unquoted names of the older tables that are not used anymore.
  private func unusedTables(_ primaries: [Int: Int], _ joins: [JoinMigration]) -> [String] {
    let carried = Set(joins.compactMap(\.reused))
    return older.tables.indices.filter { primaries[$0] == nil }.map { older.tables[$0].name }
      + older.joinTables.indices.filter { !carried.contains($0) }.map { older.joinTables[$0].name }
  }

  /// Returns the unused tables that can be dropped later: those without references to a table in use, whose rows may be deleted before
  /// then.
  private func deferredDrops(_ unused: [String]) -> Set<String> {
    var result = Set(unused).subtracting(older.joinTables.map(\.name))
    var isStable = false
    while !isStable {
      isStable = true
      for table in map.source.tables where result.contains(table.plainName) {
        let parents = table.columns.compactMap { SchemaGenerator.parent(of: $0.slot, in: map.source) }
        if parents.contains(where: { !result.contains($0) }) {
          result.remove(table.plainName)
          isStable = false
        }
      }
    }
    return result
  }

  // MARK: Links

  /// A to-one relationship that takes over links from other places than its own column.
  struct ToOneSource {
    let relationship: CompiledRelationship
    let linkSources: [LinkSource]
    /// All links, including those of its own columns.
    let all: [LinkSource]
    /// Whether its own column contains some of the links.
    var isMixed: Bool { linkSources.count < all.count }
  }

  private func toOneSources() -> [ToOneSource] {
    guard copiesRows else { return [] }
    return map.destination.relationships.compactMap { relationship in
      guard !relationship.isToMany, !relationship.isTransient, map.storedEntities.contains(relationship.sourceEntity) else { return nil }
      let all = map.linkSources(of: relationship)
      let others = all.filter { !($0.isOwn && !$0.linkSource.relationship.isToMany) }
      guard !others.isEmpty else { return nil }
      return ToOneSource(relationship: relationship, linkSources: others.map(\.linkSource), all: all.map(\.linkSource))
    }
  }

  // MARK: Steps

  private func assemble(
    _ tables: [TableMigration], _ joins: [JoinMigration], _ linkSources: [ToOneSource], unused: [String], left: Set<String>
  ) throws -> PlannedMigration {
    var layout = TableLayout(tables: tables.map(\.layout), joinTables: joins.map(\.layout))
    var workingLayout = layout
    for (index, table) in tables.enumerated() { workingLayout.tables[index].name = table.workingName }
    for (index, join) in joins.enumerated() { workingLayout.joinTables[index].name = join.workingName }
    let leftovers = (older.leftoverTables ?? []) + unused.filter(left.contains)
    layout.leftoverTables = leftovers.isEmpty ? nil : leftovers
    let deferred = tables.filter { table in
      table.mode == .alter && (table.hasDeferredColumns || older.deferredTables?.contains(table.name) ?? false)
    }.map(\.name)
    layout.deferredTables = deferred.isEmpty ? nil : deferred
    let schema = try StoreSchema(model: map.destination, layout: layout)
    let workingSchema = try StoreSchema(model: map.destination, layout: workingLayout)
    let generator = SchemaGenerator(schema: schema)

    var making: [MigrationStep] = []
    var copying: [MigrationStep] = []
    var changing: [MigrationStep] = []
    for (table, built) in zip(tables, schema.tables) {
      making += try table.makingSteps { try generator.createTable(built, named: try Identifier.quoted(table.workingName)) }
      if table.mode == .create { making.append(keyStep(table)) }
      copying += try table.copyingSteps(map)
      changing += try table.changingSteps(map)
    }
    for (join, side) in zip(joins, schema.joins) {
      making += try join.makingSteps { generator.createJoinTable(side, named: try Identifier.quoted(join.workingName)) }
      copying += try join.fillingSteps(map)
      changing += try join.changingSteps(map)
    }
    for item in linkSources { copying += try fillingSteps(item, tables) }
    let ending = try finalSteps(tables, joins, unused: unused.filter { !left.contains($0) })
    var steps = making
    if !copying.isEmpty || !changing.isEmpty || !ending.isEmpty {
      steps.insert(MigrationStep(summary: "drop triggers, views and full-text tables", work: .dropFollowers), at: 0)
    }
    steps += copying
    if let step, step.handler != nil { steps.append(MigrationStep(summary: "run the stage “\(step.name)”", work: .handler(step))) }
    steps.append(MigrationStep(summary: "drop the indexes that are no longer needed", work: .dropIndexes))
    steps += changing + (preservesSource ? [] : map.removedLinkSteps()) + ending
    steps.append(MigrationStep(summary: "make the indexes", work: .makeAuxiliaries))
    let replaced =
      unused + tables.filter { $0.mode == .rebuild }.map(\.name) + joins.filter { $0.reused != nil && !$0.isAltered }.map(\.layout.name)
    return PlannedMigration(
      map: map, schema: schema, workingSchema: workingSchema, tables: tables, linkSources: linkSources,
      checks: try checks(tables, linkSources),
      steps: steps,
      replacedTables: Set(replaced), deferredTasks: DeferredCleanup.tasks(layout))
  }

  /// Returns the step that sets the key counter of a new table to that of the table its rows come from, so that no key is used twice.
  private func keyStep(_ table: TableMigration) -> MigrationStep {
    var statements = [BookkeepingTables.deletingKeyCounter(of: table.id)]
    if let source = table.source {
      statements.append(BookkeepingTables.copyingKeys(of: source.id, to: table.id))
    }
    return MigrationStep(
      summary: "count the keys of “\(table.name)”", work: .keys(statements, of: table.id, from: table.source?.id))
  }

  private func fillingSteps(_ item: ToOneSource, _ tables: [TableMigration]) throws -> [MigrationStep] {
    let relationship = item.relationship
    let root = map.destination.entities[relationship.sourceEntity].root
    guard let table = tables.first(where: { $0.root.number == root }),
      let column = table.columns.first(where: { $0.slot.relationship?.id == relationship.id })
    else { return [] }
    let inverse = map.destination.inverse(of: relationship)
    let order = inverse.flatMap { inverse in
      table.orders.first { $0.layout.property == inverse.name && $0.layout.entity == map.destination.entities[inverse.sourceEntity].name }
    }
    return try item.linkSources.map { linkSource in
      var values = [linkSource.links.near, linkSource.links.far]
      var columns = [column.layout.name]
      if let entityColumn = column.layout.entityColumn {
        values.append(linkSource.numbers(map, as: relationship).far.value)
        columns.append(entityColumn)
      }
      if let order, let known = linkSource.links.nearOrder {
        values.append(known)
        columns.append(order.layout.name)
      }
      let condition = linkSource.condition(map, as: relationship)
      let read = linkSource.links.values(values, where: condition)
      let write = try table.layout.setting(columns, named: table.workingName)
      return MigrationStep(
        summary: "set \(column.layout.entity).\(column.layout.property) from the links in \(linkSource.links.table)",
        work: .links(
          LinkFill(
            read: linkSource.links.batches(read), write: write, valueCount: Int32(values.count))),
        countSQL: linkSource.links.count(where: "1" + (condition.map { " AND \($0)" } ?? "")))
    }
  }

  /// Returns the steps that rename copies to their final names and drop unused tables.
  private func finalSteps(_ tables: [TableMigration], _ joins: [JoinMigration], unused: [String]) throws -> [MigrationStep] {
    var steps: [MigrationStep] = []
    func replace(_ name: String, _ statements: [String]) {
      steps.append(MigrationStep(summary: "put the new “\(name)” in the place of the old one", work: .schema(statements)))
    }
    for join in joins where join.workingName != join.layout.name {
      replace(join.layout.name, try join.layout.replacing(with: join.workingName))
    }
    for table in tables where table.mode == .rebuild { replace(table.name, try table.layout.replacing(with: table.workingName)) }
    for name in unused.reversed() {
      var statements: [String] = []
      if let table = older.tables.first(where: { $0.name == name }) {
        statements = [try table.dropping(), BookkeepingTables.deletingKeyCounter(of: table.id)]
      } else if let join = older.joinTables.first(where: { $0.name == name }) {
        statements = [try join.dropping()]
      }
      steps.append(MigrationStep(summary: "drop the table “\(name)”", work: .schema(statements)))
    }
    return steps
  }
}

// MARK: - Checks before a migration

extension MigrationPlanner {
  /// Returns the checks of the stored rows, which run before anything is changed. They prevent a migration that would lose data.
  func checks(_ tables: [TableMigration], _ linkSources: [ToOneSource]) throws -> [MigrationCheck] {
    guard step?.infersRows ?? true else { return [] }
    // A handler has access to both sides, and decides which of several objects to keep.
    return abstractChecks(tables) + configurationChecks()
      + (step?.handler == nil ? linkSources.flatMap(linkChecks) + tables.flatMap(conversionChecks) : [])
  }

  /// Checks that all stored values can be converted to attributes' new types.
  private func conversionChecks(_ table: TableMigration) -> [MigrationCheck] {
    guard let source = table.source else { return [] }
    let rows = RowExpressions(map: map, table: source, prefix: "t")
    return table.columns.flatMap { column -> [MigrationCheck] in
      // Use one query for all entities whose values come from the same column.
      var groups: [(condition: String, migratedEntities: [TableMigration.MigratedEntity])] = []
      for (migratedEntity, value) in zip(table.migratedEntities, column.values) {
        let condition: String? =
          switch value {
          case .column(let index), .columnOr(let index, _): rows.isUnconvertible(index, for: column)
          case .part(let index, _, _): index.flatMap { rows.isUnconvertible($0, for: column) }
          case .null, .literal: nil
          }
        guard let condition else { continue }
        if let index = groups.firstIndex(where: { $0.condition == condition }) {
          groups[index].migratedEntities.append(migratedEntity)
        } else {
          groups.append((condition, [migratedEntity]))
        }
      }
      return groups.compactMap { group in
        guard let type = column.slot.attributeType, let first = group.migratedEntities.first else { return nil }
        let members = rows.entity.map { NumberMap.membership($0, group.migratedEntities.map(\.olderNumber).sorted()) }
        let entity = group.migratedEntities.count == 1 ? first.newer.name : column.layout.entity
        return MigrationCheck(sql: source.count(where: [members, group.condition].compactMap { $0 }.joined(separator: " AND "))) { count in
          StoreError(
            .unconvertible(entity: entity, property: column.layout.property, type: type.rawValue, count: count), operation: .migrate)
        }
      }
    }
  }

  private func rows(of entity: CompiledEntity) -> String? {
    guard let table = map.source.tableIfStored(entity.number) else { return nil }
    let condition = table.entityCondition(entity.number, includesSubentities: false, model: map.source.model, alias: "t")
    return table.count(where: condition)
  }

  /// Checks that an entity made abstract has no objects of its own.
  private func abstractChecks(_ tables: [TableMigration]) -> [MigrationCheck] {
    tables.flatMap { table in
      table.migratedEntities.filter(\.newer.isAbstract).compactMap { migratedEntity in
        rows(of: migratedEntity.older).map { sql in
          MigrationCheck(sql: sql) { count in
            StoreError(.madeAbstract(entity: migratedEntity.newer.name, count: count), operation: .migrate)
          }
        }
      }
    }
  }

  /// Checks that an entity moved to another store's configuration has no objects in this store.
  private func configurationChecks() -> [MigrationCheck] {
    map.source.model.entities.compactMap { entity in
      guard !entity.isAbstract, map.isInModel(entity), map.newer(entity) == nil, let sql = rows(of: entity) else { return nil }
      return MigrationCheck(sql: sql) { count in
        StoreError(.excludedFromConfiguration(entity: entity.name, count: count), operation: .migrate)
      }
    }
  }

  /// Checks that each object has at most one destination in a relationship made to-one.
  private func linkChecks(_ item: ToOneSource) -> [MigrationCheck] {
    let relationship = item.relationship
    let entity = map.destination.entities[relationship.sourceEntity].name
    var result: [MigrationCheck] = []
    for linkSource in item.linkSources {
      let condition = linkSource.condition(map, as: relationship)
      result.append(
        MigrationCheck(sql: linkSource.links.countOfSeveral(where: condition)) { count in
          StoreError(.severalOfToOne(entity: entity, property: relationship.name, count: count), operation: .migrate)
        })
    }
    guard item.all.count > 1 else { return result }
    let sources = item.all.map { (links: $0.links, condition: $0.condition(map, as: relationship)) }
    result.append(
      MigrationCheck(sql: LinkColumns.countOfContradictions(among: sources)) { count in
        StoreError(.contradictingInverse(entity: entity, property: relationship.name, count: count), operation: .migrate)
      })
    return result
  }
}

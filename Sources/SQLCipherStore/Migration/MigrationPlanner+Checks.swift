import ObjectModel
import ObjectStore
import SQLCipherConnection

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

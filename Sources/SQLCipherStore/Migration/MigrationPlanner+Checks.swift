// MigrationPlanner+Checks: what the stored rows must not contain for a migration to lose nothing.
import ObjectModel
import ObjectStore
import SQLCipherConnection

extension MigrationPlanner {
  /// The questions to ask before anything is changed.
  func checks(_ tables: [TableMigration], _ feeds: [ToOneFeed]) throws -> [MigrationCheck] {
    guard step?.infersRows ?? true else { return [] }
    // Where a handler sees both sides it chooses what stays of several objects.
    return abstractChecks(tables) + configurationChecks() + (step?.handler == nil ? feeds.flatMap(linkChecks) : [])
  }

  private func rows(of entity: CompiledEntity) -> String? {
    guard let table = map.source.tableIfHeld(entity.number) else { return nil }
    let condition = table.entityCondition(entity.number, includesSubentities: false, model: map.source.model, alias: "t")
    return table.count(where: condition)
  }

  /// An entity made abstract has no objects of its own.
  private func abstractChecks(_ tables: [TableMigration]) -> [MigrationCheck] {
    tables.flatMap { table in
      table.survivors.filter(\.newer.isAbstract).compactMap { survivor in
        rows(of: survivor.older).map { sql in
          MigrationCheck(sql: sql) { count in
            StoreError(.madeAbstract(entity: survivor.newer.name, count: count), operation: .migrate)
          }
        }
      }
    }
  }

  /// An entity that moved to the configuration of another store leaves no objects behind.
  private func configurationChecks() -> [MigrationCheck] {
    map.source.model.entities.compactMap { entity in
      guard !entity.isAbstract, map.isInModel(entity), map.newer(entity) == nil, let sql = rows(of: entity) else { return nil }
      return MigrationCheck(sql: sql) { count in
        StoreError(.leftOutOfConfiguration(entity: entity.name, count: count), operation: .migrate)
      }
    }
  }

  /// A relationship made to-one leads to one object already.
  private func linkChecks(_ item: ToOneFeed) -> [MigrationCheck] {
    let relationship = item.relationship
    let entity = map.destination.entities[relationship.sourceEntity].name
    var result: [MigrationCheck] = []
    for feed in item.feeds {
      let condition = feed.condition(map, as: relationship)
      result.append(
        MigrationCheck(sql: feed.links.countOfSeveral(where: condition)) { count in
          StoreError(.severalOfToOne(entity: entity, property: relationship.name, count: count), operation: .migrate)
        })
      guard item.isMixed else { continue }
      for older in map.olderRelationships(of: relationship) {
        guard case .column(let index, let column) = map.source.relationships[older.id] else { continue }
        let table = map.source.tables[index]
        result.append(
          MigrationCheck(sql: feed.links.countOfContradictions(with: column, in: table, where: condition)) { count in
            StoreError(.contradictingInverse(entity: entity, property: relationship.name, count: count), operation: .migrate)
          })
      }
    }
    return result
  }
}

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

  private static func error(_ text: String, _ entity: String, _ property: String? = nil) -> StoreError {
    var error = StoreError(.migrationFailed, text, operation: .migrate)
    error.entityName = entity
    error.propertyName = property
    return error
  }

  private static func objects(_ count: Int) -> String { count == 1 ? "1 object" : "\(count) objects" }

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
            Self.error(
              "“\(survivor.newer.name)” was made abstract, but the store has \(Self.objects(count)) of it, and not of an entity below it. Keep the"
                + " entity, or turn the objects into ones of a subentity in a custom migration stage.",
              survivor.newer.name)
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
        Self.error(
          "The store holds \(Self.objects(count)) of “\(entity.name)”, which its configuration does not have. Copy them into the store that holds"
            + " the entity now, and delete them here; or open the store with a configuration that has the entity.",
          entity.name)
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
          Self.error(
            "\(Self.objects(count)) of “\(entity)” would have more than one object in “\(relationship.name)”, which is to-one now. Keep the relationship"
              + " to-many, or choose which object stays in a custom migration stage.",
            entity, relationship.name)
        })
      guard item.isMixed else { continue }
      for older in map.olderRelationships(of: relationship) {
        guard case .column(let index, let column) = map.source.relationships[older.id] else { continue }
        let table = map.source.tables[index]
        result.append(
          MigrationCheck(sql: feed.links.countOfContradictions(with: column, in: table, where: condition)) { count in
            Self.error(
              "\(count) link\(count == 1 ? "" : "s") of “\(entity).\(relationship.name)” and its new inverse contradict each other. Give the new"
                + " relationship another name, and set it in a custom migration stage.",
              entity, relationship.name)
          })
      }
    }
    return result
  }
}

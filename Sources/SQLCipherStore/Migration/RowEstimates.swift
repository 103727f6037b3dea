import ObjectModel
import ObjectStore
import SQLCipherConnection

/// The estimated number of rows in each table of a schema, between the stages of a migration.
///
/// The effect of lightweight stages follows from the models; the effect of handlers does not.
struct RowEstimates {
  /// The number of objects of each entity without its subentities, by entity number. Unknown numbers are missing.
  private var objects: [Int: Int] = [:]
  /// The number of rows of each join table, by unquoted name.
  private var links: [String: Int] = [:]
  /// Whether inference alone determines the numbers.
  private(set) var areExact = true
  private let schema: StoreSchema

  /// Counts the rows in a file.
  init(_ schema: StoreSchema, _ connection: Connection) throws {
    self.schema = schema
    for table in schema.tables {
      for entity in table.root.subtree {
        let condition = table.entityCondition(entity, includesSubentities: false, model: schema.model, alias: "t")
        objects[entity] = try connection.number(table.count(where: condition))
      }
    }
    for table in schema.layout.joinTables {
      links[table.name] = try connection.number(table.count())
    }
  }

  /// Creates estimates in which all numbers are unknown.
  init(unknownIn schema: StoreSchema) { self.schema = schema }

  /// Returns the estimates after a stage.
  func after(_ plan: PlannedMigration, _ stage: StoreMigrationStep) -> RowEstimates {
    var result = RowEstimates(unknownIn: plan.schema)
    result.areExact = areExact && stage.handler == nil && stage.preparation == nil
    // A mapping model creates the newer rows, so their number does not follow from the older ones.
    guard stage.infersRows else { return result }
    for number in plan.map.storedEntities {
      if let older = plan.map.older(plan.map.destination.entities[number]) {
        result.objects[number] = objects[older.number]
      } else if stage.handler == nil {
        result.objects[number] = 0
      }
    }
    for table in plan.schema.layout.joinTables where !plan.replacedTables.contains(table.name) {
      result.links[table.name] = links[table.name]
    }
    return result
  }

  /// The sum of all known numbers of objects and links.
  var known: Int { objects.values.reduce(0, +) + links.values.reduce(0, +) }

  /// Returns the number of rows of a table, or `nil` if it is unknown.
  ///
  /// - Parameter name: The table's quoted name.
  func rows(inTable name: String) -> Int? {
    if let table = schema.tables.first(where: { $0.name == name }) { return objects(of: Array(table.root.subtree)) }
    return links.first { (try? Identifier.quoted($0.key)) == name }?.value
  }

  /// Returns the number of objects of entities, or `nil` if it is unknown.
  func objects(of entities: [Int]) -> Int? {
    var sum = 0
    for entity in entities {
      guard let count = objects[entity] else { return nil }
      sum += count
    }
    return sum
  }
}

import ObjectModel
import ObjectStore
import SQLCipherConnection

/// The rows of each table of a schema. What lightweight stages make of them follows from the models; what handlers do to them does not.
struct RowEstimates {
  /// The objects by the number of their entity, those of subentities left out; none where the number is not known.
  private var objects: [Int: Int] = [:]
  /// The rows of join tables by their names, not quoted.
  private var links: [String: Int] = [:]
  /// Whether nobody but inference decides the numbers.
  private(set) var areExact = true
  private let schema: StoreSchema

  /// Counts what a file holds.
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

  /// Knows no numbers.
  init(unknownIn schema: StoreSchema) { self.schema = schema }

  /// The numbers after a stage.
  func after(_ plan: PlannedMigration, _ stage: StoreMigrationStep) -> RowEstimates {
    var result = RowEstimates(unknownIn: plan.schema)
    result.areExact = areExact && stage.handler == nil && stage.preparation == nil
    // A mapping model makes the newer rows: nothing follows from the older ones.
    guard stage.infersRows else { return result }
    for number in plan.map.held {
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

  /// All objects and links whose number is known.
  var known: Int { objects.values.reduce(0, +) + links.values.reduce(0, +) }

  /// The rows of a table; nil where their number is not known.
  ///
  /// - Parameter name: The table's quoted name.
  func rows(inTable name: String) -> Int? {
    if let table = schema.tables.first(where: { $0.name == name }) { return objects(of: Array(table.root.subtree)) }
    return links.first { (try? Identifier.quoted($0.key)) == name }?.value
  }

  /// The objects of some entities; nil where their number is not known.
  func objects(of entities: [Int]) -> Int? {
    var sum = 0
    for entity in entities {
      guard let count = objects[entity] else { return nil }
      sum += count
    }
    return sum
  }
}

import ObjectModel
import SQLCipherConnection

/// The value coding, where the layouts differ.
enum SourceCoding {
  /// Dates since 2001. Binary values that may be external have a marker.
  case coreData
  /// Dates since 1970. Binary values are unchanged.
  case encryptedCoreData
}

/// The column of an attribute or to-one relationship. Names are quoted.
struct SourceColumn {
  let name: String
  let slot: CompiledSlot
}

/// The column that contains the order of an ordered relationship, in the table of the members.
struct SourceOrder {
  let name: String
  let relationship: CompiledRelationship
  /// The inverse to-one relationship, whose column contains the owner.
  let inverse: CompiledRelationship
}

/// The table of an inheritance tree. Names are quoted.
struct SourceTable {
  let root: CompiledEntity
  let name: String
  let key: String
  /// The column of the entity; nil if the tree has a single entity and no such column.
  let entityColumn: String?
  /// The model's entity numbers, by the value in the column.
  let entities: [Int64: Int]
  var columns: [SourceColumn]
  var orders: [SourceOrder]

  func entity(of value: Int64) -> Int? { entityColumn == nil ? root.number : entities[value] }
}

/// A join table, as seen from the relationship under whose number the target store keeps the links. Names are quoted.
struct SourceJoin {
  let relationship: CompiledRelationship
  let name: String
  let near: String
  let far: String
  /// The position of the near object among the members of the inverse, as an expression over the alias `j`.
  let nearOrder: String?
  /// The position of the far object among the members.
  let farOrder: String?
}

/// The mapping of a source's tables, columns and entity numbers to a model.
struct SourceLayout {
  let coding: SourceCoding
  let model: CompiledModel
  /// The tables, in the order of their root entity numbers.
  let tables: [SourceTable]
  let joins: [SourceJoin]
  let warnings: [String]
  /// The source's numbers of entities whose rows are skipped.
  let unknownEntities: Set<Int64>
  private let indexes: [Int]

  init(
    coding: SourceCoding, model: CompiledModel, tables: [SourceTable], joins: [SourceJoin], warnings: [String],
    unknownEntities: Set<Int64> = []
  ) {
    self.unknownEntities = unknownEntities
    self.coding = coding
    self.model = model
    self.tables = tables
    self.joins = joins
    self.warnings = warnings
    var indexes = [Int](repeating: -1, count: model.entities.count)
    for (index, table) in tables.enumerated() { for number in table.root.subtree { indexes[number] = index } }
    self.indexes = indexes
  }

  /// Returns the table of an entity; nil if the source does not contain it.
  func table(of entityNumber: Int) -> SourceTable? { indexes[entityNumber] < 0 ? nil : tables[indexes[entityNumber]] }

  /// Determines the layout, and compares all of it with the model.
  static func make(
    _ layout: CoreDataStore.Layout, schema: SourceSchema, connection: Connection, model: CompiledModel, entityNumbers: [Int],
    options: CoreDataImportOptions, versionIdentifiers: Set<String>
  ) throws -> SourceLayout {
    var findings = LayoutFindings(ignoresUnknown: options.ignoresUnknown)
    let result: SourceLayout
    switch layout {
    case .coreData:
      var builder = try AppleLayout(schema: schema, connection: connection, model: model, entityNumbers: entityNumbers)
      result = try builder.build(&findings)
    case .encryptedCoreData:
      var builder = EncryptedLayout(schema: schema, connection: connection, model: model, entityNumbers: entityNumbers)
      result = try builder.build(&findings)
    }
    try findings.check(path: connection.path, versionIdentifiers: versionIdentifiers)
    return SourceLayout(
      coding: result.coding, model: model, tables: result.tables, joins: result.joins, warnings: findings.warnings,
      unknownEntities: result.unknownEntities)
  }

  /// Returns the to-many relationships with join tables, each pair of inverses once.
  static func joined(in model: CompiledModel, entityNumbers: [Int]) -> [CompiledRelationship] {
    let held = Set(entityNumbers.map { model.entities[$0].root })
    return model.relationships.filter { relationship in
      guard relationship.isToMany, !relationship.isTransient, held.contains(model.entities[relationship.sourceEntity].root) else {
        return false
      }
      guard let inverse = model.inverse(of: relationship), !inverse.isTransient else { return true }
      return inverse.isToMany && relationship.id <= inverse.id
    }
  }

  /// Returns the ordered relationships whose order is in the table of a tree: those with members in the tree and a to-one inverse.
  static func ordered(in model: CompiledModel, membersBelow root: CompiledEntity) -> [(CompiledRelationship, inverse: CompiledRelationship)]
  {
    model.relationships.compactMap { relationship in
      guard relationship.isToMany, relationship.isOrdered, !relationship.isTransient, let inverse = model.inverse(of: relationship),
        !inverse.isToMany, !inverse.isTransient, root.subtree.contains(inverse.sourceEntity)
      else { return nil }
      return (relationship, inverse)
    }
  }

  /// Returns whether any row has a value in a column.
  static func hasValues(_ column: String, in table: String, where condition: String? = nil, _ connection: Connection) throws -> Bool {
    let extra = condition.map { " AND (\($0))" } ?? ""
    let statement = try connection.statement(
      sql: "SELECT 1 FROM \(try Identifier.quoted(table)) AS t WHERE t.\(try Identifier.quoted(column)) IS NOT NULL\(extra) LIMIT 1")
    defer { statement.reset() }
    return try statement.step()
  }
}

/// The differences between a source and the model, collected so that one error reports them all.
struct LayoutFindings {
  let ignoresUnknown: Bool
  private(set) var warnings: [String] = []
  private var missing: [String] = []
  private var unknown: [String] = []

  init(ignoresUnknown: Bool) { self.ignoresUnknown = ignoresUnknown }

  /// Adds a part of the model that the source does not have.
  mutating func addMissing(_ text: String) { missing.append(text) }
  /// Adds a part of the source that has contents and is not in the model.
  mutating func addUnknown(_ text: String) { unknown.append(text) }
  /// Adds a part that is skipped and harmless.
  mutating func addWarning(_ text: String) { warnings.append(text) }

  mutating func check(path: String, versionIdentifiers: Set<String>) throws {
    if ignoresUnknown {
      warnings += unknown.map { "\($0) is left behind" }
      unknown = []
    }
    let findings = missing + unknown
    guard !findings.isEmpty else { return }
    throw CoreDataImportError(.otherModel(versions: versionIdentifiers), path: path, findings: findings)
  }
}

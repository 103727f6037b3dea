// SourceLayout: which table, column and number of a source stand for what in the model.
import ObjectModel
import SQLCipherConnection

/// How the values of a layout are coded where the layouts differ.
enum SourceCoding {
  /// Dates since 2001; binary values with a mark where they may lie in files.
  case coreData
  /// Dates since 1970; binary values as they are.
  case encryptedCoreData
}

/// The column of an attribute or to-one relationship. Names are quoted.
struct SourceColumn {
  let name: String
  let slot: CompiledSlot
}

/// The column that orders the members of an ordered relationship in the members' table.
struct SourceOrder {
  let name: String
  /// The ordered relationship.
  let relationship: CompiledRelationship
  /// The to-one relationship back, whose column tells the owner.
  let inverse: CompiledRelationship
}

/// The table of an inheritance tree. Names are quoted.
struct SourceTable {
  let root: CompiledEntity
  let name: String
  let key: String
  /// The column of the entity; nil where the tree has one entity and no column.
  let entityColumn: String?
  /// The model's numbers by what stands in the column.
  let entities: [Int64: Int]
  var columns: [SourceColumn]
  var orders: [SourceOrder]

  /// The entity of a row.
  func entity(of value: Int64) -> Int? { entityColumn == nil ? root.number : entities[value] }
}

/// A table of links, seen from the relationship under whose number the destination keeps them. Names are quoted.
struct SourceJoin {
  let relationship: CompiledRelationship
  let name: String
  let near: String
  let far: String
  /// The place of the near object among the members of the inverse: an expression over the alias `j`.
  let nearOrder: String?
  /// The place of the far object among the members.
  let farOrder: String?
}

/// The layout of a source under a model.
struct SourceLayout {
  let coding: SourceCoding
  let model: CompiledModel
  /// The tables, in the order of their roots' numbers.
  let tables: [SourceTable]
  let joins: [SourceJoin]
  let warnings: [String]
  /// The source's numbers of entities whose rows are left behind.
  let strangers: Set<Int64>
  private let indexes: [Int]

  init(
    coding: SourceCoding, model: CompiledModel, tables: [SourceTable], joins: [SourceJoin], warnings: [String],
    strangers: Set<Int64> = []
  ) {
    self.strangers = strangers
    self.coding = coding
    self.model = model
    self.tables = tables
    self.joins = joins
    self.warnings = warnings
    var indexes = [Int](repeating: -1, count: model.entities.count)
    for (index, table) in tables.enumerated() { for number in table.root.subtree { indexes[number] = index } }
    self.indexes = indexes
  }

  /// The table of an entity; nil where the source does not hold it.
  func table(of entityNumber: Int) -> SourceTable? { indexes[entityNumber] < 0 ? nil : tables[indexes[entityNumber]] }

  /// Finds the layout, and compares all of it with the model.
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
      strangers: result.strangers)
  }

  /// The to-many relationships that are kept in tables of their own, each pair of inverses once.
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

  /// The ordered relationships whose order stands in the table of a tree: those whose members it holds, and whose inverse is to-one.
  static func ordered(in model: CompiledModel, membersBelow root: CompiledEntity) -> [(CompiledRelationship, inverse: CompiledRelationship)]
  {
    model.relationships.compactMap { relationship in
      guard relationship.isToMany, relationship.isOrdered, !relationship.isTransient, let inverse = model.inverse(of: relationship),
        !inverse.isToMany, !inverse.isTransient, root.subtree.contains(inverse.sourceEntity)
      else { return nil }
      return (relationship, inverse)
    }
  }

  /// Whether rows have a value in a column.
  static func hasValues(_ column: String, in table: String, where condition: String? = nil, _ connection: Connection) throws -> Bool {
    let extra = condition.map { " AND (\($0))" } ?? ""
    let statement = try connection.statement(
      sql: "SELECT 1 FROM \(try Identifier.quoted(table)) AS t WHERE t.\(try Identifier.quoted(column)) IS NOT NULL\(extra) LIMIT 1")
    defer { statement.reset() }
    return try statement.step()
  }
}

/// What differs between a source and the model, collected so that all of it is said at once.
struct LayoutFindings {
  let ignoresUnknown: Bool
  private(set) var warnings: [String] = []
  private var missing: [String] = []
  private var unknown: [String] = []

  init(ignoresUnknown: Bool) { self.ignoresUnknown = ignoresUnknown }

  /// The model has something that the source has not.
  mutating func addMissing(_ text: String) { missing.append(text) }
  /// The source has something with contents that the model does not know.
  mutating func addUnknown(_ text: String) { unknown.append(text) }
  /// Something that is left behind and does no harm.
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

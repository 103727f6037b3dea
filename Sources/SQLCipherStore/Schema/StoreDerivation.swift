// StoreDerivation: a derived attribute in SQL: its value, and which rows it depends on.
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection

/// A derived attribute of a store.
///
/// Its path leads from the attribute's own table, position 0, over one table for each relationship. Triggers note which rows at which position were
/// changed; from there `owners` lead back, so that the values of few rows are computed anew, once, when everything else is written.
struct StoreDerivation: Sendable {
  let derivation: CompiledDerivation
  /// Its position among the store's derivations: the order in which they are computed.
  let number: Int
  /// What the triggers call it by. A changed text means other values: they hold what the text says, by this version of folding.
  let identity: String
  let table: EntityTable
  let column: TableColumn
  /// The relationships of the path with where they are kept; nil where the store does not hold all of it: nothing is found there then.
  let steps: [Step]?
  /// Which members of the to-many relationship are taken; nil for all.
  let filter: DerivationFilter?

  /// A relationship of the path.
  struct Step: Sendable {
    let storage: RelationshipStorage
    let source: EntityTable
    let destination: EntityTable
  }

  /// The number of positions that rows can be noted at.
  var positionCount: Int { (steps?.count ?? 0) + 1 }

  /// The condition that a row of the table has the attribute, if one is needed.
  func entityCondition(_ model: CompiledModel, alias: String) -> String? {
    table.entityCondition(derivation.entity, includesSubentities: true, model: model, alias: alias)
  }

  // MARK: The value

  /// The value for a row, by its alias or the table's name. Not for `now()`.
  func value(of row: String, in schema: StoreSchema) throws -> String {
    guard let steps else { return Self.literal(derivation.emptyValue) }
    let end = steps.isEmpty ? row : "d\(steps.count)"
    let source = sourceColumn.map { "\(end).\($0.name)" }
    let path = path(from: row, steps) + (try filterCondition(schema) ?? "")
    guard let function = derivation.statistic else {
      let value = fitted(changed(source ?? "NULL"))
      return steps.isEmpty ? value : "(SELECT \(value) FROM \(path))"
    }
    guard let source else { return fitted("(SELECT count(*) FROM \(path))") }
    let type = ResolvedType(derivation.source?.attributeType ?? .undefined)
    let aggregate = SQLFunctions.aggregate(function, SQLFragment(source), type, isColumn: true).text
    let value = "(SELECT \(aggregate) FROM \(path))"
    let empty = function.emptyResult(of: type)
    return fitted(empty.isNull ? value : "ifnull(\(value), \(Self.literal(empty)))")
  }

  /// The column at the end of the path.
  var sourceColumn: TableColumn? {
    guard let source = derivation.source, let steps else { return nil }
    guard let last = derivation.steps.last, let table = steps.last?.destination else {
      return table.column(entity: derivation.entity, slot: source.index)
    }
    return table.column(entity: last.destinationEntity, slot: source.index)
  }

  /// What is asked of the members, behind the conditions of the path. Its constants are the model's.
  private func filterCondition(_ schema: StoreSchema) throws -> String? {
    guard let filter, let step = derivation.filteredStep, let table = steps?[step].destination else { return nil }
    let scope = QueryScope(table: table, alias: "d\(step + 1)", of: filter.entity)
    let condition = try QueryGenerator(schema: schema, constants: .literals(filter.constants)).condition(filter.predicate, [scope])
    return " AND (\(condition.text))"
  }

  /// The columns that the filter asks for, and the position of their table.
  var filterColumns: (position: Int, columns: [TableColumn])? {
    guard let filter, let step = derivation.filteredStep, let table = steps?[step].destination else { return nil }
    return (step + 1, filter.slots.compactMap { table.column(entity: $0.declaringEntity, slot: $0.index) })
  }

  private func changed(_ value: String) -> String {
    switch derivation.operation {
    case .canonical: "\(SQLFunctions.fold)(\(value), \(Int((ComparisonOptions.caseInsensitive.union(.diacriticInsensitive)).rawValue)))"
    case .uppercase: SQLFunctions.applyCall(.uppercase, .text) + value + ")"
    case .lowercase: SQLFunctions.applyCall(.lowercase, .text) + value + ")"
    default: value
    }
  }

  private func fitted(_ value: String) -> String {
    derivation.fitsAlways ? value : "\(SQLFunctions.fit)(\(value), \(AttributeType.allCases.firstIndex(of: derivation.type) ?? 0))"
  }

  /// The tables of the path, joined in its order; the last one is `d` and the number of steps.
  private func path(from row: String, _ steps: [Step]) -> String {
    var tables: [String] = []
    var conditions: [String] = []
    var (near, nearTable) = (row, table)
    for (index, step) in steps.enumerated() {
      let alias = "d\(index + 1)"
      let far = step.destination
      switch step.storage {
      case .column(_, let column):
        tables.append("\(far.name) AS \(alias)")
        conditions.append("\(alias).\(far.key) = \(near).\(column.name)")
      case .inverse(let side):
        tables.append("\(far.name) AS \(alias)")
        conditions.append("\(alias).\(side.column.name) = \(near).\(nearTable.key)")
      case .join(let side):
        let link = "j\(index + 1)"
        tables.append(side.source(link))
        conditions.append("\(side.nearKey(link)) = \(near).\(nearTable.key)")
        tables.append("\(far.name) AS \(alias)")
        conditions.append("\(alias).\(far.key) = \(side.farKey(link))")
      case .none: conditions.append("0")
      }
      (near, nearTable) = (alias, far)
    }
    return tables.joined(separator: " CROSS JOIN ") + " WHERE " + conditions.joined(separator: " AND ")
  }

  /// A value in SQL.
  static func literal(_ value: Slot) -> String {
    switch value {
    case .null: "NULL"
    case .int(let number): String(number)
    case .real(let number): String(number)
    case .text(let text): "'" + text.replacing("'", with: "''") + "'"
    case .bytes(let data):
      "X'" + data.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "'"
    }
  }

  // MARK: The way back

  /// Selects the rows of the attribute's table whose paths lead over rows at a position.
  ///
  /// - Parameters:
  ///   - position: From 1.
  ///   - keys: `= ?` or `IN (?, ...)`.
  func owners(of position: Int, _ keys: String) -> String {
    guard let steps, position <= steps.count else { return "SELECT 1 WHERE 0" }
    var statement = ""
    for step in steps[..<position].reversed() {
      let found = statement.isEmpty ? keys : "IN (\(statement))"
      switch step.storage {
      case .column(_, let column):
        statement = "SELECT o.\(step.source.key) FROM \(step.source.name) AS o WHERE o.\(column.name) \(found)"
      case .inverse(let side):
        let table = step.destination
        statement =
          "SELECT o.\(side.column.name) FROM \(table.name) AS o WHERE o.\(table.key) \(found) AND o.\(side.column.name) IS NOT NULL"
      case .join(let side): statement = side.owners(ofMembers: found)
      case .none: return "SELECT 1 WHERE 0"
      }
    }
    return statement
  }
}

extension StoreDerivation {
  /// The derivations of a store, in the order in which they are computed.
  static func derivations(
    model: CompiledModel, relationships: [RelationshipStorage], table: (Int) -> EntityTable?
  ) throws -> [StoreDerivation] {
    var result: [StoreDerivation] = []
    for derivation in model.derivations {
      guard let own = table(derivation.entity), let column = own.column(entity: derivation.entity, slot: derivation.slot.index) else {
        continue
      }
      var steps: [Step]? = []
      for relationship in derivation.steps {
        if case .none = relationships[relationship.id] { steps = nil }
        guard let source = table(relationship.sourceEntity), let destination = table(relationship.destinationEntity) else {
          steps = nil
          break
        }
        steps?.append(Step(storage: relationships[relationship.id], source: source, destination: destination))
      }
      let changesText = derivation.operation.isText || derivation.source?.isDerived ?? false
      let filter = try DerivationFilter(of: derivation, in: model)
      let basis = (changesText ? [TextFolding.version] : []) + (filter?.basis ?? [])
      result.append(
        StoreDerivation(
          derivation: derivation, number: result.count,
          identity: derivation.identity + (basis.isEmpty ? "" : " (\(basis.joined(separator: "; ")))"), table: own, column: column,
          steps: steps, filter: filter))
    }
    return result
  }
}

import ObjectModel
import ObjectQuery
import ObjectStore

extension StoreDerivation {
  // MARK: The value

  /// Returns the value for a row, given its alias or the table's name. Not for `now()`.
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
    let type = derivation.source?.attributeType?.traits.resolvedType ?? .opaque
    let aggregate = SQLFunctions.aggregate(function, SQLFragment(source), type, isColumn: true).text
    let value = "(SELECT \(aggregate) FROM \(path))"
    let empty = function.emptyResult(of: type)
    return fitted(empty.isNull || SQLFunctions.returnsEmptyResult(function, type) ? value : "ifnull(\(value), \(Self.literal(empty)))")
  }

  /// Returns the filter on members, to append to the conditions of the path. Its constants come from the model.
  private func filterCondition(_ schema: StoreSchema) throws -> String? {
    guard let filter, let step = derivation.filteredStep, let table = steps?[step].destination else { return nil }
    let scope = QueryScope(table: table, alias: "d\(step + 1)", of: filter.entity)
    let condition = try QueryGenerator(schema: schema, constants: .literals(filter.constants)).condition(filter.predicate, [scope])
    return " AND (\(condition.text))"
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
    derivation.alwaysFits ? value : "\(SQLFunctions.fit)(\(value), \(AttributeType.allCases.firstIndex(of: derivation.type) ?? 0))"
  }

  /// Returns the joined tables of the path in order. The alias of the last one is `d` followed by the number of steps.
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

  /// Returns the body of a trigger: the call of the function that marks affected values.
  ///
  /// - Parameters:
  ///   - identity: The attribute's identity as a literal.
  ///   - position: The position in its path.
  ///   - key: The expression of a key.
  static func call(_ identity: String, _ position: Int, _ key: String) -> String {
    "SELECT \(SQLFunctions.derive)(\(identity), \(position), \(key));"
  }

  // MARK: Affected owners

  /// Selects the rows of the attribute's table whose paths contain rows at a position.
  ///
  /// - Parameters:
  ///   - position: The position; at least 1.
  ///   - keys: `= ?` or `IN (?, ...)`.
  func owners(of position: Int, _ keys: String) -> String {
    guard let steps, position <= steps.count else { return "SELECT 1 WHERE 0" }
    var statement = ""
    for step in steps[..<position].reversed() {
      let found = statement.isEmpty ? keys : "IN (\(statement))"
      switch step.storage {
      case .column(_, let column):
        statement = step.source.owners(by: column, of: found)
      case .inverse(let side):
        statement = step.destination.destinations(by: side.column, of: found)
      case .join(let side): statement = side.owners(ofMembers: found)
      case .none: return "SELECT 1 WHERE 0"
      }
    }
    return statement
  }
}

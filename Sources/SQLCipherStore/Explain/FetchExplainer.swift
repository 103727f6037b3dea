import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection

/// Explains the plan of a fetch in terms of the model, and which index would help.
struct FetchExplainer {
  let schema: StoreSchema
  let fetch: ResolvedFetch
  let specification: FetchSpecification
  let plan: SelectPlan
  /// The counts that determined the choice of the plan.
  let probes: [SelectivityProbe]
  private let indexes: [StoreIndex]
  private let compared: ComparedProperties

  init(schema: StoreSchema, fetch: ResolvedFetch, specification: FetchSpecification, plan: SelectPlan, probes: [SelectivityProbe]) throws {
    self.schema = schema
    self.fetch = fetch
    self.specification = specification
    self.plan = plan
    self.probes = probes
    indexes = try SchemaGenerator(schema: schema).indexes()
    compared = ComparedProperties(of: fetch.predicate)
  }

  func explain(_ transaction: ReadTransaction) throws -> FetchExplanation.StorePart {
    var statements: [FetchExplanation.Statement] = []
    for probe in probes {
      statements.append(
        .init(
          purpose: "count what the fetch could begin with, up to a bound", text: Self.numbered(probe.sql.text),
          parameters: probe.sql.binders.map(parameter)))
    }
    let lines = try transaction.queryPlan(of: plan.sql)
    var warnings: [FetchExplanation.Warning] = []
    let steps = lines.map { step($0, isInner: false, &warnings) }
    statements.append(.init(purpose: purpose, text: Self.numbered(plan.sql), parameters: plan.binders.map(parameter), plan: steps))
    switch plan.output {
    case .topRows:
      statements.append(
        .init(
          purpose: "read the first rows, up to \(KeyListSize.maximum.rawValue) at a time", text: plan.table.explainedRows,
          parameters: ["key"]))
      if let warning = sortWarning { warnings.append(warning) }
    case .rows(let order) where !order.isEmpty:
      if let warning = sortWarning { warnings.append(warning) }
    case .rows, .identifiers, .count, .dictionaries: break
    }
    return FetchExplanation.StorePart(method: .sql, statements: statements, warnings: warnings)
  }

  private var purpose: String {
    switch plan.output {
    case .rows: "read the rows"
    case .topRows: "find the first of the order among all that match"
    case .identifiers: "read the keys"
    case .count: "count"
    case .dictionaries: "read the properties"
    }
  }

  // MARK: Steps

  private func step(
    _ line: QueryPlanLine, isInner: Bool, _ warnings: inout [FetchExplanation.Warning]
  ) -> FetchExplanation.Step {
    let facts = QueryPlanFacts(line.detail)
    var step = FetchExplanation.Step(detail: line.detail, access: facts.access)
    let table = facts.source.flatMap(self.table)
    step.entityName = table.map { $0 === plan.table && !isInner ? fetch.entity.name : $0.root.name }
    step.index =
      facts.isVirtual
      ? facts.source.flatMap(schema.fullText.meaning) : facts.using.flatMap { index($0, table: table, source: facts.source) }
    switch facts.access {
    case .scan, .indexScan:
      if let warning = scanWarning(step, table, facts.source, isInner: isInner) { record(warning, &warnings) }
    case .sort: if let warning = line.detail.hasSuffix("ORDER BY") ? sortWarning : groupWarning(line.detail) { record(warning, &warnings) }
    case .search:
      if step.index?.origin == .automatic, let table {
        record(
          .init(
            .automaticIndex, entityName: table.root.name, properties: unindexed(in: table),
            message: "an index over \(table.root.name) is made for this fetch only" + advice(unindexed(in: table))), &warnings)
      }
    case .other: break
    }
    step.children = line.children.map { self.step($0, isInner: true, &warnings) }
    return step
  }

  private func record(_ warning: FetchExplanation.Warning, _ warnings: inout [FetchExplanation.Warning]) {
    if !warnings.contains(warning) { warnings.append(warning) }
  }

  /// Returns the table with an alias. Generated statements contain `"Table" AS alias`.
  private func table(_ source: String) -> EntityTable? {
    guard let range = plan.sql.range(of: "\" AS \(source)") else { return nil }
    let next = plan.sql[range.upperBound...].first
    guard next == nil || next == " " || next == ")" || next == "," else { return nil }
    let head = plan.sql[...range.lowerBound]
    return schema.tables.filter { head.hasSuffix(" " + $0.name) }.max { $0.name.count < $1.name.count }
  }

  private func index(_ using: String, table: EntityTable?, source: String?) -> FetchExplanation.Index? {
    if using.contains("PRIMARY KEY") {
      if let table { return .init(origin: .key, entityName: table.root.name) }
      return source.flatMap(joinedRelationship)
    }
    if using.hasPrefix("AUTOMATIC") { return .init(origin: .automatic, entityName: table?.root.name ?? "") }
    guard let range = using.range(of: "INDEX ") else { return nil }
    let name = using[range.upperBound...]
    let known = indexes.filter { name.hasPrefix($0.name) }.max { $0.name.count < $1.name.count }
    return known?.meaning ?? source.flatMap(joinedRelationship)
  }

  private func joinedRelationship(_ source: String) -> FetchExplanation.Index? {
    let join = schema.joins.first { $0.isRead(by: plan.sql, as: source) }.map { schema.layout.joinTables[$0.tableIndex] }
    return join.map { .init(origin: .relationship, entityName: $0.entity, name: $0.property) }
  }

  // MARK: Warnings

  private func scanWarning(
    _ step: FetchExplanation.Step, _ table: EntityTable?, _ source: String?, isInner: Bool
  ) -> FetchExplanation.Warning? {
    guard let table else {
      guard let join = source.flatMap(joinedRelationship) else { return nil }
      return .init(
        .scan, entityName: join.entityName, properties: [join.name],
        message: "all of the relationship \(join.entityName).\(join.name) is read")
    }
    // A fetch without a predicate has to read all rows.
    if fetch.predicate == .constant(true), !isInner { return nil }
    let name = step.entityName ?? table.root.name
    let missing = unindexed(in: table)
    let searched = compared.searched(in: table, schema)
    let reads =
      step.access == .scan
      ? "the table of \(name) is scanned" : "every \(name) is read, in the order of \(step.index?.description ?? "an index")"
    let why =
      !missing.isEmpty || !searched.isEmpty
      ? advice(missing) + (searched.isEmpty ? "" : ": no full-text index is over \(searched.joined(separator: " or "))")
      : compared.names(in: table, schema).isEmpty
        ? ": no part of the condition can use an index" : ": its indexes do not help this condition"
    return .init(.scan, entityName: name, properties: missing + searched, message: reads + why)
  }

  private func advice(_ properties: [String]) -> String {
    properties.isEmpty ? "" : ": no index begins with \(properties.joined(separator: " or "))"
  }

  /// Returns the properties of a table that are compared in a way that an index could answer, but with which no index starts.
  private func unindexed(in table: EntityTable) -> [String] {
    let first = Set(
      indexes.filter { schema.model.entity(named: $0.meaning.entityName)?.root == table.root.number }.compactMap(\.meaning.properties.first)
    )
    return compared.names(in: table, schema).filter { !first.contains($0) }
  }

  /// The warning that the results are sorted although an index could have their order, or `nil` if an index has it but another plan was
  /// better.
  private var sortWarning: FetchExplanation.Warning? {
    guard let key = fetch.sortKeys.first else { return nil }
    if case .function(.relevance, _, _) = key.expression {
      return .init(.sort, entityName: fetch.entity.name, message: "the results are sorted: the relevance of each that is found is computed")
    }
    guard case .path(let path) = key.expression, path.steps.isEmpty, case .attribute(let attribute) = path.terminal else {
      return .init(.sort, entityName: fetch.entity.name, message: "the results are sorted: an index has only an entity's own properties")
    }
    let name = attribute.slot.name
    if key.order == .binary {
      guard unindexedFirst(name) else { return nil }
      return .init(
        .sort, entityName: fetch.entity.name, properties: [name], message: "the results are sorted: no index begins with \(name)")
    }
    return .init(
      .sort, entityName: fetch.entity.name, properties: [name],
      message: "the results are sorted: no index has the order \(key.order.comparison.rawValue) of \(name)")
  }

  private func unindexedFirst(_ name: String) -> Bool {
    !indexes.contains {
      $0.meaning.properties.first == name && schema.model.entity(named: $0.meaning.entityName)?.root == plan.table.root.number
    }
  }

  private func groupWarning(_ detail: String) -> FetchExplanation.Warning? {
    .init(
      .sort, entityName: fetch.entity.name,
      message: detail.hasSuffix("GROUP BY")
        ? "the rows are sorted into their groups: no index has their order" : "equal rows are found by sorting: no index has their order")
  }

  // MARK: Parameters

  private func parameter(_ binder: SQLBinder) -> String {
    switch binder {
    case .constant(let number): typeName(of: fetch.constants[number])
    case .listMember(let number, _): "one of a list, " + typeName(of: fetch.constants[number])
    case .list(let number): "all of a list, " + typeName(of: fetch.constants[number])
    case .prefixEnd: "end of the texts with this prefix"
    case .packedConstants: "all values, in one"
    case .limit: "limit"
    case .offset: "offset"
    case .probe: "bound"
    }
  }

  private func typeName(of constant: ResolvedConstant) -> String {
    switch constant {
    case .slot(let slot): Self.typeName(of: slot)
    case .slots(let slots): slots.first.map(Self.typeName) ?? "nothing"
    case .object, .objects: "object"
    }
  }

  private static func typeName(of slot: Slot) -> String {
    switch slot {
    case .null: "nil"
    case .int: "integer"
    case .real: "floating-point number"
    case .text: "text"
    case .bytes: "bytes"
    }
  }

  private static func numbered(_ sql: String) -> String {
    var result = ""
    var number = 0
    var quote: Character?
    for (character, next) in zip(sql, Array(sql.dropFirst()) + [" "]) {
      if let open = quote {
        if character == open { quote = nil }
      } else if character == "\"" || character == "'" {
        quote = character
      }
      result.append(character)
      guard character == "?", quote == nil else { continue }
      // The placeholder of packed constants already has its number, 1.
      if next.isNumber {
        number = max(number, 1)
      } else {
        number += 1
        result += String(number)
      }
    }
    return result
  }
}

extension StoreEngine {
  func explain(_ specification: FetchSpecification, in scope: RequestScope) throws -> FetchExplanation.StorePart {
    let fetch = try FetchResolver(model: schema.model).resolve(specification)
    let plan = try plan(fetch, specification, FetchShape(fetch, specification: specification))
    return try read { transaction in
      let chosen = try chosen(plan, fetch, specification, scope.objectIDSpace, isTraced: false, transaction)
      return try FetchExplainer(
        schema: schema, fetch: fetch, specification: specification, plan: chosen, probes: plan.choice?.probes ?? []
      ).explain(transaction)
    }
  }
}

/// The properties that a predicate compares in a way that an index could answer, without duplicates, in order.
struct ComparedProperties {
  private var found: [(entity: Int, name: String)] = []
  private var searched: [CompiledSlot] = []

  init(of predicate: ResolvedPredicate) { visit(predicate) }

  /// Returns the compared properties of a table's entities.
  func names(in table: EntityTable, _ schema: StoreSchema) -> [String] {
    found.filter { schema.model.entities[$0.entity].root == table.root.number }.map(\.name)
  }

  /// Returns the searched attributes of a table's entities that are not in a full-text index.
  func searched(in table: EntityTable, _ schema: StoreSchema) -> [String] {
    searched.filter { schema.model.entities[$0.declaringEntity].root == table.root.number && !schema.fullText.contain($0) }.map(\.name)
  }

  private mutating func visit(_ predicate: ResolvedPredicate) {
    switch predicate {
    case .constant, .block: break
    case .and(let items), .or(let items): for item in items { visit(item) }
    case .isNull(let expression, let isNegated): if !isNegated { record(expression) }
    case .exists(let exists): visit(exists.condition)
    case .comparison(let comparison):
      guard !comparison.isNegated, !comparison.options.contains(.localeSensitive) else { return }
      if comparison.op == .search, case .path(let path) = comparison.left, case .attribute(let attribute) = path.terminal,
        !searched.contains(where: { $0.index == attribute.slot.index && $0.declaringEntity == attribute.slot.declaringEntity })
      {
        searched.append(attribute.slot)
      }
      if comparison.op.isAnsweredByIndex { record(comparison.left, comparison.options.foldingMark) }
    }
  }

  private mutating func record(_ expression: ResolvedExpression, _ mark: String = "") {
    guard case .path(let path) = expression else { return }
    switch path.terminal {
    case .attribute(let attribute): add(attribute.slot.declaringEntity, attribute.slot.name + mark)
    case .object: if let last = path.steps.last?.relationship { add(last.sourceEntity, last.name) }
    case .entity: break
    }
  }

  private mutating func add(_ entity: Int, _ name: String) {
    if !found.contains(where: { $0.entity == entity && $0.name == name }) { found.append((entity, name)) }
  }
}

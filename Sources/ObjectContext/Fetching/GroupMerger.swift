import ObjectModel
import ObjectQuery
import ObjectStore

/// The sum of a store overflowed 64 bits. The individual values have to be fetched instead.
struct SumOverflow: Error {}

/// Merges the groups of several stores: groups with equal keys become one. Groups by object are never merged across stores, because an
/// object belongs to one store.
struct GroupMerger {
  private let query: GroupQuery
  private var groups: [Group] = []
  private var numbers: [[Slot]: Int] = [:]

  private struct Group {
    let space: UInt32
    /// The values that order groups with equal sort keys.
    let tie: [Slot]
    let constants: [ResolvedConstant]
    var statistics: [Statistic]
    /// The distinct values seen by each distinct aggregate.
    var seen: [Set<[Slot]>]
  }

  private struct Row {
    let space: UInt32
    let values: [Slot]
    let order: [Slot]
    let tie: [Slot]
  }

  init(_ query: GroupQuery) { self.query = query }

  // MARK: Input

  /// Adds the answer of a store.
  ///
  /// - Throws: ``SumOverflow``.
  mutating func add(_ answer: DictionaryRows, space: UInt32) throws {
    for row in answer.rows {
      let key = query.keyColumns.flatMap { identity(row[$0], answer.columns[$0], space) }
      let number = numbers[key] ?? addGroup(key, row, answer, space)
      guard case .int(let count) = row[query.countColumn] else { continue }
      for (index, partial) in query.partials.enumerated() {
        try take(row, partial, at: index, of: number, count: count, answer, space)
      }
    }
  }

  /// The key that identifies a value. For an object, it includes the store's ID space.
  private func identity(_ value: Slot, _ column: DictionaryRows.Column, _ space: UInt32) -> [Slot] {
    guard case .object = column.content, !value.isNull else { return [value, .null] }
    return [value, .int(Int64(space))]
  }

  private mutating func addGroup(_ key: [Slot], _ row: [Slot], _ answer: DictionaryRows, _ space: UInt32) -> Int {
    let constants = query.carried.map { column -> ResolvedConstant in
      guard case .object = answer.columns[column].content, case .int(let word) = row[column] else { return .slot(row[column]) }
      let reference = ObjectReference(rawValue: word)
      return .object(ManagedObjectID(space: space, entityNumber: UInt32(reference.entity), key: reference.key))
    }
    let tie = query.keyColumns.map { column -> Slot in
      guard case .object = answer.columns[column].content, case .int(let word) = row[column] else { return row[column] }
      return .int(ObjectReference(rawValue: word).key)
    }
    return addGroup(key, space: space, tie: tie, constants: constants)
  }

  private mutating func addGroup(_ key: [Slot], space: UInt32, tie: [Slot], constants: [ResolvedConstant]) -> Int {
    let aggregates = query.projection.aggregates
    groups.append(
      Group(
        space: space, tie: tie, constants: constants, statistics: aggregates.map { Statistic($0.function) },
        seen: aggregates.map { _ in [] }))
    numbers[key] = groups.count - 1
    return groups.count - 1
  }

  private mutating func take(
    _ row: [Slot], _ partial: PartialAggregate, at index: Int, of group: Int, count: Int64, _ answer: DictionaryRows, _ space: UInt32
  ) throws {
    switch partial {
    case .count(let column):
      if case .int(let number) = row[column] { groups[group].statistics[index].add(sum: 0, ofValues: number) }
    case .sum(let column, let countColumn):
      guard case .int(let number) = row[countColumn], number > 0 else { return }
      guard case .int(let sum) = row[column] else { throw SumOverflow() }
      groups[group].statistics[index].add(sum: sum, ofValues: number)
    case .extreme(let column): groups[group].statistics[index].add(row[column])
    case .values(let column): take(row[column], identity(row[column], answer.columns[column], space), at: index, of: group, count: count)
    case .same(let value): take(value, [value], at: index, of: group, count: count)
    }
  }

  /// Adds a value that `count` objects have.
  private mutating func take(_ value: Slot, _ identity: [Slot], at index: Int, of group: Int, count: Int64) {
    if SlotComparison.isMissing(value) { return }
    if query.projection.aggregates[index].isDistinct {
      if count > 0, groups[group].seen[index].insert(identity).inserted { groups[group].statistics[index].add(value) }
    } else {
      for _ in 0..<count { groups[group].statistics[index].add(value) }
    }
  }

  // MARK: Output

  /// Returns the rows of the groups that match the having predicate, in order.
  mutating func rows() throws -> [DictionaryResults.Row] {
    let projection = query.projection
    // Without group keys, all objects form one group, even if there are no objects.
    if projection.groupKeys.isEmpty, groups.isEmpty {
      _ = addGroup([], space: 0, tie: [], constants: query.carried.map { _ in .slot(.null) })
    }
    var rows: [Row] = []
    for group in groups {
      if let row = try row(of: group) { rows.append(row) }
    }
    if projection.isDistinct {
      let hasObjects = projection.columns.contains { $0.content == .object }
      var seen: Set<[Slot]> = []
      rows = rows.filter { seen.insert($0.values + (hasObjects ? [.int(Int64($0.space))] : [])).inserted }
    }
    rows = rows.enumerated().sorted { left, right in
      for (index, key) in query.sortKeys.enumerated() {
        let order = SlotOrder.compare(left.element.order[index], right.element.order[index], by: key.order)
        if order != 0 { return key.isAscending ? order < 0 : order > 0 }
      }
      for (first, second) in zip(left.element.tie, right.element.tie) {
        let order = SlotOrder.compare(first, second)
        if order != 0 { return order < 0 }
      }
      return left.offset < right.offset
    }.map(\.element)
    return try rows.map { row in
      DictionaryResults.Row(space: row.space, values: try zip(projection.columns, row.values).map { try $0.converted($1) })
    }
  }

  private func row(of group: Group) throws -> Row? {
    let projection = query.projection
    let constants = query.constants + group.constants
    var evaluator = PredicateEvaluator(predicate: projection.having, constants: constants, resolver: ManagedObjectResolver())
    evaluator.groupValues = zip(projection.aggregates, group.statistics).map { $1.isEmpty ? $0.emptyResult : $1.result }
    guard try evaluator.matches(group: nil) else { return nil }
    func object(_ expression: ResolvedExpression) -> ManagedObjectID? {
      guard case .constant(let number, _) = expression, case .object(let id) = constants[number] else { return nil }
      return id
    }
    func present(_ value: Slot) -> Slot { SlotComparison.isMissing(value) ? .null : value }
    let values = try projection.columns.map { column in
      if let id = object(column.expression) { return Slot.int(id.reference.rawValue) }
      return present(try evaluator.value(of: column.expression, forGroup: nil))
    }
    let order = try query.sortKeys.map { key in
      if let id = object(key.expression) { return Slot.int(id.key) }
      return try evaluator.value(of: key.expression, forGroup: nil)
    }
    guard projection.isDistinct else { return Row(space: group.space, values: values, order: order, tie: group.tie) }
    let tie = zip(projection.columns, values).map { column, value in object(column.expression).map { .int($0.key) } ?? value }
    return Row(space: group.space, values: values, order: order, tie: tie)
  }
}

import Foundation
package import ObjectModel
package import ObjectQuery
import ObjectStore
import _TestSupport

/// Generates predicates of every construct of the language, mostly well typed, on the things of a ``RandomGraph``.
package struct RandomPredicates {
  /// A start of paths.
  private struct Source {
    /// A variable; nil for the evaluated object.
    var variable: String?
    var entity: CompiledEntity
  }
  /// The type of an expression.
  private enum Kind: CaseIterable {
    case integer, real, decimal, text, date, uuid, uri, binary, boolean
  }

  private let graph: RandomGraph
  private let model: CompiledModel
  private var random: SeededGenerator
  private var sources: [Source] = []
  private var variableCount = 0

  /// Creates a generator whose predicates contain objects of the graph.
  package init(seed: UInt64, graph: RandomGraph) {
    self.graph = graph
    model = graph.model
    random = SeededGenerator(seed: seed)
  }

  /// Returns the next predicate on objects of an entity.
  package mutating func next(_ entity: CompiledEntity) -> FetchPredicate {
    sources = [Source(variable: nil, entity: entity)]
    variableCount = 0
    return predicate(pick([0, 0, 1, 1, 2, 3]) ?? 0)
  }

  // MARK: Randomness

  private mutating func chance(_ of: Int) -> Bool { Int.random(in: 0..<of, using: &random) == 0 }
  private mutating func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }
  private mutating func pick<Element>(_ elements: [Element]) -> Element? { elements.randomElement(using: &random) }
  private mutating func source() -> Source { pick(sources) ?? sources[0] }

  // MARK: Conditions

  private mutating func predicate(_ depth: Int) -> FetchPredicate {
    guard depth > 0, !chance(4) else { return comparison(depth) }
    switch number(0..<8) {
    case 7: return equalities(depth)
    case 0, 1: return .and(predicates(depth - 1))
    case 2, 3: return .or(predicates(depth - 1))
    case 4, 5: return .not(predicate(depth - 1))
    default: return comparison(depth)
    }
  }

  /// One value compared with several, combined with another condition.
  private mutating func equalities(_ depth: Int) -> FetchPredicate {
    let (kind, isConjunction) = (kind(), chance(2))
    let value = leaf(kind)
    var items = [predicate(depth - 1)]
    for _ in 0..<4 { items.append(compare(value, isConjunction ? .notEqual : .equal, .constant(chance(9) ? .null : constant(kind)))) }
    return isConjunction ? .and(items) : .or(items)
  }

  private mutating func predicates(_ depth: Int) -> [FetchPredicate] {
    var items: [FetchPredicate] = []
    for _ in 0..<number(2..<4) { items.append(predicate(depth)) }
    return items
  }

  private mutating func comparison(_ depth: Int) -> FetchPredicate {
    switch number(0..<22) {
    case 0...6: return ordered(depth)
    case 7...9: return textual(depth)
    case 10: return list(depth)
    case 11: return range(depth)
    case 12: return nilTest(depth)
    case 13...15: return quantified(depth)
    case 16: return objects()
    case 17, 18: return counted(depth)
    case 19: return membership(depth)
    case 20: return entityTest()
    default: return chance(20) ? .constant(chance(2)) : ordered(depth)
    }
  }

  private func compare(
    _ left: FetchExpression, _ op: ComparisonOperator, _ right: FetchExpression, _ modifier: ComparisonModifier = .direct,
    _ options: ComparisonOptions = []
  ) -> FetchPredicate { .comparison(FetchComparison(left: left, op: op, right: right, modifier: modifier, options: options)) }

  private mutating func order() -> ComparisonOperator {
    pick([.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual]) ?? .equal
  }

  private mutating func options() -> ComparisonOptions {
    pick([[], [], [], .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive], .normalized, .localeSensitive])
      ?? []
  }

  private mutating func kind() -> Kind { pick(Kind.allCases + [.integer, .text, .decimal, .real]) ?? .integer }

  /// A type that can be compared with another.
  private mutating func partner(of kind: Kind) -> Kind {
    let numbers: [Kind] = [.integer, .real, .decimal, .boolean]
    if numbers.contains(kind) { return chance(2) ? kind : pick(numbers) ?? kind }
    if kind == .text || kind == .uri { return chance(3) ? .uri : .text }
    return kind
  }

  private mutating func ordered(_ depth: Int) -> FetchPredicate {
    let kind = kind()
    let (left, right) = (value(kind, depth), value(partner(of: kind), depth))
    return chance(6) ? compare(right, order(), left) : compare(left, order(), right, .direct, kind == .text ? options() : [])
  }

  private mutating func textual(_ depth: Int) -> FetchPredicate {
    let op: ComparisonOperator = pick([.contains, .beginsWith, .endsWith, .like, .matches, .beginsWith, .search]) ?? .contains
    let left = value(chance(5) ? .uri : .text, depth)
    // Values of objects can be hostile patterns; constants are harmless.
    let right = op == .matches ? FetchExpression.constant(.string(pattern())) : value(.text, chance(3) ? depth : 0)
    return compare(left, op, op == .like && chance(2) ? .constant(.string(pattern())) : right, .direct, options())
  }

  private mutating func pattern() -> String {
    pick(["", "*", "?", "a*", "*B", "?b*", "A.*", "[ab]+", ".*", "(a|é)b?", "\\*", "100%", "\\d+", "日?", "*e*", "SS"]) ?? ""
  }

  private mutating func list(_ depth: Int) -> FetchPredicate {
    let kind = kind()
    var items: [FetchExpression] = []
    let count = chance(30) ? number(250..<1_200) : number(0..<5)
    for _ in 0..<count {
      items.append(chance(12) && count < 10 ? .constant(.null) : chance(5) && count < 10 ? value(kind, 0) : .constant(constant(kind)))
    }
    return compare(value(kind, depth), .in, aggregate(items), .direct, kind == .text ? options() : [])
  }

  /// A list in the parser's form: one constant if all members are constants.
  private func aggregate(_ items: [FetchExpression]) -> FetchExpression {
    let constants = items.compactMap { if case .constant(let value) = $0 { value } else { nil } }
    return constants.count == items.count ? .constant(.list(constants)) : .aggregate(items)
  }

  private mutating func range(_ depth: Int) -> FetchPredicate {
    let kind = kind()
    let ends = [value(partner(of: kind), 0), value(partner(of: kind), 0)]
    return compare(value(kind, depth), .between, aggregate(ends), .direct, kind == .text ? options() : [])
  }

  private mutating func nilTest(_ depth: Int) -> FetchPredicate {
    let op: ComparisonOperator = chance(2) ? .equal : .notEqual
    return compare(chance(4) ? object(source().entity, 1).0 : value(kind(), depth), op, .constant(.null))
  }

  private mutating func entityTest() -> FetchPredicate {
    let source = source()
    let names = model.entities.map(\.name)
    let left = path(source, chance(3) ? steps(source.entity, 1).names + ["entity"] : ["entity"])
    if chance(3) { return compare(left, .in, .constant(.list([.entity(pick(names) ?? "Thing"), .string("Special")]))) }
    return compare(left, chance(2) ? .equal : .notEqual, .constant(.entity(pick(names) ?? "Thing")))
  }

  // MARK: Objects

  /// A path to an object, with its entity.
  private mutating func object(_ start: CompiledEntity? = nil, _ least: Int = 0) -> (FetchExpression, CompiledEntity) {
    let source = start == nil ? source() : sources[0]
    let (expression, entity) = member(source, number(least..<3))
    return (expression, entity)
  }

  /// A path of to-one relationships and indexes.
  private mutating func member(_ source: Source, _ count: Int) -> (FetchExpression, CompiledEntity) {
    var entity = source.entity
    var expression = source.variable.map { FetchExpression.variable($0) } ?? .evaluatedObject
    for _ in 0..<count {
      let choices = entity.relationships.filter { !$0.isToMany || $0.isOrdered }
      guard let relationship = pick(choices) else { break }
      expression = extended(expression, [relationship.name])
      if relationship.isToMany { expression = .element(expression, place()) }
      entity = model.entities[relationship.destinationEntity]
    }
    return (expression, entity)
  }

  private mutating func place() -> FetchExpression.CollectionIndex {
    pick([.first, .last, .at(0), .at(1), .at(2), .at(7), .at(-1)]) ?? .first
  }

  /// A path in the parser's form.
  private func extended(_ base: FetchExpression, _ names: [String]) -> FetchExpression {
    switch base {
    case .evaluatedObject: .keyPath(names)
    case .keyPath(let first): .keyPath(first + names)
    case .path(let start, let first): .path(start, first + names)
    default: .path(base, names)
    }
  }

  private func path(_ source: Source, _ names: [String]) -> FetchExpression {
    extended(source.variable.map { .variable($0) } ?? .evaluatedObject, names)
  }

  /// Keys of to-one relationships.
  private mutating func steps(_ start: CompiledEntity, _ count: Int) -> (names: [String], entity: CompiledEntity) {
    var (names, entity): ([String], CompiledEntity) = ([], start)
    for _ in 0..<count {
      guard let relationship = pick(entity.relationships.filter { !$0.isToMany }) else { break }
      names.append(relationship.name)
      entity = model.entities[relationship.destinationEntity]
    }
    return (names, entity)
  }

  private mutating func objects() -> FetchPredicate {
    let (left, entity) = object()
    let op: ComparisonOperator = chance(2) ? .equal : .notEqual
    switch number(0..<5) {
    case 0: return compare(left, op, .constant(.null))
    case 1: return compare(left, op, object().0)
    case 2:
      let ids = (0..<number(0..<4)).compactMap { _ in graph.someID(of: entity, using: &random) }
      return compare(left, .in, .constant(.list(ids.map { .object($0) })))
    case 3:
      let choice = FetchExpression.conditional(comparison(0), left, object().0)
      return compare(chance(2) ? choice : .function("coalesce", [left, object().0]), op, constantObject(entity))
    default: return compare(left, op, constantObject(entity))
    }
  }

  private mutating func constantObject(_ entity: CompiledEntity) -> FetchExpression {
    let entity = chance(5) ? pick(Array(model.entities)) ?? entity : entity
    return .constant(graph.someID(of: entity, using: &random).map { .object($0) } ?? .null)
  }

  // MARK: Collections

  /// A path that ends in its only to-many relationship.
  private mutating func collection(_ source: Source) -> (FetchExpression, CompiledEntity) {
    let (expression, entity) = chance(3) ? member(source, 1) : (source.variable.map { .variable($0) } ?? .evaluatedObject, source.entity)
    guard let relationship = pick(entity.relationships.filter(\.isToMany)) else {
      let things = sources[0].entity.relationships.first(where: \.isToMany)
      return (.keyPath([things?.name ?? "labels"]), things.map { model.entities[$0.destinationEntity] } ?? entity)
    }
    return (extended(expression, [relationship.name]), model.entities[relationship.destinationEntity])
  }

  private mutating func quantified(_ depth: Int) -> FetchPredicate {
    var (expression, entity) = collection(source())
    let modifier: ComparisonModifier = pick([.any, .all, .none]) ?? .any
    if chance(4), let further = pick(entity.relationships) {
      expression = extended(expression, [further.name])
      entity = model.entities[further.destinationEntity]
    }
    if chance(8) {
      return compare(expression, chance(2) ? .equal : .in, chance(2) ? constantObject(entity) : object(entity).0, modifier)
    }
    let kind = kind()
    let left = attribute(kind, of: entity).map { extended(expression, [$0]) } ?? extended(expression, ["name"])
    let type: Kind = attribute(kind, of: entity) == nil ? .text : kind
    switch number(0..<6) {
    case 0 where type == .text:
      return compare(left, pick([.contains, .like, .endsWith]) ?? .contains, value(.text, 0), modifier, options())
    case 1: return compare(left, .in, .constant(.list((0..<number(0..<4)).map { _ in constant(type) })), modifier)
    case 2: return compare(left, chance(2) ? .equal : .notEqual, .constant(.null), modifier)
    case 3: return compare(left, .between, aggregate([value(type, 0), value(type, 0)]), modifier)
    default: return compare(left, order(), value(partner(of: type), depth - 1), modifier, type == .text ? options() : [])
    }
  }

  private mutating func membership(_ depth: Int) -> FetchPredicate {
    let (expression, entity) = collection(source())
    switch number(0..<4) {
    case 0: return compare(constantObject(entity), .in, expression)
    case 1: return compare(expression, .contains, constantObject(entity))
    case 2: return compare(object().0, .in, expression)
    default: return compare(value(.text, depth - 1), .in, extended(expression, ["name"]))
    }
  }

  private mutating func counted(_ depth: Int) -> FetchPredicate {
    let bound = FetchExpression.constant(.int(Int64(number(-1..<4))))
    if chance(3) {
      let (expression, _) = collection(source())
      return compare(chance(4) ? .element(expression, .size) : extended(expression, ["@count"]), order(), bound)
    }
    return compare(subquery(depth, ["@count"]), order(), chance(6) ? value(.integer, 0) : bound)
  }

  private mutating func subquery(_ depth: Int, _ keys: [String]) -> FetchExpression {
    let (expression, entity) = collection(source())
    return .path(members(expression, entity, depth), keys)
  }

  private mutating func members(_ expression: FetchExpression, _ entity: CompiledEntity, _ depth: Int) -> FetchExpression {
    variableCount += 1
    let variable = "x\(variableCount)"
    sources.append(Source(variable: variable, entity: entity))
    let condition = predicate(max(depth - 1, 0))
    sources.removeLast()
    return .subquery(collection: expression, variable: variable, predicate: condition)
  }

  // MARK: Values

  private func kind(of type: AttributeType) -> Kind? {
    switch type {
    case .integer16, .integer32, .integer64: .integer
    case .boolean: .boolean
    case .double, .float: .real
    case .decimal: .decimal
    case .string: .text
    case .date: .date
    case .uuid: .uuid
    case .uri: .uri
    case .binary: .binary
    case .transformable, .undefined, .composite: nil
    }
  }

  private mutating func attribute(_ kind: Kind, of entity: CompiledEntity) -> String? {
    pick(entity.slots.filter { $0.attributeType.flatMap(self.kind) == kind }.map(\.name))
  }

  private mutating func constant(_ kind: Kind) -> FetchConstant {
    let type: AttributeType =
      switch kind {
      case .integer: chance(3) ? .integer64 : .integer32
      case .boolean: .boolean
      case .real: .double
      case .decimal: .decimal
      case .text: .string
      case .date: .date
      case .uuid: .uuid
      case .uri: .uri
      case .binary: .binary
      }
    return RandomValues.constant(type, using: &random)
  }

  /// An attribute of the object or of a related one; a constant if none has the type.
  private mutating func leaf(_ kind: Kind) -> FetchExpression {
    if chance(3) { return .constant(chance(15) ? .null : constant(kind)) }
    let (base, entity) = member(source(), pick([0, 0, 0, 1, 1, 2]) ?? 0)
    guard let name = attribute(kind, of: entity) else { return .constant(constant(kind)) }
    return extended(base, [name])
  }

  private mutating func value(_ kind: Kind, _ depth: Int) -> FetchExpression {
    guard depth > 0, chance(2) else { return leaf(kind) }
    switch number(0..<5) {
    case 0: return .conditional(predicate(depth - 1), value(kind, depth - 1), value(kind, depth - 1))
    case 1: return .function("coalesce", [value(kind, depth - 1), value(kind, depth - 1)])
    case 2: return .function("noindex:", [value(kind, depth - 1)])
    default: return computed(kind, depth - 1)
    }
  }

  private mutating func computed(_ kind: Kind, _ depth: Int) -> FetchExpression {
    switch kind {
    case .integer:
      switch number(0..<8) {
      case 0:
        let names = [
          "add:to:", "from:subtract:", "multiply:by:", "divide:by:", "modulus:by:", "bitwiseAnd:with:", "bitwiseOr:with:",
          "bitwiseXor:with:",
          "leftshift:by:", "rightshift:by:",
        ]
        return .function(pick(names) ?? "add:to:", [value(.integer, depth), value(.integer, depth)])
      case 1: return .function(pick(["abs:", "onesComplement:", "ceiling:", "trunc:"]) ?? "abs:", [value(.integer, depth)])
      case 2: return .function("length:", [value(.text, depth)])
      case 3: return cast(pick([.integer, .real, .decimal, .text, .boolean]) ?? .text, "Int", depth)
      case 4: return statistic(["@sum", "@min", "@max"], .integer, depth)
      case 5: return statistic(["@count"], .integer, depth)
      case 6:
        return .function(
          pick(["count:", "max:", "min:", "sum:", "mode:"]) ?? "max:", [aggregate([value(.integer, depth), value(.integer, depth)])])
      default: return leaf(.integer)
      }
    case .real:
      switch number(0..<8) {
      case 0:
        return .function(
          pick(["add:to:", "from:subtract:", "multiply:by:", "divide:by:", "raise:toPower:"]) ?? "add:to:",
          [value(.real, depth), value(partner(of: .real), depth)])
      case 1:
        return .function(pick(["abs:", "ceiling:", "floor:", "trunc:", "sqrt:", "ln:", "log:", "exp:"]) ?? "abs:", [value(.real, depth)])
      case 2: return cast(pick([.integer, .real, .decimal, .text, .date]) ?? .text, "Double", depth)
      case 3: return statistic(["@sum", "@min", "@max", "@avg"], .real, depth)
      case 4: return .function("from:subtract:", [value(.date, depth), value(.date, depth)])
      case 5:
        return .function(
          pick(["median:", "average:", "stddev:", "sum:"]) ?? "sum:",
          [aggregate([value(.real, depth), value(.integer, depth), value(.real, 0)])])
      case 6: return collectionStatistic(["median:", "stddev:", "average:", "sum:", "mode:"], .real)
      default:
        return .function(
          "distanceToLocation:fromLocation:",
          [aggregate([value(.real, depth), value(.real, depth)]), aggregate([value(.real, depth), value(.real, depth)])])
      }
    case .decimal:
      switch number(0..<6) {
      case 0:
        return .function(
          pick(["add:to:", "from:subtract:", "multiply:by:", "divide:by:"]) ?? "add:to:",
          [value(.decimal, depth), value(chance(2) ? .decimal : .integer, depth)])
      case 1: return .function(pick(["abs:", "ceiling:", "floor:", "trunc:"]) ?? "abs:", [value(.decimal, depth)])
      case 2: return cast(pick([.integer, .real, .decimal, .text]) ?? .text, "Decimal", depth)
      case 3: return statistic(["@sum", "@min", "@max", "@avg"], .decimal, depth)
      case 4:
        return .function(
          pick(["max:", "sum:", "median:", "mode:"]) ?? "sum:", [aggregate([value(.decimal, depth), value(.integer, depth)])])
      default: return collectionStatistic(["median:", "average:", "sum:", "max:"], .decimal)
      }
    case .text:
      switch number(0..<4) {
      case 0, 1: return .function(pick(["uppercase:", "lowercase:", "canonical:"]) ?? "canonical:", [value(.text, depth)])
      case 2: return cast(pick([.integer, .real, .decimal, .uuid, .uri, .boolean]) ?? .integer, "String", depth)
      default: return statistic(["@min", "@max"], .text, depth)
      }
    case .date:
      switch number(0..<3) {
      case 0: return .function(chance(2) ? "add:to:" : "from:subtract:", [leafOfColumn(.date), value(.integer, depth)])
      case 1: return cast(pick([.text, .real, .integer]) ?? .text, "Date", depth)
      default: return statistic(["@min", "@max"], .date, depth)
      }
    case .uuid: return cast(.text, "UUID", depth)
    case .uri: return cast(.text, "URL", depth)
    case .binary, .boolean: return leaf(kind)
    }
  }

  /// A value other than a constant, whose type is known.
  private mutating func leafOfColumn(_ kind: Kind) -> FetchExpression {
    let (base, entity) = member(source(), 0)
    return attribute(kind, of: entity).map { extended(base, [$0]) } ?? .constant(constant(kind))
  }

  private mutating func cast(_ kind: Kind, _ type: String, _ depth: Int) -> FetchExpression {
    let inner = value(kind, depth)
    if case .constant(let constant) = inner, constant != .null { return leaf(kind) }
    return .function("castObject:toType:", [inner, .constant(.string(type))])
  }

  private mutating func statistic(_ operators: [String], _ kind: Kind, _ depth: Int) -> FetchExpression {
    let (expression, entity) = collection(source())
    let op = pick(operators) ?? "@count"
    guard op != "@count", let name = attribute(kind, of: entity) else { return extended(expression, ["@count"]) }
    if chance(3) { return .path(members(expression, entity, depth), [op, name]) }
    return extended(expression, [op, name])
  }

  private mutating func collectionStatistic(_ functions: [String], _ kind: Kind) -> FetchExpression {
    let (expression, entity) = collection(source())
    guard let name = attribute(kind, of: entity) else { return .function("count:", [expression]) }
    return .function(pick(functions) ?? "sum:", [extended(expression, [name])])
  }
}

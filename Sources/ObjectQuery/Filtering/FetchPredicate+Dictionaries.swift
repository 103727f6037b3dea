import Foundation
import ObjectModel

extension FetchPredicate {
  /// Returns whether a dictionary matches the predicate, by the same rules as for objects.
  ///
  /// A key path follows nested dictionaries; a missing key has no value. An array or set of dictionaries is a to-many relationship, in the
  /// order of the array. An array or set of plain values is a collection too: `ANY tags == "new"`. A key that contains dots, as in
  /// dictionary results, is matched by its whole name.
  ///
  /// - Throws: ``FetchPredicateError`` for values that cannot be compared; errors of conditions written in Swift.
  public func evaluate(with dictionary: [String: Any]) throws -> Bool {
    try PredicateDepth.check(self)
    return try DictionaryEvaluator(.object(DictionaryObject(dictionary)), of: dictionary).evaluate(self)
  }

  /// Whether a value of any type meets the predicate.
  ///
  /// - Parameters:
  ///   - value: A value, an object or a collection.
  ///   - variables: The values of variables.
  ///   - reading: How values of types that the query language does not know are read.
  /// - Throws: ``FetchPredicateError`` for values that cannot be compared; what a condition written in Swift and the reading of a key throw.
  package func evaluate(withAny value: Any?, variables: [String: Any] = [:], reading: any InMemoryReading) throws -> Bool {
    try PredicateDepth.check(self)
    let root: DictionaryValue = try value.map { try DictionaryValue($0, at: "SELF", reading) } ?? .missing
    var evaluator = DictionaryEvaluator(root, of: value, reading)
    for (name, value) in variables { evaluator.variables[name] = try DictionaryValue(value, at: "$\(name)", reading) }
    return try evaluator.evaluate(self)
  }
}

/// Evaluates a predicate for a dictionary. It replaces all paths with constants, and passes the result to the evaluator.
///
/// The limit of predicate nesting bounds the recursion.
struct DictionaryEvaluator {
  private let root: DictionaryValue
  /// What conditions written in Swift are called with; nil where they are not supported.
  private let evaluated: Any?
  let reading: (any InMemoryReading)?
  fileprivate var variables: [String: DictionaryValue] = [:]

  init(_ root: DictionaryValue, of evaluated: Any? = nil, _ reading: (any InMemoryReading)? = nil) {
    (self.root, self.evaluated, self.reading) = (root, evaluated, reading)
  }

  func evaluate(_ predicate: FetchPredicate) throws -> Bool {
    switch predicate {
    case .constant(let value): return value
    case .and(let items): return try items.allSatisfy { try evaluate($0) }
    case .or(let items): return try items.contains { try evaluate($0) }
    case .not(let item): return try !evaluate(item)
    case .block(let block):
      guard reading != nil || evaluated != nil else {
        throw FetchPredicateError.unsupported(part: "The block predicate \(block.name)", advice: "Ask it of objects or dictionaries.")
      }
      return try block.evaluate(with: EvaluatedValue(value: evaluated))
    case .comparison(let comparison): return try evaluate(comparison)
    }
  }

  private func evaluate(_ comparison: FetchComparison) throws -> Bool {
    if let inverted = comparison.inverted { return try evaluate(inverted) }
    if let expanded = comparison.expanded { return try evaluate(expanded) }
    switch comparison.modifier {
    case .direct: return try compare(comparison)
    case .any: return try members(comparison).contains { try compare($0) }
    case .all: return try members(comparison).allSatisfy { try compare($0) }
    case .none: return try !members(comparison).contains { try compare($0) }
    }
  }

  /// Returns a comparison for each member of the left side.
  private func members(_ comparison: FetchComparison) throws -> [FetchComparison] {
    guard case .many(let members, _)? = try value(of: comparison.left)?.collection else {
      throw FetchPredicateError.modifierNeedsToManyKey(modifier: comparison.modifier.rawValue, expression: comparison.left.description)
    }
    return try members.map { member in
      var single = comparison
      single.modifier = .direct
      single.left = .constant(try constant(member, comparison.left))
      return single
    }
  }

  private func compare(_ comparison: FetchComparison) throws -> Bool {
    if reading != nil, let answer = try compareAnything(comparison) { return answer }
    // A collection contains its members.
    if comparison.op == .in, let right = try value(of: comparison.right), case .many(let members, _) = right {
      return try compare(comparison.left, .in, list(members, comparison.right), comparison.options)
    }
    if comparison.op == .contains, let left = try value(of: comparison.left), case .many(let members, _) = left {
      return try compare(comparison.right, .in, list(members, comparison.left), comparison.options)
    }
    return try compare(comparison.left, comparison.op, comparison.right, comparison.options)
  }

  private func list(_ members: [DictionaryValue], _ expression: FetchExpression) throws -> FetchExpression {
    .constant(.list(try members.map { try $0.constant(of: expression) }))
  }

  func compare(
    _ left: FetchExpression, _ op: ComparisonOperator, _ right: FetchExpression, _ options: ComparisonOptions
  ) throws -> Bool {
    // An object can only be tested for being missing.
    for (side, other) in [(left, right), (right, left)] {
      guard let object = try value(of: side), case .object = object, op == .equal || op == .notEqual else { continue }
      guard case .constant(.null) = try reduced(other) else { break }
      return op == .notEqual
    }
    let predicate = FetchPredicate(try reduced(left), op, try reduced(right), options)
    let model = try DictionaryEvaluator.model.get()
    let fetch = try FetchResolver(model: model).resolve(predicate, entity: model.entities[0])
    return try PredicateEvaluator(fetch, resolver: NoObjects()).matches(0)
  }

  /// A model for predicates that do not refer to properties.
  private static let model = Result { try CompiledModel(ManagedObjectModel(entities: [EntityDescription(name: "Dictionary")])) }

  // MARK: Expressions

  func slot(of expression: FetchExpression) throws -> Slot {
    let reduced = try reduced(expression)
    if case .constant(let constant) = reduced {
      if constant.isNull { return .null }
      guard let (slot, _) = constant.natural else {
        throw FetchPredicateError.unsupported(
          part: "An order by \(expression), \(constant.typeName),", advice: "Name a value that has an order.")
      }
      return slot
    }
    var specification = FetchSpecification(entityName: "Dictionary")
    specification.sortDescriptors = [FetchSortDescriptor(expression: reduced)]
    let fetch = try FetchResolver(model: try DictionaryEvaluator.model.get()).resolve(specification)
    return try ObjectOrder(fetch, resolver: NoObjects()).values(of: 0).first ?? .null
  }

  /// Returns the expression with paths replaced by constants.
  func reduced(_ expression: FetchExpression) throws -> FetchExpression {
    if let value = try value(of: expression) { return .constant(try constant(value, expression)) }
    switch expression {
    case .aggregate(let items): return .list(try items.map(reduced))
    case .conditional(let condition, let first, let second): return try reduced(evaluate(condition) ? first : second)
    case .function(let name, let arguments):
      let function = ResolvedFunction(name: name)
      if let statistic = function?.listFunction, arguments.count == 1, let value = try value(of: arguments[0]),
        case .many(let members, _) = value
      {
        let values = members.filter { if case .missing = $0 { false } else { true } }
        return .constant(try DictionaryEvaluator.result(of: statistic, values, expression))
      }
      let arguments = try arguments.map(reduced)
      // The result of a missing argument is missing, unless the function accepts missing values.
      if let function, !function.takesMissingValues, function.listFunction == nil, arguments.contains(.constant(.null)) {
        return .constant(.null)
      }
      return .function(name, arguments)
    default: return expression
    }
  }

  /// Returns the value of a path, an index, or a subquery; nil for other expressions.
  func value(of expression: FetchExpression) throws -> DictionaryValue? {
    switch expression {
    case .evaluatedObject: return root
    case .keyPath(let names): return try follow(names, from: root, expression)
    case .variable(let name):
      guard let value = variables[name] else { throw FetchPredicateError.unsubstitutedVariable(name: name) }
      return value
    case .path(let base, let names):
      guard let value = try value(of: base) else {
        throw FetchPredicateError.unsupported(part: "A path after \(base)", advice: "Start it at a key, a variable or a SUBQUERY.")
      }
      return try follow(names, from: value, expression)
    case .element(let base, let index):
      switch try value(of: base) {
      case .many(let members, _)?: return DictionaryEvaluator.element(members, index)
      case .missing?: return index == .size ? .value(.int(0)) : .missing
      default: throw FetchPredicateError.unsupported(part: "\(expression)", advice: "Write an index after a collection.")
      }
    case .subquery(let collection, let variable, let predicate):
      guard case .many(let members, let isOrdered)? = try value(of: collection)?.collection else {
        throw FetchPredicateError.unsupported(part: "A SUBQUERY over \(collection)", advice: "Name a collection.")
      }
      return .many(
        try members.filter { member in
          var inner = self
          inner.variables[variable] = member
          return try inner.evaluate(predicate)
        }, isOrdered: isOrdered)
    case .constant, .aggregate, .function, .conditional: return nil
    }
  }

  private static func element(_ members: [DictionaryValue], _ index: FetchExpression.CollectionIndex) -> DictionaryValue {
    switch index {
    case .size: .value(.int(Int64(members.count)))
    case .first: members.first ?? .missing
    case .last: members.last ?? .missing
    case .at(let position): members.indices.contains(position) ? members[position] : .missing
    }
  }

  private func follow(_ names: [String], from start: DictionaryValue, _ expression: FetchExpression) throws -> DictionaryValue {
    var value = start
    for (index, name) in names.enumerated() {
      if let function = PredicateResolution.collectionOperators[name.lowercased()] {
        guard case .many(let members, _) = value.collection else {
          throw FetchPredicateError.unsupported(part: "\(name) in \(expression)", advice: "Write it after a collection.")
        }
        let values = try members.map { try follow(Array(names[(index + 1)...]), from: $0, expression) }
        return .value(try DictionaryEvaluator.result(of: function, values, expression))
      }
      switch value {
      case .missing: continue
      case .value where index == 0 && name.uppercased() == "SELF": continue
      case .value(.string(let text)) where name == "length" && index == names.count - 1:
        return .value(.int(Int64(text.unicodeScalars.count)))
      case .value(let constant):
        if let found = reading?.value(forKey: name, of: constant) {
          value = try DictionaryValue(found, at: name, reading)
          continue
        }
        guard index == 0 else {
          let attribute = names[..<index].joined(separator: ".")
          throw FetchPredicateError.keyBehindAttribute(key: name, keyPath: "\(expression)", attribute: attribute)
        }
        throw FetchPredicateError.unsupported(part: "The key \(name) of a value", advice: "Call the value itself SELF.")
      case .object(let dictionary as DictionaryObject):
        let rest = names[index...].joined(separator: ".")
        if let found = dictionary.value(forKey: rest) { return try DictionaryValue(found, at: rest, reading) }
        if index == 0, name.uppercased() == "SELF", dictionary.value(forKey: name) == nil { continue }
        value = try dictionary.value(forKey: name).map { try DictionaryValue($0, at: name, reading) } ?? .missing
      case .object where index == 0 && name.uppercased() == "SELF": continue
      case .object(let object): value = try object.value(forKey: name).map { try DictionaryValue($0, at: name, reading) } ?? .missing
      case .many where index == 0 && name.uppercased() == "SELF": continue
      case .many(let members, let isOrdered):
        let values = try members.map { try follow(Array(names[index...]), from: $0, expression) }
        return DictionaryEvaluator.joined(values, isOrdered: isOrdered)
      }
    }
    return value
  }

  /// Joins the values found for each member. Nested collections are flattened; next to them, a missing value counts as an empty collection.
  private static func joined(_ values: [DictionaryValue], isOrdered: Bool) -> DictionaryValue {
    var (members, inner): ([DictionaryValue], [DictionaryValue]) = ([], [])
    var hasInner = false
    for value in values {
      if case .many(let items, _) = value {
        hasInner = true
        inner += items
      } else {
        members.append(value)
      }
    }
    return .many(hasInner ? inner : members, isOrdered: isOrdered)
  }

  static func result(
    of function: ResolvedAggregate.Function, _ members: [DictionaryValue], _ expression: FetchExpression
  ) throws -> FetchConstant {
    if function == .count { return .int(Int64(members.count)) }
    var statistic = Statistic(function)
    var types: Set<ResolvedType> = []
    for member in members {
      let value = try member.constant(of: expression)
      if value.isNull { continue }
      guard let (slot, type) = value.natural, function.accepts(type) else {
        throw FetchPredicateError.operatorNotSupported(op: "A collection operator", expression: "\(expression)", type: value.typeName)
      }
      types.insert(type == .boolean ? .integer : type)
      statistic.add(slot)
    }
    let type: ResolvedType =
      types.count == 1 ? types.first ?? .integer : types.contains(.decimal) ? .decimal : types.isEmpty ? .integer : .real
    return FetchConstant(statistic.isEmpty ? function.emptyResult(of: type) : statistic.result, function.type(of: type))
  }
}

extension FetchConstant {
  fileprivate init(_ slot: Slot, _ type: ResolvedType) {
    switch (slot, type) {
    case (.null, _): self = .null
    case (.int(let value), _): self = .int(value)
    case (.real(let value), .date): self = .date(Date(timeIntervalSinceReferenceDate: value))
    case (.real(let value), _): self = .real(value)
    case (.text(let value), .uri): self = URL(string: value).map { .url($0) } ?? .string(value)
    case (.text(let value), _): self = .string(value)
    case (.bytes(let value), .decimal): self = DecimalCoding.decode(value).map { .decimal($0) } ?? .null
    case (.bytes(let value), _): self = .data(value)
    }
  }
}

// MARK: - Equality of values of all types, for predicates without a model

extension DictionaryEvaluator {
  /// Answers a comparison for equality or membership, in which values of different types are unequal; nil for other comparisons.
  func compareAnything(_ comparison: FetchComparison) throws -> Bool? {
    switch comparison.op {
    case .equal, .notEqual:
      guard let left = try operand(comparison.left), let right = try operand(comparison.right) else { return nil }
      return areEqual(left, right, comparison.options) == (comparison.op == .equal)
    case .in, .contains:
      let (item, collection) =
        comparison.op == .in ? (comparison.left, comparison.right) : (comparison.right, comparison.left)
      guard case .many(let members, _)? = try operand(collection), let item = try operand(item) else { return nil }
      return isMember(item, of: members, comparison.options)
    default: return nil
    }
  }

  /// The value of an expression; nil if only the query language computes it.
  private func operand(_ expression: FetchExpression) throws -> DictionaryValue? {
    if let value = try value(of: expression) { return value }
    switch expression {
    case .constant(let constant): return DictionaryValue(constant)
    case .aggregate(let items):
      let values = try items.compactMap(operand)
      return values.count == items.count ? .many(values, isOrdered: true) : nil
    default:
      guard case .constant(let constant) = try reduced(expression) else { return nil }
      return DictionaryValue(constant)
    }
  }

  private func isMember(_ item: DictionaryValue, of members: [DictionaryValue], _ options: ComparisonOptions) -> Bool {
    if case .missing = item { return false }
    if let item = item.comparable {
      // One comparison with the whole list, unless it has values of other types.
      let list = members.compactMap(\.comparable)
      if list.isEmpty { return false }
      if let answer = try? compare(.constant(item), .in, .constant(.list(list)), options) { return answer }
    }
    return members.contains { areEqual(item, $0, options) }
  }

  private func areEqual(_ left: DictionaryValue, _ right: DictionaryValue, _ options: ComparisonOptions) -> Bool {
    switch (left, right) {
    case (.missing, .missing): return true
    case (.missing, _), (_, .missing): return false
    case (.many(let left, let isLeftOrdered), .many(let right, let isRightOrdered)):
      guard left.count == right.count else { return false }
      if isLeftOrdered && isRightOrdered { return zip(left, right).allSatisfy { areEqual($0, $1, options) } }
      var rest = right
      return left.allSatisfy { member in
        guard let place = rest.firstIndex(where: { areEqual(member, $0, options) }) else { return false }
        rest.remove(at: place)
        return true
      }
    case (.many, _), (_, .many): return false
    default: break
    }
    if let left = left.comparable, let right = right.comparable {
      // Values of types that do not compare are unequal.
      return (try? compare(.constant(left), .equal, .constant(right), options)) ?? false
    }
    guard let left = left.whole, let right = right.whole else { return false }
    return left == right
  }
}

extension DictionaryValue {
  /// A constant that the query language compares; nil for everything else.
  fileprivate var comparable: FetchConstant? {
    switch self {
    case .value(.object), .value(.entity), .value(.inMemory): nil
    case .value(let constant): constant
    case .missing, .object, .many: nil
    }
  }

  /// The value, or the object as a whole; nil for a collection.
  fileprivate var whole: FetchConstant? {
    switch self {
    case .value(let constant): constant
    case .object(let object): object.constant
    case .missing, .many: nil
    }
  }
}

extension DictionaryEvaluator {
  /// A value as a constant: where types are not checked, an object and a collection, too.
  ///
  /// - Throws: ``FetchPredicateError`` for a value that cannot be compared.
  func constant(_ value: DictionaryValue, _ expression: FetchExpression) throws -> FetchConstant {
    guard reading != nil else { return try value.constant(of: expression) }
    switch value {
    case .object(let object):
      if let constant = object.constant { return constant }
    case .many(let members, _): return .list(try members.map { try constant($0, expression) })
    case .missing, .value: break
    }
    return try value.constant(of: expression)
  }
}

/// The collection operators of key paths that compute one value from many: `@count`, `@sum`, `@avg`, `@min`, `@max`. They follow the rules
/// of predicates.
package enum CollectionOperator {
  /// Returns whether an operator exists.
  package static func isKnown(_ name: String) -> Bool { PredicateResolution.collectionOperators[name.lowercased()] != nil }

  /// Returns the result of an operator over values; nil if it is undefined, such as the minimum of no values. Only `@count` includes missing
  /// values.
  ///
  /// - Throws: ``FetchPredicateError`` if the operator does not support the values.
  package static func value(of name: String, _ values: [Any?], keyPath: String) throws -> (any Sendable)? {
    guard let function = PredicateResolution.collectionOperators[name.lowercased()] else { return nil }
    let members = try values.map { value -> DictionaryValue in
      // A decimal NaN was stored by an older version. It counts, as in stores.
      if let number = value as? Decimal, number.isNaN { return .value(.decimal(number)) }
      return try value.map { try DictionaryValue($0, at: keyPath) } ?? .missing
    }
    switch try DictionaryEvaluator.result(of: function, members, .keyPath(keyPath.split(separator: ".").map(String.init))) {
    case .int(let number): return Int(number)
    case .real(let number): return number
    case .decimal(let number): return number
    case .date(let date): return date
    case .string(let text): return text
    case .url(let url): return url
    case .bool(let flag): return flag
    case .data(let data): return data
    case .uuid(let uuid): return uuid
    case .null, .object, .entity, .list, .inMemory: return nil
    }
  }
}

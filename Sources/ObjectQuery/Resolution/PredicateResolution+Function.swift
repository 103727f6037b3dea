import Foundation
import ObjectModel

extension PredicateResolution {
  /// The maximum length of a function's argument list. SQLite accepts at most a hundred arguments.
  static let maximumArgumentCount = 90

  /// Returns a function call as an operand.
  mutating func function(_ name: String, _ arguments: [FetchExpression]) throws(FetchPredicateError) -> Operand {
    let described = "the function \(name)"
    if arguments.isEmpty, ["now", "now:"].contains(name.lowercased()) { return .constant(.date(now)) }
    if name == FetchExpression.castFunction { return try cast(arguments) }
    guard let function = ResolvedFunction(name: name) else {
      let close = SimilarName.of(name.filter { $0 != ":" }, among: ResolvedFunction.shortNames)
      throw .unsupported(
        part: described,
        advice: close.map { "Did you mean \($0)?" }
          ?? "Use a function that Documentation/Predicates.md lists, or filter the objects in memory.")
    }
    if let aggregate = function.listFunction { return try listFunction(function, aggregate, arguments, name: name) }
    if function == .relevance { return .expression(try relevance(arguments, name: name), name: described) }
    if function == .distance { return .expression(try distance(arguments, name: name), name: described) }
    if let count = function.argumentCount, arguments.count != count {
      throw .unsupported(part: "\(arguments.count) arguments of \(described)", advice: "It takes \(count).")
    }
    var operands: [Operand] = []
    for argument in arguments { operands.append(try operand(argument)) }
    switch function {
    case .random: return .expression(.function(.random, [], .real), name: described)
    case .noIndex:
      guard case .expression(let value, let name) = operands[0] else { return operands[0] }
      return .expression(.function(.noIndex, [value], value.type), name: name)
    case .coalesce:
      let (values, type) = try unified(operands, of: described)
      guard values.count > 1 else { return operands[0] }
      return .expression(.function(.coalesce, values, type), name: described)
    default: return .expression(try call(function, operands, name: name), name: described)
    }
  }

  /// Resolves a function whose arguments have different types.
  private mutating func call(
    _ function: ResolvedFunction, _ operands: [Operand], name: String
  ) throws(FetchPredicateError) -> ResolvedExpression {
    let described = "the function \(name)"
    // A constant takes the type of the other argument.
    let model = operands.lazy.compactMap { if case .expression(let expression, _) = $0 { expression } else { nil } }.first
    var resolved: [ResolvedExpression] = []
    for operand in operands {
      switch operand {
      case .expression(let expression, _): resolved.append(expression)
      case .constant(let value):
        if value.isNotANumber { throw .operatorNotSupported(op: name, expression: described, type: value.typeName) }
        if let model, model.type == .decimal, value.isNumber {
          resolved.append(try constantExpression(value, like: model, name: described))
        } else {
          resolved.append(try constantExpression(value))
        }
      case .list: throw .unsupported(part: "A list as argument of \(described)", advice: "Give it single values.")
      }
    }
    guard let type = function.type(of: resolved.map(\.type)) else {
      let types = resolved.map(\.type.name).joined(separator: " and ")
      throw .operatorNotSupported(op: name, expression: operands.map(\.name).joined(separator: " and "), type: types)
    }
    return .function(function, resolved, type)
  }

  // MARK: Lists and collections

  /// Resolves an aggregate function: `sum(books.price)` over a collection, `sum({a, b, 1})` or `sum(a, b, 1)` over a list, or `sum(price)`
  /// over a group.
  private mutating func listFunction(
    _ function: ResolvedFunction, _ aggregate: ResolvedAggregate.Function, _ arguments: [FetchExpression], name: String
  ) throws(FetchPredicateError) -> Operand {
    let described = "the function \(name)"
    var operands: [Operand] = []
    if arguments.count == 1 {
      if let value = try collectionFunction(aggregate, of: arguments[0], name: name) { return .expression(value, name: described) }
      guard arguments[0].isList, case .list(let items) = try operand(arguments[0]) else {
        return .expression(try groupAggregate(aggregate, of: arguments[0], name: name), name: described)
      }
      operands = items
    } else {
      for argument in arguments { operands.append(try operand(argument)) }
    }
    guard operands.count <= PredicateResolution.maximumArgumentCount else {
      throw .unsupported(
        part: "A list of \(operands.count) members in \(described)", advice: "Give it at most \(PredicateResolution.maximumArgumentCount)."
      )
    }
    if operands.isEmpty { return .constant(aggregate.emptyResult(of: .integer).isNull ? .null : .int(0)) }
    let (values, type) = try unified(operands, of: described)
    guard let result = function.type(of: [type]) else {
      throw .operatorNotSupported(op: name, expression: operands.map(\.name).joined(separator: " and "), type: type.name)
    }
    return .expression(.function(function, values, result), name: described)
  }

  /// Returns an aggregate over a path through one to-many relationship; nil for other expressions.
  private mutating func collectionFunction(
    _ aggregate: ResolvedAggregate.Function, of expression: FetchExpression, name: String
  ) throws(FetchPredicateError) -> ResolvedExpression? {
    guard let (parts, scope) = base(of: expression) else { return nil }
    let scopeCount = scopes.count
    let path = try resolvePath(parts, scope: scope, allowsToMany: true)
    scopes.removeSubrange(scopeCount...)
    guard path.collections.count == 1 else {
      guard path.collections.isEmpty else {
        throw .unsupported(
          part: "the function \(name) of \(describe(expression))", advice: "Give it a path through one to-many relationship.")
      }
      return nil
    }
    if aggregate == .count {
      // Counts the members or, for a value, the members that have one.
      guard case .path(let member) = path.value, member.terminal == .object, member.steps.isEmpty else {
        return .aggregate(
          ResolvedAggregate(function: .count, collection: path.collections[0], condition: .isNull(path.value, isNegated: true)))
      }
      return .aggregate(ResolvedAggregate(function: .count, collection: path.collections[0]))
    }
    guard aggregate.accepts(path.value.type) else {
      throw .operatorNotSupported(op: name, expression: describe(expression), type: path.value.type.name)
    }
    return .aggregate(ResolvedAggregate(function: aggregate, collection: path.collections[0], value: path.value))
  }

  /// Resolves `distanceToLocation:fromLocation:({latitude, longitude}, {52.5, 13.4})`.
  private mutating func distance(_ arguments: [FetchExpression], name: String) throws(FetchPredicateError) -> ResolvedExpression {
    var coordinates: [Operand] = []
    for argument in arguments {
      guard case .list(let pair) = try operand(argument), pair.count == 2 else {
        throw .unsupported(
          part: "\(describe(argument)) as argument of the function \(name)", advice: "Give it a list of latitude and longitude in degrees.")
      }
      coordinates += pair
    }
    guard arguments.count == 2 else {
      throw .unsupported(
        part: "\(arguments.count) arguments of the function \(name)", advice: "It takes two lists of latitude and longitude.")
    }
    return try call(.distance, coordinates, name: name)
  }

  // MARK: One type

  /// Converts values to a common type: integers to floating-point numbers or decimals if there are any, URIs to text.
  mutating func unified(_ operands: [Operand], of name: String) throws(FetchPredicateError) -> ([ResolvedExpression], ResolvedType) {
    let expressions = operands.compactMap { if case .expression(let expression, _) = $0 { expression } else { nil } }
    var model = expressions.first { $0.type == .decimal } ?? expressions.first { $0.type != .opaque } ?? expressions.first
    if model == nil {
      for case .constant(let value) in operands where !value.isNull {
        model = try constantExpression(value)
        break
      }
    }
    var values: [ResolvedExpression] = []
    for operand in operands {
      switch operand {
      case .expression(let expression, _): values.append(expression)
      case .constant(let value):
        if value.isNotANumber { throw .typeMismatch(expression: name, type: "one type", other: value.typeName) }
        if let model {
          values.append(try constantExpression(value, like: model, name: name))
        } else {
          values.append(try constantExpression(value))
        }
      case .list: throw .unsupported(part: "A list in \(name)", advice: "Give it single values.")
      }
    }
    let types = Set(values.map(\.type))
    var type = model?.type ?? .opaque
    if types.count > 1 {
      if types.isSubset(of: [.text, .uri]) {
        type = .text
      } else if types.allSatisfy(\.isNumeric) {
        type = types.contains(.decimal) ? .decimal : types.contains(.real) ? .real : .integer
      }
      for (index, value) in values.enumerated() where value.type != type {
        guard let conversion = PredicateResolution.conversion(of: value.type, to: type) else {
          throw .typeMismatch(
            expression: "A value of \(name)", type: value.type.name, other: "another, which is of type \(type.name); use CAST")
        }
        values[index] = .function(conversion, [value], type)
      }
    }
    if type == .object, Set(values.compactMap(rootEntity)).count > 1 {
      throw .typeMismatch(expression: "A value of \(name)", type: "object", other: "another, which is an object of an unrelated entity")
    }
    return (values, type)
  }

  private static func conversion(of type: ResolvedType, to other: ResolvedType) -> ResolvedFunction? {
    switch (type, other) {
    case (.uri, .text): .castToText
    case (.boolean, .integer): .castToInteger
    case (.integer, .real), (.boolean, .real): .castToReal
    case (.integer, .decimal), (.boolean, .decimal): .castToDecimal
    default: nil
    }
  }

  // MARK: CAST

  /// Resolves CAST of an expression. The parser has already evaluated CAST of a literal.
  private mutating func cast(_ arguments: [FetchExpression]) throws(FetchPredicateError) -> Operand {
    guard arguments.count == 2, case .constant(.string(let name)) = arguments[1], let target = PredicateCast(name: name) else {
      throw .unsupported(part: "CAST to such a type", advice: "Name one of the types \(PredicateCast.names).")
    }
    switch try operand(arguments[0]) {
    case .list: throw .unsupported(part: "CAST of a list", advice: "Cast its members.")
    case .constant(let value):
      if value.isNull { return .constant(.null) }
      guard let result = target.cast(value) else {
        throw .typeMismatch(expression: "A value of CAST", type: value.typeName, other: "the type \(name), which it cannot be cast to")
      }
      return .constant(result)
    case .expression(let value, let described):
      guard let function = target.function(of: value.type), let type = function.type(of: [value.type]) else {
        throw .unsupported(
          part: "CAST of \(described), which is of type \(value.type.name), to \(name)",
          advice:
            "Numbers and texts can be cast to each other, dates to numbers and from numbers and texts, UUIDs and URIs to and from texts.")
      }
      return .expression(.function(function, [value], type), name: described)
    }
  }
}

extension PredicateCast {
  fileprivate func function(of type: ResolvedType) -> ResolvedFunction? {
    switch self {
    case .date: .castToDate
    case .decimal: .castToDecimal
    case .double: .castToReal
    case .integer: .castToInteger
    case .string: type == .uuid ? .textOfUUID : .castToText
    case .uuid: .castToUUID
    case .url: .castToURI
    case .data, .objectID, .entity: nil
    }
  }
}

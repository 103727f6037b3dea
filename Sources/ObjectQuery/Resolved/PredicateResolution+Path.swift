// PredicateResolution+Path: follows key paths through entities.
import Foundation
import ObjectModel

/// A key path followed to its end.
struct FollowedPath {
  /// The to-many relationships on the way, each starting from a member of the one before.
  var collections: [ResolvedCollection] = []
  /// What stands at the end, taken of a member of the last collection.
  var value: ResolvedExpression
}

extension PredicateResolution {
  /// Follows a key path. Members of to-many relationships on the way become scopes, which the caller drops from `scopes` when done with them.
  ///
  /// - Parameters:
  ///   - names: The keys.
  ///   - scope: The scope of the object that the path starts from.
  ///   - allowsToMany: Whether to-many keys may stand on the path other than before an operator like `@count`.
  mutating func resolvePath(_ names: [String], scope: Int, allowsToMany: Bool) throws(FetchPredicateError) -> FollowedPath {
    let keyPath = names.joined(separator: ".")
    var entity = scopes[scope]
    var start = scope
    var steps: [ResolvedStep] = []
    var collections: [ResolvedCollection] = []
    // The composite attributes that the last keys have led into.
    var composite = ""
    for (index, key) in names.enumerated() {
      let isLast = index == names.count - 1
      let name = composite + key
      guard let property = entity.property(named: name) else {
        if composite.isEmpty, let terminal = PredicateResolution.builtIn(name, isLast: isLast) {
          return FollowedPath(collections: collections, value: .path(ResolvedPath(scope: start, steps: steps, terminal: terminal)))
        }
        if index == 0, name.uppercased() == "SELF" { continue }
        throw unknownKey(name, keyPath: keyPath, entity: entity)
      }
      switch property {
      case .attribute(let slot):
        try check(isTransient: slot.isTransient, keyPath: keyPath, entity: entity)
        guard isLast else {
          throw .keyBehindAttribute(key: names[index + 1], keyPath: keyPath, attribute: slot.name)
        }
        let path = ResolvedPath(scope: start, steps: steps, terminal: .attribute(ResolvedAttribute(slot)))
        return FollowedPath(collections: collections, value: .path(path))
      case .toOne(let relationship):
        try check(isTransient: relationship.isTransient, keyPath: keyPath, entity: entity)
        steps.append(ResolvedStep(relationship))
        entity = model.entities[relationship.destinationEntity]
      case .toMany(let relationship):
        try check(isTransient: relationship.isTransient, keyPath: keyPath, entity: entity)
        let collection = ResolvedCollection(
          scope: start, steps: steps, relationship: ResolvedStep(relationship), memberScope: scopes.count)
        if !isLast, names[index + 1].hasPrefix("@") {
          let value = try resolveOperator(Array(names[(index + 1)...]), of: collection, keyPath: keyPath)
          return FollowedPath(collections: collections, value: value)
        }
        guard allowsToMany else { throw .toManyKeyNotAllowed(key: name, keyPath: keyPath, entity: entity.name) }
        entity = model.entities[relationship.destinationEntity]
        collections.append(collection)
        start = scopes.count
        scopes.append(entity)
        steps = []
      case .composite:
        guard !isLast else {
          throw .unsupported(part: "The composite attribute \(keyPath) as a whole", advice: "Name one of its parts, as in \(keyPath).part.")
        }
        composite = name + "."
        continue
      case .fetched:
        throw .unsupported(part: "The fetched property \(name) in a predicate", advice: "Write its predicate out.")
      }
      composite = ""
    }
    return FollowedPath(collections: collections, value: .path(ResolvedPath(scope: start, steps: steps, terminal: .object)))
  }

  /// The collection that an expression stands for, as a path to one to-many relationship.
  mutating func resolveCollection(_ expression: FetchExpression) throws(FetchPredicateError) -> ResolvedCollection {
    guard let (names, scope) = base(of: expression) else {
      throw .unsupported(part: "A collection other than a key path", advice: "Name a to-many relationship.")
    }
    let count = scopes.count
    let path = try resolvePath(names, scope: scope, allowsToMany: true)
    scopes.removeSubrange(count...)
    guard path.collections.count == 1, case .path(let member) = path.value, member.terminal == .object, member.steps.isEmpty else {
      throw .unsupported(
        part: "The collection \(names.joined(separator: "."))", advice: "Name a path that ends in its only to-many relationship.")
    }
    return path.collections[0]
  }

  /// The keys and the scope of an expression that is a key path, from the object or from a subquery's variable.
  func base(of expression: FetchExpression) -> (names: [String], scope: Int)? {
    switch expression {
    case .keyPath(let names): return (names, baseScope)
    case .evaluatedObject: return ([], baseScope)
    case .variable(let name): return variables[name].map { ([], $0) }
    case .path(let inner, let names): return base(of: inner).map { ($0.names + names, $0.scope) }
    default: return nil
    }
  }

  /// The scope that bare keys belong to: the object asked about, also inside of subqueries.
  private var baseScope: Int { 0 }

  private static func builtIn(_ name: String, isLast: Bool) -> ResolvedPath.Terminal? {
    guard isLast else { return nil }
    switch name {
    case "entity": return .entity
    case "objectID", "self", "SELF": return .object
    default: return nil
    }
  }

  /// `@count`, or `@sum`, `@avg`, `@min` and `@max` with the path behind them.
  private mutating func resolveOperator(
    _ names: [String], of collection: ResolvedCollection, keyPath: String
  ) throws(FetchPredicateError) -> ResolvedExpression {
    guard let function = PredicateResolution.collectionOperators[names[0].lowercased()] else {
      throw .unsupported(
        part: "The collection operator \(names[0]) in \(keyPath)", advice: "Use @count, @sum, @avg, @min or @max, or a SUBQUERY.")
    }
    return try aggregate(function, names: Array(names.dropFirst()), of: collection, condition: .constant(true), keyPath: keyPath)
  }

  /// An aggregate of what a path takes of each member.
  mutating func aggregate(
    _ function: ResolvedAggregate.Function, names: [String], of collection: ResolvedCollection, condition: ResolvedPredicate,
    keyPath: String
  ) throws(FetchPredicateError) -> ResolvedExpression {
    guard function != .count else {
      guard names.isEmpty else {
        throw .unsupported(part: "A key behind @count in \(keyPath)", advice: "End the path with @count.")
      }
      return .aggregate(ResolvedAggregate(function: .count, collection: collection, condition: condition))
    }
    guard !names.isEmpty else {
      throw .unsupported(
        part: "A collection operator without a key in \(keyPath)", advice: "Name the attribute behind it, as in @sum.price.")
    }
    scopes.append(model.entities[collection.relationship.relationship.destinationEntity])
    let value = try resolvePath(names, scope: scopes.count - 1, allowsToMany: false).value
    scopes.removeLast()
    let isOrdered = function == .minimum || function == .maximum
    let isComparable = value.type.isNumeric || (isOrdered && [.text, .uri, .date].contains(value.type))
    guard isComparable else {
      throw .operatorNotSupported(op: "A collection operator", expression: keyPath, type: value.type.name)
    }
    return .aggregate(ResolvedAggregate(function: function, collection: collection, condition: condition, value: value))
  }

  static let collectionOperators: [String: ResolvedAggregate.Function] = [
    "@count": .count, "@sum": .sum, "@avg": .average, "@min": .minimum, "@max": .maximum,
  ]

  private mutating func check(isTransient: Bool, keyPath: String, entity: CompiledEntity) throws(FetchPredicateError) {
    guard isTransient else { return }
    guard allowsTransients else { throw .transientKey(keyPath: keyPath, entity: entity.name) }
    transientKeyPaths.append(keyPath)
  }

  private func unknownKey(_ name: String, keyPath: String, entity: CompiledEntity) -> FetchPredicateError {
    let names = entity.propertyNames
    var suggestion = names.first { $0.lowercased() == name.lowercased() } ?? names.first { isClose($0, name) }
    if suggestion == nil, let owner = model.entities[entity.subtree].first(where: { $0.property(named: name) != nil }) {
      suggestion = "\(name) of its subentity \(owner.name); fetch that entity"
    }
    return .unknownKey(key: name, keyPath: keyPath, entity: entity.name, suggestion: suggestion)
  }

  /// Whether two names differ by one letter put in, left out, replaced or swapped with its neighbour.
  private func isClose(_ left: String, _ right: String) -> Bool {
    let (left, right) = (Array(left), Array(right))
    guard abs(left.count - right.count) <= 1, min(left.count, right.count) > 2 else { return false }
    let prefix = zip(left, right).prefix { $0 == $1 }.count
    let tailLeft = Array(left[prefix...])
    let tailRight = Array(right[prefix...])
    if tailLeft.dropFirst() == tailRight.dropFirst() || tailLeft.dropFirst() == tailRight[...] || tailLeft[...] == tailRight.dropFirst() {
      return true
    }
    return tailLeft.count > 1 && tailRight.count > 1 && tailLeft[0] == tailRight[1] && tailLeft[1] == tailRight[0]
      && tailLeft.dropFirst(2) == tailRight.dropFirst(2)
  }
}

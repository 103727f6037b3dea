import Foundation
import ObjectModel

/// A part of a key path: a key, or a position in an ordered relationship.
enum PathPart {
  case key(String)
  case element(FetchExpression.CollectionIndex)

  var text: String {
    switch self {
    case .key(let name): "." + name
    case .element(let index): PredicatePrinter.text(of: index)
    }
  }
}

/// A key path followed to its end.
struct FollowedPath {
  /// The to-many relationships on the path, each starting from a member of the preceding one. The last one represents all of its members.
  var collections: [ResolvedCollection] = []
  /// The value at the end, for a member of the last collection.
  var value: ResolvedExpression
}

extension PredicateResolution {
  /// Follows a key path. Members of to-many relationships on the path become scopes, which the caller must remove from `scopes` after use.
  ///
  /// - Parameters:
  ///   - parts: The keys, and positions in ordered relationships.
  ///   - scope: The scope of the object that the path starts from.
  ///   - allowsToMany: Whether to-many keys are allowed without a following position or an operator such as `@count`.
  mutating func resolvePath(_ parts: [PathPart], scope: Int, allowsToMany: Bool) throws(FetchPredicateError) -> FollowedPath {
    let keyPath = PredicateResolution.text(of: parts)
    var entity = scopes[scope]
    var start = scope
    var steps: [ResolvedStep] = []
    var collections: [ResolvedCollection] = []
    // The composite attributes that the last keys belong to.
    var composite = ""
    var index = 0
    while index < parts.count {
      defer { index += 1 }
      guard case .key(let key) = parts[index] else {
        throw .unsupported(
          part: "The place \(parts[index].text) in \(keyPath)", advice: "Only a to-many relationship that is ordered has places.")
      }
      let isLast = index == parts.count - 1
      let name = composite + key
      guard let property = entity.property(named: name) else {
        if composite.isEmpty, let terminal = PredicateResolution.builtIn(name, isLast: isLast) {
          return elements(collections, .path(ResolvedPath(scope: start, steps: steps, terminal: terminal)))
        }
        if index == 0, name.uppercased() == "SELF" { continue }
        throw unknownKey(name, keyPath: keyPath, entity: entity)
      }
      switch property {
      case .attribute(let slot):
        try check(isTransient: slot.isTransient, keyPath: keyPath, entity: entity)
        let path = ResolvedExpression.path(ResolvedPath(scope: start, steps: steps, terminal: .attribute(ResolvedAttribute(slot))))
        if isLast { return elements(collections, path) }
        // The `length` key of a text. No attribute has one.
        guard index == parts.count - 2, case .key("length") = parts[index + 1], let type = ResolvedFunction.length.type(of: [path.type])
        else {
          throw afterAttribute(slot.name, parts[index + 1], keyPath: keyPath)
        }
        return elements(collections, .function(.length, [path], type))
      case .toOne(let relationship):
        try check(isTransient: relationship.isTransient, keyPath: keyPath, entity: entity)
        steps.append(ResolvedStep(relationship))
        entity = model.entities[relationship.destinationEntity]
      case .toMany(let relationship):
        try check(isTransient: relationship.isTransient, keyPath: keyPath, entity: entity)
        var collection = ResolvedCollection(
          scope: start, steps: steps, relationship: ResolvedStep(relationship), memberScope: scopes.count)
        if !isLast, let names = PredicateResolution.operatorNames(Array(parts[(index + 1)...])) {
          let value = try resolveOperator(names, of: collection, keyPath: keyPath)
          return elements(collections, value)
        }
        if !isLast, case .element(let elementIndex) = parts[index + 1] {
          collection.position = try position(elementIndex, in: relationship, keyPath: keyPath)
          index += 1
        } else if !allowsToMany {
          throw .toManyKeyNotAllowed(key: name, keyPath: keyPath, entity: entity.name)
        }
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
    return elements(collections, .path(ResolvedPath(scope: start, steps: steps, terminal: .object)))
  }

  mutating func resolvePath(_ names: [String], scope: Int, allowsToMany: Bool) throws(FetchPredicateError) -> FollowedPath {
    try resolvePath(names.map { .key($0) }, scope: scope, allowsToMany: allowsToMany)
  }

  /// Returns a path whose trailing positions are part of its value, and removes their scopes. Such a value is missing if the member is, as
  /// after a to-one relationship.
  private mutating func elements(_ collections: [ResolvedCollection], _ value: ResolvedExpression) -> FollowedPath {
    let count = collections.lastIndex { $0.position == nil }.map { $0 + 1 } ?? 0
    let positioned = collections[count...]
    scopes.removeLast(positioned.count)
    return FollowedPath(collections: Array(collections[..<count]), value: PredicateResolution.value(value, of: positioned))
  }

  private static func value(_ value: ResolvedExpression, of positioned: ArraySlice<ResolvedCollection>) -> ResolvedExpression {
    positioned.reversed().reduce(value) { .aggregate(ResolvedAggregate(function: .only, collection: $1, value: $0)) }
  }

  private mutating func position(
    _ index: FetchExpression.CollectionIndex, in relationship: CompiledRelationship, keyPath: String
  ) throws(FetchPredicateError) -> ResolvedCollection.Position {
    guard relationship.isOrdered else {
      throw .unsupported(
        part: "The place \(PredicatePrinter.text(of: index)) in \(keyPath)",
        advice: "\(relationship.name) is not ordered. Ask for some member with ANY or SUBQUERY, or order the relationship in the model.")
    }
    switch index {
    case .first: return .first
    case .last: return .last
    // A position without a member: no list is that long.
    case .at(let elementIndex): return .at(add(.slot(.int(elementIndex < 0 ? .max : Int64(elementIndex)))))
    case .size: throw .unsupported(part: "A key after [SIZE] in \(keyPath)", advice: "End the path with [SIZE].")
    }
  }

  /// Returns the keys after a to-many relationship if they are a collection operator with its path.
  private static func operatorNames(_ parts: [PathPart]) -> [String]? {
    if case .element(.size)? = parts.first, parts.count == 1 { return ["@count"] }
    guard case .key(let name)? = parts.first, name.hasPrefix("@") else { return nil }
    return parts.map { part in
      switch part {
      case .key(let name): name
      case .element: part.text
      }
    }
  }

  private static func text(of parts: [PathPart]) -> String {
    let text = parts.map(\.text).joined()
    return text.hasPrefix(".") ? String(text.dropFirst()) : text
  }

  private func afterAttribute(_ attribute: String, _ part: PathPart, keyPath: String) -> FetchPredicateError {
    switch part {
    case .key(let key): .keyBehindAttribute(key: key, keyPath: keyPath, attribute: attribute)
    case .element:
      .unsupported(
        part: "The place \(part.text) in \(keyPath)", advice: "\(attribute) is an attribute; an ordered relationship has places.")
    }
  }

  /// Returns a value computed over a collection: a path to one to-many relationship, after positions of ordered ones.
  ///
  /// - Parameter body: Computes the value. The members' scopes are open.
  mutating func overCollection(
    _ expression: FetchExpression,
    _ body: (inout PredicateResolution, ResolvedCollection) throws(FetchPredicateError) -> ResolvedExpression
  ) throws(FetchPredicateError) -> ResolvedExpression {
    guard let (parts, scope) = base(of: expression) else {
      throw .unsupported(part: "A collection other than a key path", advice: "Name a to-many relationship.")
    }
    let count = scopes.count
    let path = try resolvePath(parts, scope: scope, allowsToMany: true)
    defer { scopes.removeSubrange(count...) }
    guard let collection = path.collections.last, path.collections.dropLast().allSatisfy({ $0.position != nil }),
      case .path(let member) = path.value, member.terminal == .object, member.steps.isEmpty
    else {
      throw .unsupported(
        part: "The collection \(PredicateResolution.text(of: parts))", advice: "Name a path that ends in its only to-many relationship.")
    }
    return PredicateResolution.value(try body(&self, collection), of: path.collections.dropLast())
  }

  /// Returns the parts and the scope of an expression that is a key path from the object or a subquery's variable.
  func base(of expression: FetchExpression) -> (parts: [PathPart], scope: Int)? {
    switch expression {
    case .keyPath(let names): return (names.map { .key($0) }, baseScope)
    case .evaluatedObject: return ([], baseScope)
    case .variable(let name): return variables[name].map { ([], $0) }
    case .path(let inner, let names): return base(of: inner).map { ($0.parts + names.map { .key($0) }, $0.scope) }
    case .element(let inner, let index): return base(of: inner).map { ($0.parts + [.element(index)], $0.scope) }
    default: return nil
    }
  }

  /// The scope of bare keys: the evaluated object, even inside subqueries.
  private var baseScope: Int { 0 }

  private static func builtIn(_ name: String, isLast: Bool) -> ResolvedPath.Terminal? {
    guard isLast else { return nil }
    switch name {
    case "entity": return .entity
    case "objectID", "self", "SELF": return .object
    default: return nil
    }
  }

  /// Resolves `@count`, or `@sum`, `@avg`, `@min` and `@max` with the following path.
  private mutating func resolveOperator(
    _ names: [String], of collection: ResolvedCollection, keyPath: String
  ) throws(FetchPredicateError) -> ResolvedExpression {
    guard let function = PredicateResolution.collectionOperators[names[0].lowercased()] else {
      throw .unsupported(
        part: "The collection operator \(names[0]) in \(keyPath)",
        advice: "Use @count, @sum, @avg, @min or @max, or a SUBQUERY; ask for one member with ANY.")
    }
    return try aggregate(function, names: Array(names.dropFirst()), of: collection, condition: .constant(true), keyPath: keyPath)
  }

  /// Returns an aggregate over the value of a path for each member.
  mutating func aggregate(
    _ function: ResolvedAggregate.Function, names: [String], of collection: ResolvedCollection, condition: ResolvedPredicate,
    keyPath: String
  ) throws(FetchPredicateError) -> ResolvedExpression {
    guard function != .count else {
      guard names.isEmpty else {
        throw .unsupported(part: "A key after @count in \(keyPath)", advice: "End the path with @count.")
      }
      return .aggregate(ResolvedAggregate(function: .count, collection: collection, condition: condition))
    }
    guard !names.isEmpty else {
      throw .unsupported(
        part: "A collection operator without a key in \(keyPath)", advice: "Name the attribute after it, as in @sum.price.")
    }
    scopes.append(model.entities[collection.relationship.relationship.destinationEntity])
    defer { scopes.removeLast() }
    let value = try resolvePath(names, scope: scopes.count - 1, allowsToMany: false).value
    guard function.accepts(value.type) else {
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
    var suggestion = SimilarName.of(name, among: entity.propertyNames)
    if suggestion == nil, let owner = model.entities[entity.subtree].first(where: { $0.property(named: name) != nil }) {
      suggestion = "\(name) of its subentity \(owner.name); fetch that entity"
    }
    return .unknownKey(key: name, keyPath: keyPath, entity: entity.name, suggestion: suggestion)
  }
}

/// The validation rules for derived attributes.
enum DerivationRules {
  /// The maximum number of relationships in a path.
  static let maximumSteps = 8

  /// Returns why an operation on values of a type does not yield another type; nil if it does. The source is nil for `@count` and `now()`.
  static func typeProblem(_ operation: DerivationOperation, of source: AttributeType?, as type: AttributeType) -> String? {
    let accepted: [AttributeType]
    switch operation {
    case .now: accepted = [.date]
    case .count: accepted = [.integer64, .integer32, .integer16]
    case .canonical, .uppercase, .lowercase:
      guard source == .string else { return "takes a String; '\(source?.rawValue ?? "")' is none" }
      accepted = [.string]
    case .copy: accepted = source.map(copies) ?? []
    case .minimum, .maximum:
      guard let source, source.isNumeric || source == .date || source == .string || source == .uri else {
        return "takes numbers, dates or texts"
      }
      accepted = copies(of: source)
    case .sum, .average:
      guard let source, source.isNumeric else { return "takes numbers" }
      accepted =
        switch source {
        case .decimal: [.decimal, .double, .float]
        case .double, .float: [.double, .float]
        default: operation == .sum ? [.integer64, .integer32, .integer16, .decimal, .double, .float] : [.double, .float]
        }
    }
    if accepted.contains(type) { return nil }
    return "gives \(accepted.map(\.rawValue).joined(separator: " or ")); the attribute is of the type '\(type.rawValue)'"
  }

  /// Returns the types that can hold all values of a type.
  private static func copies(of type: AttributeType) -> [AttributeType] {
    switch type {
    case .integer16: [.integer16, .integer32, .integer64]
    case .integer32: [.integer32, .integer64]
    case .float: [.float, .double]
    default: [type]
    }
  }
}

extension ModelValidation {
  private struct DerivedKey: Hashable {
    let entity: Int
    let name: String
  }

  /// Checks the expressions of all derived attributes, and that no attribute depends on itself.
  mutating func checkDerivations() {
    var sources: [DerivedKey: DerivedKey] = [:]
    var order: [DerivedKey] = []
    for (number, entity) in model.entities.enumerated() {
      for attribute in entity.attributes {
        // An empty expression is reported elsewhere.
        guard let text = attribute.derivationExpression, !text.isEmpty else { continue }
        let key = DerivedKey(entity: number, name: attribute.name)
        var source: DerivedKey?
        if let reason = derivationProblem(of: attribute, text, in: number, source: &source) {
          report(entity.name, attribute.name, "the derivation expression '\(text)' \(reason)")
        }
        order.append(key)
        sources[key] = source
      }
    }
    var settled: Set<DerivedKey> = []
    for start in order where !settled.contains(start) {
      var walk: Set<DerivedKey> = []
      var next: DerivedKey? = start
      while let key = next, !settled.contains(key) {
        guard walk.insert(key).inserted else {
          report(
            model.entities[key.entity].name, key.name, "the derived attribute builds on itself; break the circle of derivation expressions")
          break
        }
        next = sources[key]
      }
      settled.formUnion(walk)
    }
  }

  /// Returns whether an attribute can be part of a uniqueness constraint. A derived value must be computable before the row is written.
  func isUniquelyDerivable(_ attribute: AttributeDescription, of number: Int) -> Bool {
    guard let text = attribute.derivationExpression else { return true }
    guard let expression = DerivationExpression(text), let first = expression.path.first,
      case .attribute(let source)? = property(first, of: number)?.0
    else { return false }
    return source.derivationExpression == nil
  }

  /// Returns the error of an expression; nil if it is valid.
  ///
  /// - Parameter source: Receives the derived attribute on which the expression depends, if any.
  private func derivationProblem(
    of attribute: AttributeDescription, _ text: String, in number: Int, source: inout DerivedKey?
  ) -> String? {
    if attribute.isTransient { return "is of a transient attribute, which no store computes; make it persistent or remove the expression" }
    if attribute.type == .composite { return "is of a composite; derive its parts' values in attributes of their own" }
    if attribute.allowsExternalBinaryDataStorage { return "is of an attribute with external storage, which no store computes" }
    guard let expression = DerivationExpression(text) else {
      return "has none of the forms that a store can compute; \(DerivationExpression.forms)"
    }
    var entity = number
    var (stepCount, toManyName): (Int, String?) = (0, nil)
    for (index, name) in expression.path.enumerated() {
      let entityName = model.entities[entity].name
      guard let (found, declarer) = property(name, of: entity) else { return "names '\(name)', which is no property of '\(entityName)'" }
      switch found {
      case .fetchedProperty: return "names the fetched property '\(name)'; only attributes and relationships can be derived from"
      case .relationship(let relationship):
        if relationship.isTransient { return "leads over the transient relationship '\(name)', which no store knows" }
        stepCount += 1
        if stepCount > DerivationRules.maximumSteps { return "leads over more than \(DerivationRules.maximumSteps) relationships" }
        if relationship.isToMany {
          if !expression.operation.isAggregate {
            return "leads over the to-many relationship '\(name)'; make one value of many with @count, @sum, @min, @max or @avg"
          }
          if let toManyName {
            return "leads over two to-many relationships, '\(toManyName)' and '\(name)'; derive one of them by itself first"
          }
          toManyName = name
        }
        guard let destination = self.number(ofEntity: relationship.destinationEntityName) else { return nil }
        entity = destination
      case .attribute(let first):
        var (end, declarer) = (first, declarer)
        if first.type == .composite {
          let path = expression.path[index...].joined(separator: ".")
          guard case (.attribute(let part), let owner)? = property(path, of: entity), part.type != .composite else {
            return "ends with the composite '\(path)'; name one of its parts"
          }
          (end, declarer) = (part, owner)
        } else if index < expression.path.count - 1 {
          return "goes on behind the attribute '\(name)' of '\(entityName)'"
        }
        if expression.operation == .count { return "counts the values of an attribute; count the objects of a to-many relationship" }
        if expression.operation.isAggregate, toManyName == nil {
          return "leads over no to-many relationship whose values \(expression.operation.pathName ?? "") could take"
        }
        if end.isTransient { return "is taken of the transient attribute '\(end.name)', which no store knows" }
        if end.allowsExternalBinaryDataStorage { return "is taken of '\(end.name)', whose values may lie in files beside the store" }
        if end.derivationExpression != nil { source = DerivedKey(entity: declarer, name: end.name) }
        return DerivationRules.typeProblem(expression.operation, of: end.type, as: attribute.type)
      }
    }
    switch expression.operation {
    case .now: return DerivationRules.typeProblem(.now, of: nil, as: attribute.type)
    case .count where toManyName != nil:
      // The members of the last relationship are counted.
      return DerivationRules.typeProblem(.count, of: nil, as: attribute.type)
    default:
      return "ends with the relationship '\(expression.path.last ?? "")'; go on to an attribute of its objects, or count them with @count"
    }
  }
}

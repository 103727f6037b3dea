/// The validation rules for derived attributes.
enum DerivationRules {
  /// The maximum number of relationships in a path.
  static let maximumSteps = 8

  /// Returns why an operation on values of a type does not yield another type; nil if it does. The source is nil for `@count` and `now()`.
  static func typeProblem(_ operation: DerivationOperation, of source: AttributeType?, as type: AttributeType) -> String? {
    let accepted: [AttributeType]
    switch operation {
    case .now: accepted = [.date]
    case .count: accepted = integers
    case .canonical, .uppercase, .lowercase:
      guard source == .string else { return "takes a String, not '\(source?.rawValue ?? "")'" }
      accepted = [.string]
    case .copy: accepted = source?.traits.holders ?? []
    case .minimum, .maximum:
      guard let source, source.isNumeric || [.date, .text, .uri].contains(source.traits.resolvedType) else {
        return "takes numbers, dates or texts"
      }
      accepted = source.traits.holders
    case .sum, .average:
      guard let source, source.isNumeric else { return "takes numbers" }
      let reals: [AttributeType] = [.double, .float]
      accepted =
        switch source.traits.resolvedType {
        case .decimal: [.decimal] + reals
        case .real: reals.contains(source) ? reals : [source] + reals
        default: operation == .sum ? integers + [.decimal] + reals : reals
        }
    }
    if accepted.contains(type) { return nil }
    return "gives \(accepted.map(\.rawValue).joined(separator: " or ")); the attribute is of the type '\(type.rawValue)'"
  }

  /// The integer types, longest first.
  private static let integers: [AttributeType] = AttributeType.allCases.filter(\.isInteger).reversed()
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
            model.entities[key.entity].name, key.name,
            "the derived attribute depends on itself; remove the cycle of derivation expressions")
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
    if attribute.isTransient {
      return "belongs to a transient attribute, which stores do not compute; make it persistent or remove the expression"
    }
    if attribute.type == .composite { return "belongs to a composite; derive its elements in separate attributes" }
    if attribute.allowsExternalBinaryDataStorage { return "belongs to an attribute with external storage, which stores do not compute" }
    guard let expression = DerivationExpression(text) else {
      return "does not have a form that stores can compute; \(DerivationExpression.forms)"
    }
    var entity = number
    var (stepCount, toManyName): (Int, String?) = (0, nil)
    for (index, name) in expression.path.enumerated() {
      let entityName = model.entities[entity].name
      guard let (found, declarer) = property(name, of: entity) else { return "names '\(name)', which is not a property of '\(entityName)'" }
      switch found {
      case .fetchedProperty: return "names the fetched property '\(name)'; only attributes and relationships can be used"
      case .relationship(let relationship):
        if relationship.isTransient { return "uses the transient relationship '\(name)', which is not stored" }
        stepCount += 1
        if stepCount > DerivationRules.maximumSteps { return "uses more than \(DerivationRules.maximumSteps) relationships" }
        if relationship.isToMany {
          if !expression.operation.isAggregate {
            return "uses the to-many relationship '\(name)'; aggregate its values with @count, @sum, @min, @max or @avg"
          }
          if let toManyName {
            return "uses two to-many relationships, '\(toManyName)' and '\(name)'; derive one of them in a separate attribute first"
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
            return "ends with the composite '\(path)'; name one of its elements"
          }
          (end, declarer) = (part, owner)
        } else if index < expression.path.count - 1 {
          return "continues after the attribute '\(name)' of '\(entityName)'"
        }
        if expression.operation == .count { return "counts the values of an attribute; count the objects of a to-many relationship" }
        if expression.operation.isAggregate, toManyName == nil {
          return "has no to-many relationship for \(expression.operation.pathName ?? "")"
        }
        if end.isTransient { return "uses the transient attribute '\(end.name)', which is not stored" }
        if end.allowsExternalBinaryDataStorage { return "uses '\(end.name)', which has external storage" }
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
      return "ends with the relationship '\(expression.path.last ?? "")'; add an attribute of its objects, or count them with @count"
    }
  }
}

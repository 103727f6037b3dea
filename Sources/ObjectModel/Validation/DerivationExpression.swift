/// The operation of a derived attribute.
public enum DerivationOperation: String, Sendable, Hashable, CaseIterable {
  /// The value at the end of the path.
  case copy
  /// The text at the end of the path, without case and diacritics.
  case canonical
  /// The text at the end of the path in uppercase.
  case uppercase
  /// The text at the end of the path in lowercase.
  case lowercase
  /// The number of objects at the end of the path.
  case count
  /// The sum of the values at the end of the path; 0 if there are no values.
  case sum
  /// The minimum of the values.
  case minimum
  /// The maximum of the values.
  case maximum
  /// The mean of the values.
  case average
  /// The time of the object's last save.
  case now

  /// Whether the operation aggregates several values.
  public var isAggregate: Bool {
    switch self {
    case .count, .sum, .minimum, .maximum, .average: true
    case .copy, .canonical, .uppercase, .lowercase, .now: false
    }
  }

  /// Whether the operation transforms text.
  public var isText: Bool { self == .canonical || self == .uppercase || self == .lowercase }

  /// The name in a path, such as `@count`; nil for operations of other forms.
  var pathName: String? {
    switch self {
    case .count: "@count"
    case .sum: "@sum"
    case .minimum: "@min"
    case .maximum: "@max"
    case .average: "@avg"
    default: nil
    }
  }
}

/// A parsed derivation expression: an operation and a path of names.
struct DerivationExpression: Sendable, Hashable {
  let operation: DerivationOperation
  let path: [String]

  /// The supported forms, for error messages.
  static let forms =
    "possible are a path such as 'author.name'; 'canonical:(name)', 'uppercase:(name)' or 'lowercase:(name)' with such a path; 'items.@count'; "
    + "'items.@sum.price' or 'items.price.@sum' with @sum, @min, @max or @avg; and 'now()'"

  /// Parses an expression; nil if it has an unsupported form.
  init?(_ text: String) {
    let text = Self.trimmed(Substring(text))
    if text == "now()" {
      operation = .now
      path = []
      return
    }
    for function in [DerivationOperation.canonical, .uppercase, .lowercase] where text.hasPrefix(function.rawValue + ":") {
      let argument = Self.trimmed(text.dropFirst(function.rawValue.count + 1))
      guard argument.first == "(", argument.last == ")", argument.count > 2,
        let path = Self.names(Self.trimmed(argument.dropFirst().dropLast())), !path.contains(where: { $0.hasPrefix("@") })
      else { return nil }
      operation = function
      self.path = path
      return
    }
    guard var names = Self.names(text) else { return nil }
    guard let position = names.firstIndex(where: { $0.hasPrefix("@") }) else {
      operation = .copy
      path = names
      return
    }
    let name = names.remove(at: position)
    guard let aggregate = DerivationOperation.allCases.first(where: { $0.pathName == name }), position > 0,
      !names.contains(where: { $0.hasPrefix("@") }),
      // `@count` must be the last name.
      aggregate != .count || position == names.count
    else { return nil }
    operation = aggregate
    path = names
  }

  private static func names(_ text: Substring) -> [String]? {
    let names = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    let isGood = names.allSatisfy { name in
      !name.isEmpty && name != "@" && !name.contains { $0.isWhitespace || "()'\",:".contains($0) }
    }
    return isGood ? names : nil
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var text = text
    while text.first?.isWhitespace == true { text.removeFirst() }
    while text.last?.isWhitespace == true { text.removeLast() }
    return text
  }
}

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

import Foundation

/// The validation rules for attributes of a model.
enum AttributeRules {
  static func problems(of attribute: AttributeDescription) -> [String] {
    var problems: [String] = []
    switch attribute.type {
    case .undefined where !attribute.isTransient:
      problems.append("only a transient attribute may have no type; give it a type or make it transient")
    default: break
    }
    if let expression = attribute.derivationExpression, expression.isEmpty { problems.append("the derivation expression is empty") }
    if let filter = attribute.derivationFilter, let reason = filterProblem(filter, attribute) { problems.append(reason) }
    problems += boundProblems(of: attribute)
    problems += defaultProblems(of: attribute)
    return problems
  }

  /// Returns warnings: definitions that Core Data accepts, but that few or no values satisfy.
  static func warnings(of attribute: AttributeDescription) -> [String] {
    let validation = attribute.validation
    var warnings: [String] = []
    if let minimum = validation.minimum, let maximum = validation.maximum, exceeds(minimum, maximum) {
      warnings.append("the minimum is greater than the maximum, so no value is valid")
    }
    for (name, length) in [("least", validation.minimumLength), ("greatest", validation.maximumLength)] {
      if let length, length < 0 { warnings.append("the \(name) length is negative") }
    }
    if let least = validation.minimumLength, let most = validation.maximumLength, least > most {
      warnings.append("the least length is greater than the greatest, so no value is valid")
    }
    if attribute.type == .string, let pattern = validation.pattern, AttributeChecker.expression(forWhole: pattern) == nil {
      warnings.append("the regular expression does not compile, so it is not checked; it must be one of ICU's")
    }
    guard warnings.isEmpty, defaultProblems(of: attribute).isEmpty, boundProblems(of: attribute).isEmpty, !attribute.defaultValue.isNull,
      let failure = AttributeChecker(attribute).failure(of: attribute.defaultValue)
    else { return warnings }
    switch failure {
    case .stringTooShort, .stringTooLong:
      return ["the default value's length is outside the attribute's bounds, so a new object cannot be saved with it"]
    case .patternMismatch:
      return ["the default value does not match the attribute's regular expression, so a new object cannot be saved with it"]
    default: return ["the default value is outside the attribute's bounds, so a new object cannot be saved with it"]
    }
  }

  /// Returns the error of a derivation filter, apart from its predicate, which this module cannot parse.
  private static func filterProblem(_ filter: String, _ attribute: AttributeDescription) -> String? {
    guard let text = attribute.derivationExpression else {
      return "the derivation filter '\(filter)' is of an attribute that is not derived; add the derivation expression or remove the filter"
    }
    if filter.allSatisfy(\.isWhitespace) { return "the derivation filter is empty; remove it to take all members" }
    if ModelNames.hasControlCharacters(filter) { return "the derivation filter has a control character; write it in one line" }
    guard let expression = DerivationExpression(text), !expression.operation.isAggregate else { return nil }
    return
      "the derivation filter '\(filter)' is of '\(text)', which takes one value only; filter an aggregate over a to-many relationship, such as 'items.@count'"
  }

  private static func boundProblems(of attribute: AttributeDescription) -> [String] {
    let validation = attribute.validation
    var problems: [String] = []
    let acceptsRange = attribute.type.isNumeric || attribute.type == .date
    for (name, bound) in [("minimum", validation.minimum), ("maximum", validation.maximum)] {
      guard let bound else { continue }
      if !acceptsRange {
        problems.append("the type '\(attribute.type.rawValue)' takes no \(name); remove it")
      } else if let reason = attribute.type.modelProblem(of: bound) {
        problems.append("the \(name) \(reason)")
      }
    }
    for (name, length) in [("least", validation.minimumLength), ("greatest", validation.maximumLength)] {
      if length != nil, attribute.type != .string {
        problems.append("the type '\(attribute.type.rawValue)' takes no \(name) length; remove it")
      }
    }
    if validation.pattern != nil, attribute.type != .string {
      problems.append("the type '\(attribute.type.rawValue)' takes no regular expression; remove it")
    }
    return problems
  }

  private static func defaultProblems(of attribute: AttributeDescription) -> [String] {
    let value = attribute.defaultValue
    guard !value.isNull else { return [] }
    if attribute.type == .undefined || attribute.type == .composite {
      return ["an attribute of the type '\(attribute.type.rawValue)' takes no default value; remove it"]
    }
    return attribute.type.modelProblem(of: value).map { ["the default value \($0)"] } ?? []
  }

  private static func exceeds(_ a: Slot, _ b: Slot) -> Bool {
    switch (a, b) {
    case (.int(let a), .int(let b)): a > b
    case (.real(let a), .real(let b)): a > b
    case (.bytes(let a), .bytes(let b)): b.lexicographicallyPrecedes(a)
    default: false
    }
  }
}

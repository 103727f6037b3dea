// AttributeRules: what an attribute's type, default value and bounds must be.
import Foundation

/// The rules of attributes.
enum AttributeRules {
  /// The mistakes of an attribute, in words.
  ///
  /// A default value outside the attribute's own bounds is a mistake too: every new object would begin invalid.
  static func problems(of attribute: AttributeDescription) -> [String] {
    var problems: [String] = []
    switch attribute.type {
    case .undefined where !attribute.isTransient:
      problems.append("only a transient attribute may have no type; give it a type or make it transient")
    default: break
    }
    if let expression = attribute.derivationExpression, expression.isEmpty { problems.append("the derivation expression is empty") }
    if let filter = attribute.derivationFilter, let reason = filterProblem(filter, attribute) { problems.append(reason) }
    let bounds = boundProblems(of: attribute)
    problems += bounds
    problems += defaultProblems(of: attribute, boundsAreGood: bounds.isEmpty)
    return problems
  }

  /// What is wrong with a filter apart from its predicate, which a model cannot read.
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
    let takesRange = attribute.type.isNumeric || attribute.type == .date
    for (name, bound) in [("minimum", validation.minimum), ("maximum", validation.maximum)] {
      guard let bound else { continue }
      if !takesRange {
        problems.append("the type '\(attribute.type.rawValue)' takes no \(name); remove it")
      } else if let reason = valueProblem(bound, type: attribute.type) {
        problems.append("the \(name) \(reason)")
      }
    }
    if problems.isEmpty, let minimum = validation.minimum, let maximum = validation.maximum, exceeds(minimum, maximum) {
      problems.append("the minimum is greater than the maximum")
    }
    for (name, length) in [("least", validation.minimumLength), ("greatest", validation.maximumLength)] {
      guard let length else { continue }
      if attribute.type != .string { problems.append("the type '\(attribute.type.rawValue)' takes no \(name) length; remove it") }
      if length < 0 { problems.append("the \(name) length is negative") }
    }
    if let least = validation.minimumLength, let most = validation.maximumLength, least > most {
      problems.append("the least length is greater than the greatest")
    }
    if let pattern = validation.pattern {
      if attribute.type != .string {
        problems.append("the type '\(attribute.type.rawValue)' takes no regular expression; remove it")
      } else if AttributeChecker.expression(forWhole: pattern) == nil {
        problems.append("the regular expression does not compile; it must be one of ICU's")
      }
    }
    return problems
  }

  private static func defaultProblems(of attribute: AttributeDescription, boundsAreGood: Bool) -> [String] {
    let value = attribute.defaultValue
    guard !value.isNull else { return [] }
    if attribute.type == .undefined || attribute.type == .composite {
      return ["an attribute of the type '\(attribute.type.rawValue)' takes no default value; remove it"]
    }
    if let reason = valueProblem(value, type: attribute.type) { return ["the default value \(reason)"] }
    guard boundsAreGood, let failure = AttributeChecker(attribute).failure(of: value) else { return [] }
    switch failure {
    case .stringTooShort, .stringTooLong: return ["the default value's length is outside the attribute's bounds"]
    case .patternMismatch: return ["the default value does not match the attribute's regular expression"]
    default: return ["the default value is outside the attribute's bounds"]
    }
  }

  /// Why a slot is no value of a type; nil when it is one.
  private static func valueProblem(_ slot: Slot, type: AttributeType) -> String? {
    switch AttributeChecker.typeFailure(of: slot, type: type) {
    case nil: break
    case .integerOutOfRange: return "does not fit into the type '\(type.rawValue)'"
    default: return "is not of the type '\(type.rawValue)'"
    }
    switch (slot, type) {
    case (.null, _): return "is not of the type '\(type.rawValue)'"
    case (.real(let value), _) where value.isNaN: return "is not a number"
    case (.bytes(let data), .decimal) where DecimalCoding.decode(data)?.isNaN == true: return "is not a number"
    case (.text(let text), .uri) where URL(string: text) == nil: return "is not a URI"
    default: return nil
    }
  }

  /// Whether one value of a type is greater than another.
  private static func exceeds(_ a: Slot, _ b: Slot) -> Bool {
    switch (a, b) {
    case (.int(let a), .int(let b)): a > b
    case (.real(let a), .real(let b)): a > b
    case (.bytes(let a), .bytes(let b)): b.lexicographicallyPrecedes(a)
    default: false
    }
  }
}

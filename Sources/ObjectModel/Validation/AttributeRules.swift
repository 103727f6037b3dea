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
    if let reason = mergeRuleProblem(of: attribute) { problems.append(reason) }
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

  /// Returns the error of the rule by which synchronization merges the attribute. An unknown rule is an error, because merging by another
  /// one loses values.
  private static func mergeRuleProblem(of attribute: AttributeDescription) -> String? {
    guard let text = attribute.userInfo[SyncMergeRule.userInfoKey] else { return nil }
    guard let rule = SyncMergeRule(rawValue: text) else {
      let names = SyncMergeRule.allCases.map(\.rawValue) + ["custom:NAME"]
      let advice = SimilarName.of(text, among: names).map { "did you mean '\($0)'?" } ?? "the rules are \(names.joined(separator: ", "))"
      return "'\(SyncMergeRule.userInfoKey)' in the user info is '\(text)', which is not a merge rule; \(advice)"
    }
    if rule == .latest { return nil }
    if attribute.derivationExpression != nil {
      return "the merge rule '\(text)' has no effect on a derived attribute, which each device computes; remove it"
    }
    if attribute.isTransient { return "the merge rule '\(text)' has no effect on a transient attribute, which is not sent; remove it" }
    if case .custom = rule, attribute.allowsExternalBinaryDataStorage {
      return "the merge rule '\(text)' is for values in the database; remove it, or do not allow external storage"
    }
    if rule.supports(attribute.type) { return nil }
    if attribute.type == .composite { return "a composite takes no merge rule; declare '\(text)' for its parts" }
    let types = AttributeType.allCases.filter { rule.supports($0) }.map { "'\($0.rawValue)'" }.joined(separator: ", ")
    return "the type '\(attribute.type.rawValue)' does not support the merge rule '\(text)', which is for \(types); remove it"
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

/// The limits of composites.
enum CompositeRules {
  /// The maximum nesting depth of composites.
  static let maximumDepth = 16
}

extension ModelValidation {
  /// Checks the names and parts of the model's composites, and that no composite contains itself.
  mutating func checkComposites() {
    var names: Set<String> = []
    for composite in model.composites {
      let name = composite.name
      if name.isEmpty { report(nil, nil, "a composite needs a name") }
      if !names.insert(name).inserted { report(nil, name, "two composites have this name") }
      if composite.elements.isEmpty { report(nil, name, "the composite has no parts; add an attribute") }
      var parts: Set<String> = []
      for element in composite.elements {
        if let problem = ModelNames.problem(ofProperty: element.name) { report(name, element.name, problem) }
        if !parts.insert(element.name).inserted { report(name, element.name, "two parts of the composite have this name") }
        for reason in AttributeRules.problems(of: element) { report(name, element.name, reason) }
        if element.isTransient {
          report(name, element.name, "a part of a composite cannot be transient; make the composite attribute transient")
        }
        if element.derivationExpression != nil { report(name, element.name, "a part of a composite cannot be derived") }
        if let reason = compositeProblem(of: element) { report(name, element.name, reason) }
      }
      if isTooDeep(composite) {
        report(nil, name, "the composite contains itself, or lies deeper than \(CompositeRules.maximumDepth) levels; break the chain")
      }
    }
  }

  /// Returns why an attribute does not match the composites of the model; nil if it does.
  func compositeProblem(of attribute: AttributeDescription) -> String? {
    guard attribute.type == .composite else {
      return attribute.compositeName == nil
        ? nil : "only an attribute of the type 'Composite' names a composite; change the type or remove the name"
    }
    guard let name = attribute.compositeName else { return "a composite attribute needs the name of a composite of the model" }
    return model.composite(named: name) == nil ? "the composite '\(name)' is not in the model; add it" : nil
  }

  /// Returns the part of a composite attribute at a dotted path; nil if there is none.
  func part(_ path: Substring, of attribute: AttributeDescription) -> AttributeDescription? {
    guard let composite = attribute.compositeName.flatMap({ model.composite(named: $0) }) else { return nil }
    let names = path.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let element = composite.elements.first(where: { $0.name == names[0] }) else { return nil }
    return names.count == 1 ? element : part(names[1], of: element)
  }

  /// Returns the number of columns of an attribute: one, or the sum over a composite's parts. Numbers above ``maximumProperties`` are
  /// reported as one more than it.
  func columnCount(of attribute: AttributeDescription, depth: Int = 0, known: inout [String: Int]) -> Int {
    // Excessive depth is reported elsewhere.
    guard let name = attribute.compositeName, let composite = model.composite(named: name), depth < CompositeRules.maximumDepth else {
      return 1
    }
    if let count = known[name] { return count }
    let count = composite.elements.reduce(0) { min($0 + columnCount(of: $1, depth: depth + 1, known: &known), Self.maximumProperties + 1) }
    known[name] = count
    return count
  }

  /// Returns whether a composite contains itself, or is nested too deeply. Each level is visited once, regardless of the number of paths to
  /// it.
  private func isTooDeep(_ composite: CompositeDescription) -> Bool {
    var level: Set<String> = [composite.name]
    for _ in 0..<CompositeRules.maximumDepth {
      let composites = level.compactMap { model.composite(named: $0) }
      level = Set(composites.flatMap(\.elements).compactMap(\.compositeName))
      if level.isEmpty { return false }
    }
    return true
  }
}

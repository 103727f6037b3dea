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

package import ObjectModel

/// The validated filter of a derived attribute, which selects the members of its aggregate.
///
/// The result for an object may change only when the object itself is written. The filter can therefore compare attributes of the object,
/// including parts of composite attributes, with constants and each other, also through functions, and test them and to-one relationships
/// for being missing. It can use another derived attribute only if that depends on its own object alone.
package struct DerivationFilter: Sendable {
  /// The condition on a member.
  package let predicate: ResolvedPredicate
  /// The constants that it refers to by index.
  package let constants: [ResolvedConstant]
  /// The number of the members' entity.
  package let entity: Int
  /// The attributes and to-one relationships that it uses, by slot.
  package let slots: [CompiledSlot]
  /// The dependencies of its results other than its own text: the derivations of its attributes, and the version of the text comparison
  /// rules.
  package let basis: [String]

  /// The maximum nesting: the limit of a store's query language inside a larger statement.
  package static let maximumDepth = 12
  /// The maximum number of comparisons.
  package static let maximumSize = 200

  /// Validates the filter of a derived attribute; nil if it has none.
  ///
  /// - Throws: ``PredicateFormatError`` or ``FetchPredicateError``, each with advice.
  package init?(of derivation: CompiledDerivation, in model: CompiledModel) throws {
    guard let format = derivation.filter, let step = derivation.filteredStep else { return nil }
    let predicate = try FetchPredicate(format: format, argumentArray: [])
    try PredicateDepth.check(predicate)
    try FilterRestrictions.check(predicate)
    entity = derivation.steps[step].destinationEntity
    let fetch = try FetchResolver(model: model).resolve(predicate, entity: model.entities[entity])
    var walk = FilterVisitor(model: model, entity: model.entities[entity])
    try walk.visit(fetch.predicate, depth: 1)
    self.predicate = fetch.predicate
    constants = fetch.constants
    slots = walk.slots.sorted { $0.key < $1.key }.map(\.value)
    // Values derived from a single object are mostly transformed texts.
    let needsVersion = walk.comparesTexts || !walk.identities.isEmpty
    basis = walk.identities.sorted() + (needsVersion ? [ExpressionFunctions.version] : [])
  }

  /// Returns the errors in the filters of a model, in the order of the model.
  package static func issues(in model: CompiledModel) -> [ModelIssue] {
    model.derivations.compactMap { derivation in
      do {
        _ = try DerivationFilter(of: derivation, in: model)
        return nil
      } catch {
        return ModelIssue(
          entityName: model.entities[derivation.entity].name, propertyName: derivation.slot.name,
          reason: "the derivation filter '\(derivation.filter ?? "")' cannot be used: \(error)")
      }
    }
  }
}

/// Rejects constructs that no filter supports, whatever the model, before the predicate is simplified.
private enum FilterRestrictions {
  static func check(_ predicate: FetchPredicate) throws(FetchPredicateError) {
    switch predicate {
    case .constant, .block: break
    case .not(let item): try check(item)
    case .and(let items), .or(let items): for item in items { try check(item) }
    case .comparison(let comparison):
      switch comparison.op {
      case .matches:
        throw rejection("MATCHES", "Its regular expressions are not of one version of the library; use LIKE, BEGINSWITH or CONTAINS.")
      case .search: throw rejection("SEARCH", "Use CONTAINS[cd].")
      default: break
      }
      if comparison.options.contains(.localeSensitive) {
        throw rejection("A comparison by locale", "It would not be the same on every machine; use [c], [d] or [cd].")
      }
      try check(comparison.left)
      try check(comparison.right)
    }
  }

  private static func check(_ expression: FetchExpression) throws(FetchPredicateError) {
    switch expression {
    case .constant, .evaluatedObject, .keyPath: break
    case .variable(let name): throw rejection("The variable $\(name)", "Write a constant.")
    case .path(let base, _), .element(let base, _): try check(base)
    case .aggregate(let items): for item in items { try check(item) }
    case .function(let name, let arguments):
      let function = ResolvedFunction(name: name)
      if function == nil, ["now", "now:"].contains(name.lowercased()) {
        throw rejection("now()", "The value would be out of date without a save; write a constant, or ask by a fetch.")
      }
      if function?.isRandom ?? false || function == .relevance { throw rejection("The function \(name)", "Leave it out.") }
      for argument in arguments { try check(argument) }
    case .subquery: throw rejection("SUBQUERY", "Derive the number of its objects in the members' entity, and fetch by that.")
    case .conditional(let condition, let first, let second):
      try check(condition)
      try check(first)
      try check(second)
    }
  }

  static func rejection(_ part: String, _ advice: String) -> FetchPredicateError {
    .unsupported(part: "\(part) in the filter of a derived attribute", advice: advice)
  }
}

/// Collects the properties of a resolved filter, and rejects those outside the member's own row.
private struct FilterVisitor {
  let model: CompiledModel
  let entity: CompiledEntity
  private(set) var slots: [Int: CompiledSlot] = [:]
  private(set) var identities: Set<String> = []
  private(set) var comparesTexts = false
  private var size = 0

  init(model: CompiledModel, entity: CompiledEntity) {
    self.model = model
    self.entity = entity
  }

  mutating func visit(_ predicate: ResolvedPredicate, depth: Int) throws(FetchPredicateError) {
    guard depth <= DerivationFilter.maximumDepth else { throw .nestingTooDeep(limit: DerivationFilter.maximumDepth) }
    switch predicate {
    case .constant: break
    case .and(let items), .or(let items): for item in items { try visit(item, depth: depth + 1) }
    case .isNull(.path(let path), _):
      try count()
      if path.terminal == .object, path.steps.count == 1 {
        let relationship = path.steps[0].relationship
        let slot = model.entities[relationship.sourceEntity].slots[relationship.index]
        slots[slot.index] = slot
      } else {
        try visit(path, isCompared: false)
      }
    case .isNull(let expression, _):
      try count()
      try visit(expression, depth: depth + 1)
    case .comparison(let comparison):
      try count()
      if comparison.isFolded || comparison.op.isTextOperator { comparesTexts = true }
      try visit(comparison.left, depth: depth + 1)
      switch comparison.right {
      case .expression(let expression): try visit(expression, depth: depth + 1)
      case .range(let low, let high):
        try visit(low, depth: depth + 1)
        try visit(high, depth: depth + 1)
      case .list: break
      }
    case .exists: throw outside("A condition on the members of a to-many relationship")
    case .block(let block, _): throw .blockPredicate(name: block.name)
    }
  }

  private mutating func count() throws(FetchPredicateError) {
    size += 1
    guard size <= DerivationFilter.maximumSize else {
      throw FilterRestrictions.rejection("More than \(DerivationFilter.maximumSize) comparisons", "Use IN with a list.")
    }
  }

  private mutating func visit(_ expression: ResolvedExpression, depth: Int) throws(FetchPredicateError) {
    guard depth <= DerivationFilter.maximumDepth else { throw .nestingTooDeep(limit: DerivationFilter.maximumDepth) }
    switch expression {
    case .constant: break
    case .path(let path): try visit(path, isCompared: true)
    case .aggregate: throw outside("A value of the members of a to-many relationship")
    case .groupAggregate: throw outside("An aggregate")
    case .function(_, let arguments, _):
      comparesTexts = true
      for argument in arguments { try visit(argument, depth: depth + 1) }
    case .conditional(let condition, let first, let second):
      try visit(condition, depth: depth + 1)
      try visit(first, depth: depth + 1)
      try visit(second, depth: depth + 1)
    }
  }

  private mutating func visit(_ path: ResolvedPath, isCompared: Bool) throws(FetchPredicateError) {
    guard path.steps.isEmpty else {
      throw outside("The path \((path.steps.map(\.relationship.name) + terminalName(path)).joined(separator: "."))")
    }
    guard case .attribute(let attribute) = path.terminal else {
      throw outside(path.terminal == .object ? "A comparison of objects" : "A comparison of entities")
    }
    let slot = attribute.slot
    if isCompared, [.binary, .opaque].contains(attribute.type) {
      throw FilterRestrictions.rejection(
        "A comparison of \(slot.name), which is of type \(attribute.type.name),", "Ask only whether it is nil.")
    }
    if slot.isDerived {
      guard let derivation = model.derivations.first(where: { $0.slot === slot }), derivation.isOfOneObject else {
        throw FilterRestrictions.rejection(
          "\(slot.name), which is derived from other objects,", "Name attributes that are stored, or derived from their own object alone.")
      }
      identities.insert(derivation.identity)
    }
    slots[slot.index] = slot
  }

  private func terminalName(_ path: ResolvedPath) -> [String] {
    switch path.terminal {
    case .attribute(let attribute): [attribute.slot.name]
    case .object: []
    case .entity: ["entity"]
    }
  }

  private func outside(_ part: String) -> FetchPredicateError {
    FilterRestrictions.rejection(
      part,
      "Name attributes of \(entity.name) alone, or ask whether one of its to-one relationships is nil; keep what lies further in such an attribute."
    )
  }
}

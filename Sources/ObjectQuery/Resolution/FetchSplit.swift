package import ObjectModel

/// A fetch split into a part for the store, and a rest to evaluate in memory for each object that the store returns.
///
/// From a conjunction, every condition that the store supports goes to the store. From a disjunction, none does, unless every side has such
/// a part. For `p AND (block OR q)` the store fetches `p`; for `(p AND block) OR q` it fetches `p OR q`.
package struct FetchSplit: Sendable {
  /// The part for stores, without conditions that require evaluation in memory. It has no order if stores do not support a sort key.
  package let stored: FetchSpecification
  /// The condition to evaluate for each object; nil if the stores evaluate the whole predicate.
  package let remaining: FetchPredicate?
  /// Whether the results must be sorted in memory.
  package let sortsInMemory: Bool

  /// Whether stores support the whole fetch.
  package var isWhole: Bool { remaining == nil && !sortsInMemory }

  /// Splits a fetch. Complexity: O(*n*) in the size of the predicate.
  ///
  /// - Throws: ``FetchPredicateError`` for parts that cannot be evaluated in memory either.
  package init(_ specification: FetchSpecification, model: CompiledModel) throws(FetchPredicateError) {
    guard let entity = model.entity(named: specification.entityName) else {
      throw FetchPredicateError.unknownEntity(name: specification.entityName)
    }
    if let predicate = specification.predicate { try PredicateDepth.check(predicate) }
    let splitter = Splitter(entity: entity, resolver: FetchResolver(model: model))
    var stored = specification
    var remaining: [FetchPredicate] = []
    if let predicate = specification.predicate {
      for condition in Splitter.conditions(of: predicate) {
        if !(try splitter.isWhole(condition)) { remaining.append(condition) }
      }
      if !remaining.isEmpty { stored.predicate = try splitter.weakened(predicate, isNegated: false) }
    }
    var sortsInMemory = false
    for descriptor in specification.sortDescriptors where !(try splitter.isSortable(descriptor)) { sortsInMemory = true }
    if sortsInMemory { stored.sortDescriptors = [] }
    self.stored = stored
    self.remaining = remaining.count > 1 ? .and(remaining) : remaining.first
    self.sortsInMemory = sortsInMemory
  }
}

/// Classifies the parts of a predicate. ``PredicateDepth`` bounds the recursion.
private struct Splitter {
  let entity: CompiledEntity
  let resolver: FetchResolver

  static func conditions(of predicate: FetchPredicate) -> [FetchPredicate] {
    if case .and(let items) = predicate { return items.flatMap(conditions) }
    return [predicate]
  }

  /// Returns whether stores support all of a condition.
  func isWhole(_ predicate: FetchPredicate) throws(FetchPredicateError) -> Bool {
    switch predicate {
    case .constant: return true
    case .block: return false
    case .not(let item): return try isWhole(item)
    case .and(let items), .or(let items):
      // Check every item, so that errors after an unsupported one are found too.
      var result = true
      for item in items where !(try isWhole(item)) { result = false }
      return result
    case .comparison: return try isStored { () throws(FetchPredicateError) in _ = try resolver.resolve(predicate, entity: entity) }
    }
  }

  func isSortable(_ descriptor: FetchSortDescriptor) throws(FetchPredicateError) -> Bool {
    try isStored { () throws(FetchPredicateError) in _ = try resolver.resolve(nil, sortDescriptors: [descriptor], entity: entity) }
  }

  private func isStored(_ resolve: () throws(FetchPredicateError) -> Void) throws(FetchPredicateError) -> Bool {
    do {
      try resolve()
      return true
    } catch .transientKey, .blockPredicate {
      return false
    }
  }

  /// Returns a condition that stores support and that the given one, or its negation, implies; nil if there is only the trivial one.
  func weakened(_ predicate: FetchPredicate, isNegated: Bool) throws(FetchPredicateError) -> FetchPredicate? {
    switch predicate {
    case .constant(let value): return .constant(value != isNegated)
    case .block: return nil
    case .not(let item): return try weakened(item, isNegated: !isNegated)
    case .comparison:
      guard try isWhole(predicate) else { return nil }
      return isNegated ? .not(predicate) : predicate
    case .and(let items), .or(let items):
      let isConjunction = if case .and = predicate { !isNegated } else { isNegated }
      var weaker: [FetchPredicate] = []
      for item in items {
        if let item = try weakened(item, isNegated: isNegated) {
          weaker.append(item)
        } else if !isConjunction {
          return nil
        }
      }
      if isConjunction { return weaker.isEmpty ? nil : .and(weaker) }
      return .or(weaker)
    }
  }
}

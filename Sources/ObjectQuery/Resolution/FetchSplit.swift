// FetchSplit: what of a fetch a store can be asked, and what remains for the context.
package import ObjectModel

/// A fetch in two parts: the part that a store can answer, and what remains to be asked of each object that the store finds.
///
/// Of a conjunction, every condition that can be asked goes to the store; of a disjunction nothing, unless each of its sides has a part that can be asked:
/// of `p AND (block OR q)` the store is asked `p`, of `(p AND block) OR q` it is asked `p OR q`.
package struct FetchSplit: Sendable {
  /// The part for stores: no condition of it can be asked in memory only. It has no order if a sort key cannot be asked.
  package let stored: FetchSpecification
  /// What remains to be asked of each object; nil when the stores answer the whole predicate.
  package let remaining: FetchPredicate?
  /// Whether the order has to be made in memory.
  package let sortsInMemory: Bool

  /// Whether stores can answer the whole fetch.
  package var isWhole: Bool { remaining == nil && !sortsInMemory }

  /// Splits a fetch. Complexity: linear in the predicate's size.
  ///
  /// - Throws: ``FetchPredicateError`` for whatever cannot be asked in memory either.
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

/// Judges the parts of a predicate. Recursion is bounded by ``PredicateDepth``.
private struct Splitter {
  let entity: CompiledEntity
  let resolver: FetchResolver

  /// The conditions that must all hold.
  static func conditions(of predicate: FetchPredicate) -> [FetchPredicate] {
    if case .and(let items) = predicate { return items.flatMap(conditions) }
    return [predicate]
  }

  /// Whether a store can answer all of a condition.
  func isWhole(_ predicate: FetchPredicate) throws(FetchPredicateError) -> Bool {
    switch predicate {
    case .constant: return true
    case .block: return false
    case .not(let item): return try isWhole(item)
    case .and(let items), .or(let items):
      // Every item is judged: a mistake behind one that stays is a mistake.
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

  /// A condition that a store can answer and that holds wherever the given one (or its opposite) does; nil when there is none but truth.
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

import ObjectModel

extension PredicateResolution {
  private struct Subject: Hashable {
    let left: ResolvedExpression
    let domain: ResolvedDomain
    let options: ComparisonOptions
  }

  /// Returns the operands of AND or OR with `x == 1 OR x == 2 OR x == 3` replaced by `x IN {1, 2, 3}`, which stores evaluate with one
  /// lookup. In an AND, it does the same for `!=`.
  mutating func mergingEqualities(_ items: [ResolvedPredicate], isConjunction: Bool) -> [ResolvedPredicate] {
    guard items.count > 2 else { return items }
    var indexes: [Subject: [Int]] = [:]
    for (index, item) in items.enumerated() {
      if case .comparison(let comparison) = item, comparison.isNegated == isConjunction, isEqualityWithConstants(comparison) {
        indexes[Subject(left: comparison.left, domain: comparison.domain, options: comparison.options), default: []].append(index)
      }
    }
    var merged: [Int: ResolvedPredicate] = [:]
    var dropped: Set<Int> = []
    for (subject, indexes) in indexes where indexes.count > 2 {
      guard let list = list(of: indexes.map { items[$0] }) else { continue }
      merged[indexes[0]] = .comparison(
        ResolvedComparison(
          left: subject.left, op: .in, right: .list(list), domain: subject.domain, options: subject.options, isNegated: isConjunction))
      dropped.formUnion(indexes.dropFirst())
    }
    return items.indices.filter { !dropped.contains($0) }.map { merged[$0] ?? items[$0] }
  }

  private func isEqualityWithConstants(_ comparison: ResolvedComparison) -> Bool {
    guard comparison.domain != .mixedDecimal, !comparison.options.contains(.localeSensitive) else { return false }
    switch (comparison.op, comparison.right) {
    case (.equal, .expression(.constant(let number, _))):
      if case .slot(let slot) = constants[number] { return !SlotComparison.isMissing(slot) }
      return true
    case (.in, .list): return true
    default: return false
    }
  }

  /// Returns the index of a list constant with the right sides of comparisons.
  private mutating func list(of items: [ResolvedPredicate]) -> Int? {
    var slots: [Slot] = []
    var ids: [ManagedObjectID] = []
    var seen: Set<ManagedObjectID> = []
    for case .comparison(let comparison) in items {
      let number: Int
      switch comparison.right {
      case .expression(.constant(let constant, _)), .list(let constant): number = constant
      default: return nil
      }
      switch constants[number] {
      case .slot(let slot): slots.append(slot)
      case .slots(let more): slots += more
      case .object(let id): if seen.insert(id).inserted { ids.append(id) }
      case .objects(let more): for id in more where seen.insert(id).inserted { ids.append(id) }
      }
    }
    guard slots.isEmpty != ids.isEmpty else { return nil }
    return add(slots.isEmpty ? .objects(ids) : .slots(PredicateResolution.ascending(slots)))
  }
}

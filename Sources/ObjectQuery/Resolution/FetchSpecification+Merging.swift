package import ObjectModel

extension FetchSpecification {
  /// Returns the dictionary fetch with its sort keys as additional columns and without an offset, so that its rows can be merged with those
  /// of other stores.
  ///
  /// - Parameter entity: The fetched entity.
  package func forMerging(of entity: CompiledEntity) -> FetchSpecification {
    var specification = self
    let names = Dictionary(propertiesToFetch.map { ($0.name, $0.expression) }) { first, _ in first }
    if propertiesToFetch.isEmpty { specification.propertiesToFetch = entity.storedAttributeNames.map { .keyPath($0) } }
    specification.propertiesToFetch += sortDescriptors.enumerated().map { number, descriptor in
      // No name that a caller uses looks like this.
      .expression(descriptor.expression.replacing(names), as: "\u{0}\(number)")
    }
    if fetchLimit > 0 {
      let window = fetchLimit.addingReportingOverflow(fetchOffset)
      specification.fetchLimit = window.overflow ? 0 : window.partialValue
    }
    specification.fetchOffset = 0
    return specification
  }
}

extension CompiledEntity {
  /// The attributes in dictionaries if no properties are specified.
  var storedAttributeNames: [String] {
    slots.filter { $0.attribute != nil && !$0.isTransient && $0.kind != .none }.map(\.name)
  }
}

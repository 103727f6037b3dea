// FetchSpecification+Merging: fetches of dictionaries whose rows can be merged with other stores' rows.
package import ObjectModel

extension FetchSpecification {
  /// The fetch with its sort keys as further columns behind the others, and without a part of the rows left out.
  ///
  /// - Parameter entity: The entity asked.
  package func forMerging(of entity: CompiledEntity) -> FetchSpecification {
    var specification = self
    let names = Dictionary(propertiesToFetch.map { ($0.name, $0.expression) }) { first, _ in first }
    if propertiesToFetch.isEmpty { specification.propertiesToFetch = entity.storedAttributeNames.map { .keyPath($0) } }
    specification.propertiesToFetch += sortDescriptors.enumerated().map { number, descriptor in
      // No name that a caller gives looks like it.
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
  /// The attributes that dictionaries hold when none are chosen.
  var storedAttributeNames: [String] {
    slots.filter { $0.attribute != nil && !$0.isTransient && $0.kind != .none }.map(\.name)
  }
}

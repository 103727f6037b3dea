package import ObjectModel

/// A uniqueness constraint that an entity declares or inherits.
package struct DeclaredConstraint: Sendable {
  /// The number of the declaring entity. The constraint applies to it and its subentities.
  package let entity: Int
  package let names: [String]
  package let slots: [CompiledSlot]
}

extension CompiledEntity {
  /// Returns the uniqueness constraints that apply to the entity.
  package func constraints(in model: CompiledModel) -> [DeclaredConstraint] {
    var result: [DeclaredConstraint] = []
    var next: CompiledEntity? = self
    while let declaring = next {
      for names in declaring.entityDescription.uniquenessConstraints {
        let slots = names.compactMap { name in self.slots.first { $0.name == name } }
        guard slots.count == names.count, !slots.isEmpty else { continue }
        result.append(DeclaredConstraint(entity: declaring.number, names: names, slots: slots))
      }
      next = declaring.parent.map { model.entities[$0] }
    }
    return result
  }
}

import ObjectModel
import ObjectStore
import SyncCore

/// Uniqueness constraints.
extension SyncSchema {
  /// Returns the constraints of an entity that are synchronized, with those that the model declares.
  ///
  /// Values that are computed, or that are merged by a rule, can be equal on all devices although no device has set them: constraints over
  /// such properties are not synchronized.
  static func uniqueConstraints(
    of entity: CompiledEntity, in model: CompiledModel, _ entities: [Entity]
  ) -> [(constraint: UniqueConstraint, declared: DeclaredConstraint)] {
    entity.constraints(in: model).compactMap { inherited in
      let declaring = model.entities[inherited.entity]
      guard let declared = declaring.constraints(in: model).first(where: { $0.entity == inherited.entity && $0.names == inherited.names })
      else { return nil }
      let properties = declared.slots.compactMap { entities[declaring.number].property(inSlot: $0.index) }
      guard properties.count == declared.slots.count, properties.allSatisfy({ $0.mergeRule == .latest && $0.inverseSlot == nil }) else {
        return nil
      }
      let id = properties.map(\.id.value).sorted().reduce(entities[declaring.number].id.value) { $0 &* 0x9E37_79B9_7F4A_7C15 ^ $1 }
      return (UniqueConstraint(id, properties.map(\.id)), declared)
    }
  }
}

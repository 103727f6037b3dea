/// The validation rules of an entity's slots as bit masks, for a fast check that finds most objects valid. Errors are determined by a full
/// validation.
package struct FastValidationRules: Sendable {
  /// Whether the masks cover all rules: the entity has 1 to 64 slots, and no rules other than those of its slots.
  package let isComplete: Bool
  /// The slots that require a value.
  package private(set) var required: UInt64 = 0
  /// The slots whose numbers must be finite.
  package private(set) var finite: UInt64 = 0
  /// The slots of required to-one relationships, whose destination must not be deleted.
  package private(set) var destinations: UInt64 = 0
  /// The slots whose values require their ``CompiledSlot/checker``.
  package private(set) var checked: UInt64 = 0

  init(_ slots: [CompiledSlot], _ toMany: [CompiledRelationship], hasComposites: Bool) {
    let hasMemberRules = toMany.contains { $0.relationshipDescription.minCount > 0 || $0.relationshipDescription.maxCount > 0 }
    let hasTransients = slots.contains(where: \.isTransient)
    isComplete = !slots.isEmpty && slots.count <= 64 && !hasMemberRules && !hasTransients && !hasComposites
    guard isComplete else { return }
    for slot in slots where slot.relationship.map({ !$0.isOptional }) ?? false { destinations |= 1 << UInt64(slot.index) }
    for slot in slots where slot.relationship == nil && !slot.isDerived {
      let bit = UInt64(1) << UInt64(slot.index)
      if !slot.isOptional { required |= bit }
      if slot.kind == .real { finite |= bit }
      if slot.attribute.map({ !$0.validation.isEmpty }) ?? true || !(slot.attributeType?.traits.isImpliedByKind ?? false) { checked |= bit }
    }
  }
}

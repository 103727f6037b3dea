package import ObjectModel

/// The merge of one row that two sides have changed since a common base.
///
/// It depends on nothing but its arguments: no context, store or clock. The base may be what a context has read, `mine` its unsaved values
/// and `theirs` the row that another context saved; or the last synchronized row, the pending one and the one from another device.
///
/// The initializer compares: ``conflicts`` are the slots that both sides have changed to different values. ``MergeRules`` then decide what
/// ``row(by:setting:version:)`` takes.
///
/// The merged row starts from theirs and takes some slots from mine. For all rows, and values compared by
/// ``RowImage/hasSameValue(_:kind:as:)``:
///
/// - If only one side has changed a slot, its value is taken: merging `(b, b, t)` results in `t`, and `(b, m, b)` in `m`.
/// - Swapping the sides and mirroring the rules results in the same row.
/// - Merging `mine` with the result again results in the same row.
///
/// To-many relationships are merged as differences (``members(mine:theirs:)``), because rows do not contain them, and orders as moves
/// (``order(base:mine:theirs:)``).
package struct ThreeWayMerge: Sendable {
  private let mine: RowImage
  private let theirs: RowImage
  private let entity: CompiledEntity
  /// The slots that only my side has changed.
  private var ownChanges = SlotMask()
  /// The slots that my side has changed, and whose values are the same on both sides.
  package private(set) var equal = SlotMask()
  /// The slots that both sides have changed to different values.
  package private(set) var conflicts = SlotMask()

  /// Compares three states of a row. Derived and transient slots are not merged.
  ///
  /// - Parameters:
  ///   - base: The common original, or nil without one. Each slot then counts as changed by both sides.
  ///   - mine: The row of my side.
  ///   - theirs: The row of the other side.
  ///   - changed: The slots that my side has changed, for example those that were set; nil for those that differ from the base.
  ///   - entity: The entity whose slots are merged: that of the rows, or a superentity.
  ///   - canonical: Returns the current reference of an object, for rows that may refer to it by former ones.
  package init(
    base: RowImage?, mine: RowImage, theirs: RowImage, changed: SlotMask? = nil, of entity: CompiledEntity,
    canonical: (ObjectReference) -> ObjectReference = { $0 }
  ) {
    (self.mine, self.theirs, self.entity) = (mine, theirs, entity)
    func isSame(_ slot: Int, _ kind: SlotKind, _ one: RowImage, _ other: RowImage) -> Bool {
      if one.hasSameValue(slot, kind: kind, as: other) { return true }
      guard kind == .reference, !one.isNull(slot), !other.isNull(slot) else { return false }
      return canonical(one.reference(slot)) == canonical(other.reference(slot))
    }
    for index in entity.mergedSlots(among: changed) {
      let kind = entity.kinds[index]
      if changed == nil, let base, isSame(index, kind, mine, base) { continue }
      if isSame(index, kind, mine, theirs) {
        equal.insert(index)
      } else if let base, isSame(index, kind, theirs, base) {
        ownChanges.insert(index)
      } else {
        conflicts.insert(index)
      }
    }
  }

  /// The names of the properties in conflict.
  package var conflictingNames: [String] { entity.slots.filter { conflicts.contains($0.index) }.map(\.name) }

  /// Returns the slots that have the values of my side in the merged row, including those that both sides have set to the same value.
  ///
  /// - Parameters:
  ///   - rules: The rules.
  ///   - isRowConflict: Whether the rows are in conflict although their values may not be, for example by their versions.
  package func slotsOfMine(by rules: MergeRules, isRowConflict: Bool = false) -> SlotMask {
    if takesWholeRow(by: rules, isRowConflict: isRowConflict) {
      return rules.winner == .mine ? SlotMask(slots: entity.mergedSlots()) : SlotMask()
    }
    var slots = ownChanges
    if rules.winner == .mine {
      slots.formUnion(equal)
      slots.formUnion(conflicts)
    }
    return slots
  }

  /// Returns whether one side's row is taken as a whole, with my other changes or without them.
  package func takesWholeRow(by rules: MergeRules, isRowConflict: Bool = false) -> Bool {
    rules.unit == .row && (isRowConflict || !conflicts.isEmpty)
  }

  /// Returns the merged row. The rows must be of the entity.
  ///
  /// - Parameters:
  ///   - rules: The rules.
  ///   - isRowConflict: See ``slotsOfMine(by:isRowConflict:)``.
  ///   - values: Values that were decided otherwise, by slot.
  ///   - version: The version of the merged row.
  package func row(by rules: MergeRules, isRowConflict: Bool = false, setting values: [Int: Slot] = [:], version: Int64) -> RowImage {
    theirs.edited(
      values, taking: slotsOfMine(by: rules, isRowConflict: isRowConflict), from: mine, of: entity, version: version)
  }
}

extension CompiledEntity {
  /// Returns the slots for which rows have a value that applications set, in order.
  fileprivate func mergedSlots(among mask: SlotMask? = nil) -> [Int] {
    let derived = derivedSlots
    return kinds.indices.filter { kinds[$0] != .none && mask?.contains($0) ?? true && !derived.contains($0) }
  }
}

extension RowImage {
  /// Returns the slots whose values differ from those of another row of the entity, without derived ones.
  ///
  /// - Parameter compared: The slots to compare; nil for all.
  package func slots(differingFrom other: RowImage, of entity: CompiledEntity, among compared: SlotMask? = nil) -> SlotMask {
    SlotMask(slots: entity.mergedSlots(among: compared).lazy.filter { !hasSameValue($0, kind: entity.kinds[$0], as: other) })
  }
}

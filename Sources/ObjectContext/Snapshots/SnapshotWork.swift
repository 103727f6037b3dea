// SnapshotWork: one snapshot on its way into a context: what is to be set, after conflicts, and then setting it.
import Foundation
import ObjectModel
import ObjectStore

/// Applies a snapshot to an object. All that can be refused is looked at before anything is set.
struct SnapshotWork {
  private let context: ManagedObjectContext
  private let object: ManagedObject
  private let snapshot: ObjectSnapshot
  private let entity: CompiledEntity
  /// The snapshot's values, what was set included.
  private let mine: RowImage
  /// The slots that take the snapshot's value.
  private var taken: [Int] = []
  /// The slots that take a value that the merge policy names.
  private var decided: [Int: Slot] = [:]
  /// Whether the snapshot's members count.
  private var takesMembers = true

  // What was made ready.
  private var values: [Int: Slot] = [:]
  private var destinations: [Int: ManagedObject?] = [:]
  private var members: [MemberChange] = []

  init(_ snapshot: ObjectSnapshot, _ object: ManagedObject, in context: ManagedObjectContext) {
    (self.snapshot, self.object, self.context) = (snapshot, object, context)
    entity = object.compiledEntity
    mine = snapshot.presentRow
  }

  // MARK: What is to be set

  /// A new object takes all values that were set, and those that are not the default ones.
  mutating func takeAll() {
    for slot in entity.slots where slot.kind != .none && !slot.isDerived {
      let index = slot.index
      if snapshot.changes[index] != nil || mine.isNull(index) && !slot.defaultValue.isNull
        || !mine.isNull(index) && (mine.hasExternal(index, slot.kind) || (try? mine.slot(index, kind: slot.kind)) != slot.defaultValue)
      {
        taken.append(index)
      }
    }
  }

  /// Takes what was set in the snapshot, and follows the merge policy about what others have changed as well.
  ///
  /// - Throws: The conflict, where the policy leaves it; what rules of the application throw.
  mutating func merge() throws {
    let theirs = object.presentRow(known: { context.registry.savedReference($0) })
    var both: [CompiledSlot] = []
    for slot in entity.slots where snapshot.changes[slot.index] != nil {
      // What they have set to the same is no conflict, and nothing to do.
      if isSame(slot, mine, theirs) { continue }
      taken.append(slot.index)
      if !isSame(slot, snapshot.row, theirs) { both.append(slot) }
    }
    if !both.isEmpty { try decide(both, theirs) }
  }

  private mutating func decide(_ both: [CompiledSlot], _ theirs: RowImage) throws {
    let space = object.currentID.space
    func values(_ row: RowImage) -> RowSnapshot { RowSnapshot(row, of: entity, space: space) }
    var conflict = MergeConflict(
      objectID: object.currentID, oldVersion: snapshot.version, newVersion: theirs.version, persistedRow: theirs)
    conflict.originalSnapshot = snapshot.base
    conflict.objectSnapshot = values(mine)
    conflict.cachedSnapshot = values(theirs)
    conflict.propertyNames = both.map(\.name)
    let decision = try context.mergePolicy.decision(for: conflict, entity, in: context.model)
    switch decision.mergeType {
    case .error:
      var error = StoreError(.setOnBothSides(object.currentID, conflict.propertyNames), operation: .applySnapshot)
      error.mergeConflicts = [conflict]
      throw error
    case .mergeByPropertyStoreTrump:
      let theirs = Set(both.map(\.index))
      taken.removeAll(where: theirs.contains)
    case .rollback: (taken, takesMembers) = ([], false)
    case .mergeByPropertyObjectTrump, .overwrite: break
    }
    let stored = DecidedValues(model: context.model, space: space)
    for slot in both {
      guard let rule = context.mergePolicy.rule(for: slot.name, of: entity, in: context.model) else { continue }
      let states = SnapshotConflict(
        objectID: object.currentID, original: snapshot.base, object: values(mine), store: values(theirs))
      decided[slot.index] = try stored.slot(of: rule(states), slot, entity)
    }
    decided.merge(try stored.slots(of: decision, entity)) { $1 }
    taken.removeAll { decided[$0] != nil }
  }

  private func isSame(_ slot: CompiledSlot, _ one: RowImage, _ other: RowImage) -> Bool {
    if slot.kind == .reference, !one.isNull(slot.index), !other.isNull(slot.index) {
      return context.registry.savedReference(one.reference(slot.index)) == context.registry.savedReference(other.reference(slot.index))
    }
    return SaveConflicts.isSame(slot, one, other)
  }

  // MARK: Setting

  /// Looks whether all of it can be set, and finds the objects that relationships lead to.
  ///
  /// - Throws: ``StoreError`` where a relationship cannot take what it was set to, or the object cannot be changed; nothing is changed then.
  mutating func prepare() throws {
    let assigned = context.registry.assignments()
    do {
      for index in taken where entity.kinds[index] != .reference && !mine.hasExternal(index, entity.kinds[index]) {
        values[index] = try mine.value(index, of: entity, object.objectID)
      }
      for (index, value) in decided where entity.kinds[index] != .reference { values[index] = value }
      destinations = try findDestinations()
      if takesMembers { members = try memberChanges() }
      if !object.flags.contains(.isInserted) { try object.checkWritable(nil) }
    } catch {
      context.registry.restore(assignments: assigned)
      throw error
    }
  }

  /// Sets what was made ready.
  func run() {
    for slot in entity.slots {
      let index = slot.index
      if let destination = destinations[index] {
        object._setToOne(destination, at: index)
      } else if let value = values[index] {
        object.setAttributeValue(value, at: index)
      } else if taken.contains(index) {
        object._setExternalData(mine.external(index), at: index)
      }
    }
    for change in members { take(change) }
  }

  /// The object of an ID that a relationship was set to.
  private func destination(_ id: ManagedObjectID, _ relationship: CompiledRelationship) throws -> ManagedObject {
    let found = context.object(with: id)
    guard found.managedObjectContext === context, !found.flags.contains(.isDeleted) else {
      throw StoreError(.noObject(id), operation: .applySnapshot)
    }
    if let refusal = context.refusal(of: found, for: relationship, of: object) { throw refusal }
    return found
  }

  /// The objects that to-one relationships are set to, by slot; nil for none.
  private func findDestinations() throws -> [Int: ManagedObject?] {
    var found: [Int: ManagedObject?] = [:]
    for index in taken + decided.keys {
      guard let relationship = entity.slots[index].relationship else { continue }
      var id = snapshot.destination(index)
      if case .int(let word)? = decided[index] {
        let reference = ObjectReference(rawValue: word)
        id = ManagedObjectID(space: object.currentID.space, entityNumber: UInt32(reference.entity), key: reference.key)
      } else if decided[index] != nil {
        id = nil
      }
      found.updateValue(try id.map { try destination($0, relationship) }, forKey: index)
    }
    return found
  }

  // MARK: Members

  private struct MemberChange {
    let relationship: CompiledRelationship
    var added: [ManagedObject]
    var removed: [ManagedObject]
    /// All members in the snapshot's order, of an ordered relationship.
    var order: [ObjectReference]?
  }

  /// What comes and goes, by what the snapshot had before; by what there is where it did not have the members.
  private func memberChanges() throws -> [MemberChange] {
    let isNew = object.flags.contains(.isInserted)
    return try snapshot.toMany.compactMap { relationship in
      let index = relationship.index
      // All members of a new object are new.
      let wanted = snapshot.changedMembers[index] ?? (isNew ? snapshot.members[index] : nil)
      guard let wanted else { return nil }
      let former = Set(isNew ? [] : try snapshot.members[index] ?? context.memberIDs(of: object, relationship))
      let kept = Set(wanted)
      let members = try wanted.map { id in
        // One that was a member before may have gone meanwhile.
        former.contains(id) ? context.registeredObject(for: id) ?? context.object(with: id) : try destination(id, relationship)
      }
      return MemberChange(
        relationship: relationship, added: zip(wanted, members).filter { !former.contains($0.0) }.map(\.1),
        removed: former.filter { !kept.contains($0) }.map(context.object(with:)).filter { $0.managedObjectContext === context },
        order: relationship.isOrdered ? members.map(\.currentID.reference) : nil)
    }
  }

  private func take(_ change: MemberChange) {
    let index = change.relationship.index
    for member in change.removed { object._removeFromToMany(member, at: index) }
    for member in change.added { object._addToToMany(member, at: index) }
    guard let order = change.order, let state = object.loadedState(index), state.isLoaded else { return }
    let members = state.members
    let (present, named) = (Set(members), Set(order))
    // What has come meanwhile comes last.
    let wanted = order.filter(present.contains) + members.filter { !named.contains($0) }
    if wanted == members { return }
    state.setOrder(wanted)
    object.noteChange()
  }
}

extension RowImage {
  /// Whether a slot's value is outside the row.
  fileprivate func hasExternal(_ index: Int, _ kind: SlotKind) -> Bool { kind == .bytes && !isNull(index) && external(index) != nil }
}

extension ManagedObject {
  /// A row with the values as they are now: the object's own where nothing was set.
  fileprivate final func presentRow(known: (ObjectReference) -> ObjectReference) -> RowImage {
    if overlay == nil, let image { return image }
    return presentRow(key: currentID.key, version: row.map { RowImage.version($0) } ?? 0, known: known)
  }
}

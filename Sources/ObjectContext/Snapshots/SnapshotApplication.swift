import Foundation
import ObjectModel
import ObjectStore

/// Applies a snapshot to an object. All checks run before the first change.
struct SnapshotApplication {
  private let context: ManagedObjectContext
  private let object: ManagedObject
  private let snapshot: ObjectSnapshot
  private let entity: CompiledEntity
  /// The snapshot's values, including those that were set.
  private let mine: RowImage
  /// The slots that receive the snapshot's value.
  private var taken: [Int] = []
  /// The slots whose value the merge policy supplies.
  private var decided: [Int: Slot] = [:]
  private var takesMembers = true

  // The results of `prepare`.
  private var values: [Int: Slot] = [:]
  private var destinations: [Int: ManagedObject?] = [:]
  private var members: [MemberChange] = []

  init(_ snapshot: ObjectSnapshot, _ object: ManagedObject, in context: ManagedObjectContext) {
    (self.snapshot, self.object, self.context) = (snapshot, object, context)
    entity = object.compiledEntity
    mine = snapshot.presentRow
  }

  // MARK: Merging

  /// Selects the values for a new object: those that were set, and those that differ from the defaults.
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

  /// Selects the values that were set in the snapshot, and resolves conflicts with other changes through the merge policy.
  ///
  /// - Throws: The conflict, if the policy does not resolve it; errors of custom merge rules.
  mutating func merge() throws {
    let theirs = object.presentRow(known: { context.registry.savedReference($0) })
    let set = SlotMask(slots: snapshot.changes.keys)
    let merge = ThreeWayMerge(
      base: snapshot.row, mine: mine, theirs: theirs, changed: set, of: entity, canonical: { context.registry.savedReference($0) })
    let rules = merge.conflicts.isEmpty ? MergeRules(.mine) : try decide(merge, theirs)
    let slots = merge.slotsOfMine(by: rules)
    // Equal values on both sides need not be set.
    taken = entity.slots.indices.filter { set.contains($0) && slots.contains($0) && !merge.equal.contains($0) && decided[$0] == nil }
    takesMembers = rules.winner == .mine || !merge.takesWholeRow(by: rules)
  }

  /// Returns the rules of the policy for a conflict, and adds the values that it supplies.
  private mutating func decide(_ merge: ThreeWayMerge, _ theirs: RowImage) throws -> MergeRules {
    let space = object.currentID.space
    var conflict = MergeConflict(
      objectID: object.currentID, oldVersion: snapshot.version, newVersion: theirs.version, persistedRow: theirs)
    conflict.originalSnapshot = snapshot.base
    conflict.objectSnapshot = RowSnapshot(mine, of: entity, space: space)
    conflict.cachedSnapshot = RowSnapshot(theirs, of: entity, space: space)
    conflict.propertyNames = merge.conflictingNames
    let decision = try context.mergePolicy.decision(for: conflict, entity, in: context.model)
    if decision.rules.winner == .neither {
      var error = StoreError(.setOnBothSides(object.currentID, conflict.propertyNames), operation: .applySnapshot)
      error.mergeConflicts = [conflict]
      throw error
    }
    decided = try PolicyValues(policy: context.mergePolicy, model: context.model, space: space)
      .slots(of: decision, entity, conflicts: merge.conflicts, SnapshotConflict(conflict))
    return decision.rules
  }

  // MARK: Applying

  /// Checks that all values can be set, and finds the destinations of relationships.
  ///
  /// - Throws: ``StoreError`` if a relationship cannot take its destination, or if the object cannot be changed. In each case nothing is
  ///   changed.
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

  func run() {
    for slot in entity.slots {
      let index = slot.index
      if let destination = destinations[index] {
        object.setToOne(destination, at: index)
      } else if let value = values[index] {
        object.setAttributeValue(value, at: index)
      } else if taken.contains(index) {
        object.setExternalData(mine.external(index), at: index)
      }
    }
    for change in members { take(change) }
  }

  private func destination(_ id: ManagedObjectID, _ relationship: CompiledRelationship) throws -> ManagedObject {
    let found = context.object(with: id)
    guard found.managedObjectContext === context, !found.flags.contains(.isDeleted) else {
      throw StoreError(.noObject(id), operation: .applySnapshot)
    }
    if let rejection = context.rejection(of: found, for: relationship, of: object) { throw rejection }
    return found
  }

  /// Returns the destinations of to-one relationships, by slot; nil for a cleared relationship.
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
    /// All members of an ordered relationship in the snapshot's order, and those from which it was made.
    var order: (new: [ObjectReference], former: [ObjectReference])?
  }

  /// Returns the members added and removed relative to the snapshot's original members, or, if the snapshot does not include them, to the
  /// object's current members.
  private func memberChanges() throws -> [MemberChange] {
    let isNew = object.flags.contains(.isInserted)
    return try snapshot.toMany.compactMap { relationship in
      let index = relationship.index
      // All members of a new object are added.
      let target = snapshot.changedMembers[index] ?? (isNew ? snapshot.members[index] : nil)
      guard let target else { return nil }
      let former = isNew ? [] : try snapshot.members[index] ?? context.memberIDs(of: object, relationship)
      let difference = MemberDifference(from: former, to: target)
      let added = Set(difference.added)
      let members = try target.map { id in
        // A former member may be deleted by now.
        added.contains(id) ? try destination(id, relationship) : context.registeredObject(for: id) ?? context.object(with: id)
      }
      return MemberChange(
        relationship: relationship, added: zip(target, members).filter { added.contains($0.0) }.map(\.1),
        removed: difference.removed.map(context.object(with:)).filter { $0.managedObjectContext === context },
        order: relationship.isOrdered ? (members.map(\.currentID.reference), former.map(reference)) : nil)
    }
  }

  private func reference(_ id: ManagedObjectID) -> ObjectReference {
    context.registeredObject(for: id)?.currentID.reference ?? id.reference
  }

  private func take(_ change: MemberChange) {
    let index = change.relationship.index
    for member in change.removed { object.removeFromToMany(member, at: index) }
    for member in change.added { object.addToToMany(member, at: index) }
    if let order = change.order { object.mergeOrder(order.new, from: order.former, at: index) }
  }
}

extension RowImage {
  fileprivate func hasExternal(_ index: Int, _ kind: SlotKind) -> Bool { kind == .bytes && !isNull(index) && external(index) != nil }
}

extension ManagedObject {
  /// Returns a row with the current values; the object's own row if nothing was changed.
  fileprivate final func presentRow(known: (ObjectReference) -> ObjectReference) -> RowImage {
    if overlay == nil, let image { return image }
    return presentRow(key: currentID.key, version: row.map { RowImage.version($0) } ?? 0, known: known)
  }
}

// MARK: - Applying snapshots

extension ManagedObjectContext {
  /// Applies the properties that were set in a snapshot to its object, or to a new object if the snapshot has no ID.
  ///
  /// Only properties that were set in the snapshot change; all others keep their current values. If a property was changed on both sides to
  /// different values, ``mergePolicy`` decides. Unsaved changes of this context count as changes of the other side. To-many relationships
  /// merge: members that the snapshot added are added, members that it removed are removed. Validation takes place in the next save.
  ///
  /// - Returns: The object.
  /// - Throws: ``StoreError`` with ``StoreError/Code/mergeConflict`` if the policy is ``MergePolicy/error``, with the properties in its
  ///   conflict; with ``StoreError/Code/objectNotFound`` if the object, or the destination of a relationship, does not exist; with
  ///   ``StoreError/Code/modelIncompatible`` for a snapshot of another model; ``KeyValueError`` if a setter of the snapshot failed. In each
  ///   case nothing is changed.
  @discardableResult
  public func apply(_ snapshot: ObjectSnapshot) throws -> ManagedObject {
    if let failure = snapshot.failures.first { throw failure }
    guard isCompatible(snapshot.base.objectID), let entity = model.entity(named: snapshot.entityName), snapshot.isOfLayout(of: entity)
    else {
      throw StoreError(.snapshotOfOtherModel(entity: snapshot.entityName), operation: .applySnapshot)
    }
    guard let objectID = snapshot.objectID else { return try insert(snapshot, entity) }
    let object = try existingObject(with: objectID)
    refreshIfOutdated(object, to: snapshot)
    var work = SnapshotApplication(snapshot, object, in: self)
    try work.merge()
    try work.prepare()
    work.run()
    return object
  }

  /// Applies the properties that were set in a typed snapshot: see ``apply(_:)-(ObjectSnapshot)``.
  ///
  /// - Returns: The object.
  /// - Throws: The errors of that method; ``StoreError`` with ``StoreError/Code/invalidRequest`` if this context uses another class for the
  ///   entity.
  @discardableResult
  public func apply<Snapshot: TypedSnapshot>(_ snapshot: Snapshot) throws -> Snapshot.Object {
    let name = snapshot.storage.values.entityName
    if let entity = model.entity(named: name), !(entityClasses.type(ofEntity: entity.number) is Snapshot.Object.Type) {
      throw StoreError(.otherClass(entity: name, className: "\(Snapshot.Object.self)"), operation: .applySnapshot)
    }
    let object = try apply(snapshot.storage.values)
    guard let typed = object as? Snapshot.Object else {
      throw StoreError(.otherClass(entity: object.compiledEntity.name, className: "\(Snapshot.Object.self)"), operation: .applySnapshot)
    }
    return typed
  }

  /// Refreshes an object whose row is older than the snapshot's, keeping its unsaved changes. Objects of a pinned state stay unchanged.
  private func refreshIfOutdated(_ object: ManagedObject, to snapshot: ObjectSnapshot) {
    guard !rowSource.isPinned, let row = object.row, RowImage.version(row) > 0, RowImage.version(row) < snapshot.version else { return }
    refresh(object, mergeChanges: true)
  }

  private func insert(_ snapshot: ObjectSnapshot, _ entity: CompiledEntity) throws -> ManagedObject {
    if entity.isAbstract { throw abstractEntity(entity.name) }
    let object = entityClasses.type(ofEntity: entity.number).init(ManagedObjectSeed(newObjectOf: entity, in: self))
    var work = SnapshotApplication(snapshot, object, in: self)
    work.takeAll()
    do { try work.prepare() } catch {
      // The object is not registered, so its `deinit` must not access the context.
      object.contextReference = nil
      throw error
    }
    registerInserted(object)
    work.run()
    return object
  }
}

extension StoreError.Reason {
  static func setOnBothSides(_ id: ManagedObjectID, _ names: [String]) -> Self {
    Self(
      .mergeConflict,
      "The snapshot of the “\(id.entityName)” \(id.uriString) sets \(names.map { "“\($0)”" }.joined(separator: ", ")), which has changed since the snapshot was taken. Nothing was applied; take another snapshot, or set the context's mergePolicy.",
      property: names.count == 1 ? names.first : nil, object: id)
  }

  static func snapshotOfOtherModel(entity: String) -> Self {
    Self(
      .modelIncompatible,
      "The snapshot belongs to another version of “\(entity)” than the context's model. Take it again from an object of this model.",
      entity: entity)
  }

  static func snapshotOfOtherClass(entity: String, className name: String) -> Self {
    Self(.invalidRequest, "A snapshot of “\(entity)” does not belong to the class \(name).", entity: entity)
  }
}

extension StoreOperation {
  static let takeSnapshot: Self = "take a snapshot"
  static let applySnapshot: Self = "apply a snapshot"
}

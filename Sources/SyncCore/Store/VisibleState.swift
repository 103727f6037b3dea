/// The objects that follow from the records of a zone and the pending saves.
///
/// The state of a record is the join of its base, its held state and the pending changes. Its object exists unless the state is a tombstone
/// or a required destination does not exist. To-one relationships to objects that do not exist are nil. Both rules depend on the states
/// alone, so all devices with the same states have the same objects.
package final class VisibleState {
  private let model: SyncModel
  private let store: any SyncStore
  private let settledThrough: Int64
  private var states: [RecordID: Record?] = [:]
  private var objects: [RecordID: SyncedObject?] = [:]

  package init(_ model: SyncModel, in store: any SyncStore) throws {
    (self.model, self.store) = (model, store)
    settledThrough = try store.zone().settledThrough
  }

  /// Updates the objects of records whose states have changed, and of those that depend on them.
  package func update(_ changed: some Sequence<RecordID>) throws {
    var evaluated = Set(changed)
    let deletedOnHub = try evaluated.filter { try store.entry(of: $0)?.base?.record.isDeleted ?? false }
    let present = try existing(among: &evaluated)
    var flipped: [RecordID] = []
    for id in evaluated where try (object(of: id) != nil) != present.contains(id) { flipped.append(id) }
    func exists(_ id: RecordID) throws -> Bool {
      evaluated.contains(id) ? present.contains(id) : try object(of: id) != nil
    }
    // Optional relationships to objects that came into existence or ceased to exist.
    var written = evaluated
    for id in flipped { written.formUnion(try store.referrers(of: id)) }
    for id in written.sorted() where try exists(id) || evaluated.contains(id) {
      let object = try exists(id) ? resolved(try state(of: id), exists) : nil
      if try self.object(of: id) != object { try store.setObject(object, of: id) }
    }
    var candidates = evaluated
    for id in deletedOnHub { candidates.formUnion(try store.referrers(of: id)) }
    for id in candidates.sorted() { try updateOrphan(id, exists: try exists(id)) }
  }

  /// Returns which of the records have objects. Adds the records that depend on them.
  private func existing(among evaluated: inout Set<RecordID>) throws -> Set<RecordID> {
    // Assume that whatever is not deleted exists, then remove what lacks a required destination, until nothing is removed. Objects that
    // require each other therefore exist together.
    var appearing = Array(evaluated)
    while let id = appearing.popLast() {
      guard try object(of: id) == nil, try isLive(id) else { continue }
      for referrer in try requiring(id) where try object(of: referrer) == nil {
        if evaluated.insert(referrer).inserted { appearing.append(referrer) }
      }
    }
    var present = try evaluated.filter { try isLive($0) }
    var checked = Array(evaluated)
    while let id = checked.popLast() {
      if present.contains(id) {
        let lacksDestination = try requiredDestinations(of: id).contains { destination in
          evaluated.contains(destination) ? !present.contains(destination) : try object(of: destination) == nil
        }
        if !lacksDestination { continue }
        present.remove(id)
      }
      for referrer in try requiring(id) {
        if evaluated.insert(referrer).inserted, try isLive(referrer) { present.insert(referrer) }
        if present.contains(referrer) { checked.append(referrer) }
      }
    }
    return present
  }

  private func resolved(_ state: Record?, _ exists: (RecordID) throws -> Bool) throws -> SyncedObject? {
    guard let state else { return nil }
    var values: [PropertyID: FieldValue] = [:]
    for field in state.fields {
      if let destination = field.value.reference, try !exists(destination) {
        values[field.property] = .null
      } else {
        values[field.property] = field.value
      }
    }
    return SyncedObject(entity: state.entity, values)
  }

  private func updateOrphan(_ id: RecordID, exists: Bool) throws {
    guard var entry = try store.entry(of: id) else { return }
    var isOrphan = false
    if !exists, let base = entry.base, !base.record.isDeleted {
      isOrphan = try requiredDestinations(of: id).contains { try store.entry(of: $0)?.base?.record.isDeleted ?? false }
    }
    if entry.isOrphan == isOrphan { return }
    entry.isOrphan = isOrphan
    try store.setEntry(entry, of: id)
  }

  // MARK: States

  /// Returns the state of a record.
  package func state(of id: RecordID) throws -> Record? {
    if let known = states[id] { return known }
    var entry = try store.entry(of: id)
    let pending = try store.pendingChanges(of: id, after: settledThrough)
    if entry == nil, pending == nil, let object = try object(of: id) {
      entry = try Baseline.add(object, of: id, in: store)
    }
    let state = (entry?.base?.record).joined(with: entry?.held).joined(with: pending)
    states[id] = .some(state)
    return state
  }

  private func object(of id: RecordID) throws -> SyncedObject? {
    if let known = objects[id] { return known }
    let object = try store.object(of: id)
    objects[id] = .some(object)
    return object
  }

  private func isLive(_ id: RecordID) throws -> Bool { try state(of: id).map { !$0.isDeleted } ?? false }

  private func requiredDestinations(of id: RecordID) throws -> [RecordID] {
    guard let state = try state(of: id) else { return [] }
    return state.fields.compactMap { model.isRequired($0.property, of: state.entity) ? $0.value.reference : nil }
  }

  /// Returns the live records that require a record.
  private func requiring(_ id: RecordID) throws -> [RecordID] {
    var result: [RecordID] = []
    for referrer in try store.referrers(of: id) where try requiredDestinations(of: referrer).contains(id) { result.append(referrer) }
    return result
  }
}

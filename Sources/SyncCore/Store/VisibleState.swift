/// The objects that follow from the records of a zone and the pending saves.
///
/// The state of a record is the join of its base, its held state and the pending changes. Its object exists if the state is not a
/// tombstone, the model has its entity, and all required destinations exist. With a later version of the model, which has the entity, it
/// appears. Objects that require each other therefore exist together. A link exists only if it was also added and not removed (``Link``).
/// To-one relationships to objects that do not exist are nil. These rules, those for one-to-one relationships (``Claim``) and for counts
/// (``MemberGroup``), and those for deletions that edits win over or other objects deny (``DeletionMark``), depend on the states alone, so
/// all devices with the same states have the same objects.
///
/// An update evaluates each record once, from the states and never from other objects. The order in which records are evaluated is
/// therefore irrelevant, and objects can be written in batches: apart from IDs, an update keeps only one batch in memory.
package final class VisibleState {
  let model: SyncModel
  let store: any SyncStore
  let batch: Int
  /// The maximum number of objects that are read at once.
  private static let readCount = 500
  let settledThrough: Int64
  let denyingReferences: [PropertyID]
  let hasCapacities: Bool
  /// Whether objects admit a limited number of links. A hidden object can have become live, or was deleted, and its links count or not.
  private let hasLinkCapacities: Bool

  // What was read since the last batch.
  private var states: [RecordID: Record?] = [:]
  private var objects: [RecordID: SyncedObject?] = [:]
  private var existence: [RecordID: Bool] = [:]
  var holders: [Claim: RecordID?] = [:]
  var members = KnownMembers()
  var liveness: [RecordID: Bool] = [:]

  // The update in progress.
  private var evaluated = RecordSet()
  /// The groups whose members are evaluated because one of them was.
  var evaluatedGroups = MemberGroups()
  private var waiting: [RecordID] = []
  private var written: [(id: RecordID, object: SyncedObject?)] = []
  private var removed: [RecordID] = []
  /// References that other records have replaced. They are superseded at the end, because the states must not change before.
  var replaced: [(id: RecordID, field: Field)] = []
  /// Members that exceed maximum counts. They are marked at the end, for the same reason.
  var exceeding: [(id: RecordID, stamp: Stamp)] = []

  /// - Parameter batch: The number of objects to write at once. Objects that refer to each other in a cycle are not separated.
  package init(_ model: SyncModel, in store: any SyncStore, batch: Int) throws {
    (self.model, self.store, self.batch) = (model, store, batch)
    settledThrough = try store.zone().settledThrough
    denyingReferences = model.denyingReferences.sorted()
    (hasCapacities, hasLinkCapacities) = (model.hasCapacities, model.hasLinkCapacities)
  }

  /// Updates the objects of records whose states have changed, and of those that depend on them.
  ///
  /// Records that refer to the same destination as a former state, by a one-to-one relationship, must be among them.
  package func update(_ changed: some Sequence<RecordID>) throws {
    var freed = try updateOnce(changed)
    while !freed.isEmpty { freed = try updateOnce(freed) }
  }

  /// Updates objects, and supersedes the references that turn out to be replaced.
  ///
  /// - Returns: Records whose objects may change because of that.
  private func updateOnce(_ changed: some Sequence<RecordID>) throws -> [RecordID] {
    if model.hasUniqueConstraints {
      var merge = try DuplicateMerge(model, in: store)
      try updateObjects(merge.merge(changed))
    } else {
      try updateObjects(changed)
    }
    return try supersedeReplaced() + markExceeding()
  }

  private func updateObjects(_ changed: some Sequence<RecordID>) throws {
    var ids: [RecordID] = []
    for id in changed {
      ids.append(id)
      if ids.count < min(batch, Self.readCount) { continue }
      try evaluate(ids)
      ids.removeAll(keepingCapacity: true)
    }
    try evaluate(ids)
    // Deletions are last, when nothing refers to the objects anymore.
    while !removed.isEmpty {
      let count = max(batch - written.count, written.isEmpty ? 1 : 0)
      written += removed.suffix(count).map { ($0, nil) }
      removed.removeLast(min(count, removed.count))
      try write()
    }
    try write()
    (evaluated, evaluatedGroups) = (RecordSet(), MemberGroups())
  }

  private func evaluate(_ ids: [RecordID]) throws {
    try readObjects(of: ids)
    for id in ids {
      // Their dependents may have to be deleted on the hub too, even if their objects are hidden already.
      if try store.entry(of: id)?.base?.record.isTombstone ?? false { waiting += try store.referrers(of: id) }
      try evaluate(id)
      try evaluateWaiting()
    }
  }

  private func evaluateWaiting() throws {
    while !waiting.isEmpty {
      let next = Array(waiting.suffix(min(batch, Self.readCount)))
      waiting.removeLast(next.count)
      try readObjects(of: next)
      for id in next { try evaluate(id) }
    }
  }

  /// Reads the objects of records that are evaluated next, together. Those that were evaluated before are not needed any more.
  private func readObjects(of ids: [RecordID]) throws {
    let unknown = ids.filter { !evaluated.contains($0) && objects[$0] == nil }
    if unknown.isEmpty { return }
    let found = try store.objects(of: unknown)
    for id in unknown { objects[id] = .some(found[id]) }
  }

  // MARK: Objects

  /// An object that is written after the objects that it refers to.
  private struct Step {
    let id: RecordID
    let object: SyncedObject
    var destinations: [RecordID]
  }

  /// Evaluates a record, and writes its object after those that it refers to and that are not in the store yet.
  private func evaluate(_ id: RecordID) throws {
    var (steps, unfinished): ([Step], Set<RecordID>) = ([], [])
    // Unfinished objects to which finished ones refer. Meanwhile the finished ones cannot be written.
    var awaited: Set<RecordID> = []
    func begin(_ id: RecordID) throws {
      if let step = try step(id) {
        steps.append(step)
        unfinished.insert(id)
      } else if unfinished.contains(id) {
        awaited.insert(id)
      }
    }
    try begin(id)
    while let last = steps.indices.last {
      if let destination = steps[last].destinations.popLast() {
        try begin(destination)
      } else {
        let step = steps.removeLast()
        written.append((step.id, step.object))
        unfinished.remove(step.id)
        awaited.remove(step.id)
        if awaited.isEmpty, written.count >= batch { try write() }
      }
    }
    if awaited.isEmpty, max(states.count, objects.count) > 4 * batch { forget() }
  }

  /// Evaluates a record. Returns the object to write, or nil if it is not written now.
  private func step(_ id: RecordID) throws -> Step? {
    guard evaluated.insert(id) else { return nil }
    let former = try object(of: id)
    let object = try exists(id) ? resolved(try state(of: id), id) : nil
    if (former != nil) != (object != nil) || object == nil && hasLinkCapacities {
      waiting += try store.referrers(of: id).filter { !evaluated.contains($0) }
    }
    try updateOrphan(id, exists: object != nil)
    if model.hasExclusiveReferences { waiting += try updateClaims(of: id).filter { !evaluated.contains($0) } }
    if model.hasTrees { waiting += try updateTrees(of: id).filter { !evaluated.contains($0) } }
    if hasCapacities { waiting += try updateMemberships(of: id).filter { !evaluated.contains($0) } }
    if !denyingReferences.isEmpty { waiting += try updateDeletion(of: id).filter { !evaluated.contains($0) } }
    if object != nil { try noteUnmergedValues(of: id) }
    if object == former { return nil }
    guard let object else {
      removed.append(id)
      return nil
    }
    let destinations = try object.values.values.compactMap(\.reference).filter { try $0 != id && self.object(of: $0) == nil }
    return Step(id: id, object: object, destinations: destinations.sorted())
  }

  /// Returns the object that a record has by the states, whether or not it is in the store.
  package func visibleObject(of id: RecordID) throws -> SyncedObject? { try exists(id) ? resolved(state(of: id), id) : nil }

  private func write() throws {
    if !written.isEmpty { try store.setObjects(written) }
    written = []
    forget()
  }

  private func forget() { (states, objects, existence, holders, members, liveness) = ([:], [:], [:], [:], KnownMembers(), [:]) }

  private func resolved(_ state: Record?, _ id: RecordID) throws -> SyncedObject? {
    guard let state else { return nil }
    var values: [PropertyID: FieldValue] = [:]
    let isLink = model.isLink(state.entity)
    for field in state.fields where isLink ? !field.property.isAddition : !field.property.isOfRecordOnly {
      if isLink, field.property == .waiting { continue }
      if let destination = field.value.reference, try !exists(destination) || !holdsReference(field, id, state) {
        values[field.property] = .null
      } else {
        values[field.property] = model.value(of: field, of: state.entity)
      }
    }
    return SyncedObject(entity: state.entity, values)
  }

  private func updateOrphan(_ id: RecordID, exists: Bool) throws {
    guard var entry = try store.entry(of: id) else { return }
    var isOrphan = false
    if !exists, let base = entry.base, !base.record.isDeleted {
      isOrphan = try requiredDestinations(of: id).contains { try store.entry(of: $0)?.base?.record.isTombstone ?? false }
    }
    if entry.isOrphan == isOrphan { return }
    entry.isOrphan = isOrphan
    try store.setEntry(entry, of: id)
  }

  // MARK: States

  /// Returns whether a record has an object: whether it and all records that it requires, directly or indirectly, are eligible.
  private func exists(_ id: RecordID) throws -> Bool {
    if let known = existence[id] { return known }
    guard try isEligible(id) else {
      existence[id] = false
      return false
    }
    var path = [(id: id, destinations: try requiredDestinations(of: id))]
    var visited: Set = [id]
    while let last = path.indices.last {
      guard let destination = path[last].destinations.popLast() else {
        path.removeLast()
        continue
      }
      if existence[destination] == true || visited.contains(destination) { continue }
      if existence[destination] == nil, try isEligible(destination) {
        visited.insert(destination)
        path.append((destination, try requiredDestinations(of: destination)))
        continue
      }
      existence[destination] = false
      for step in path { existence[step.id] = false }
      return false
    }
    for id in visited { existence[id] = true }
    return true
  }

  /// Returns the state of a record.
  func state(of id: RecordID) throws -> Record? {
    if let known = states[id] { return known }
    let state = try store.state(of: id, model, after: settledThrough) { try object(of: id) }
    states[id] = .some(state)
    return state
  }

  private func object(of id: RecordID) throws -> SyncedObject? {
    if let known = objects[id] { return known }
    let object = try store.object(of: id)
    objects[id] = .some(object)
    return object
  }

  /// Returns whether a record is live, and a link was added, the model has its entity, and no other record has replaced a reference that it
  /// requires.
  private func isEligible(_ id: RecordID) throws -> Bool {
    guard let state = try state(of: id), model.entities[state.entity] != nil, try isLive(id) else { return false }
    return try state.fields.allSatisfy { try !model.isRequired($0.property, of: state.entity) || holdsReference($0, id, state) }
  }

  private func requiredDestinations(of id: RecordID) throws -> [RecordID] {
    guard let state = try state(of: id) else { return [] }
    return state.fields.compactMap { model.isRequired($0.property, of: state.entity) ? $0.value.reference : nil }
  }
}

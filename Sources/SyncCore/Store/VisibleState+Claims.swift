/// A reference to an object that admits one referrer only: one side of a one-to-one relationship.
///
/// Two devices can set different referrers at the same time. Then the reference with the greater stamp remains. Live records count, whether
/// or not they have objects, because otherwise two objects could each exist only if the other one does not. The relationship of the other
/// referrers is nil. As soon as both references are on the hub, that is sent too, as ``FieldValue/superseded``: the destination does not
/// become theirs again when it is free.
///
/// A relationship that is its own inverse has a reference at both ends, which a save writes together. Each object then has one destination, so
/// nothing needs to be compared: the relationship is nil unless the destination refers back.
///
/// A referrer that requires the relationship has no object meanwhile. Deleting its record would lose what was saved, so that stays in the
/// zone: the object appears again when the destination is free, or the record is deleted together with the destination.
struct Claim: Hashable {
  let property: PropertyID
  let destination: RecordID
}

extension Record {
  /// The claims of a record.
  func claims(_ model: SyncModel) -> [(claim: Claim, stamp: Stamp)] {
    fields.compactMap { field in
      guard let destination = field.value.reference, model.isExclusive(field.property, of: entity) else { return nil }
      return (Claim(property: field.property, destination: destination), field.stamp)
    }
  }
}

extension VisibleState {
  /// Returns whether no other record has replaced a reference.
  func holdsReference(_ field: Field, _ id: RecordID, _ state: Record) throws -> Bool {
    if hasCapacities, try !isAdmitted(field, id, state) { return false }
    if model.isTree(field.property, of: state.entity) { return try !closesCycle(field, id) }
    guard let destination = field.value.reference, model.isExclusive(field.property, of: state.entity) else { return true }
    if model.isMutual(field.property, of: state.entity) {
      return try self.state(of: destination)?[field.property]?.value.reference == id
    }
    return try holder(of: Claim(property: field.property, destination: destination)) == id
  }

  /// Returns the live record whose reference remains.
  private func holder(of claim: Claim) throws -> RecordID? {
    if let known = holders[claim] { return known }
    let holder = try latest(of: claim) { try isLive($0) ? state(of: $0) : nil }
    holders[claim] = .some(holder)
    return holder
  }

  /// Returns the record with the latest reference, by the given states of live records.
  private func latest(of claim: Claim, _ state: (RecordID) throws -> Record?) throws -> RecordID? {
    var latest: (stamp: Stamp, id: RecordID)?
    for id in try store.referrers(of: claim.destination, through: claim.property) {
      guard let stamp = try state(id)?.claims(model).first(where: { $0.claim == claim })?.stamp else { continue }
      if latest.map({ $0 < (stamp, id) }) ?? true { latest = (stamp, id) }
    }
    return latest?.id
  }

  /// Returns the state of a record on the hub, if it is not deleted there.
  func liveBase(of id: RecordID) throws -> Record? {
    guard let record = try store.entry(of: id)?.base?.record, !record.isDeleted else { return nil }
    return record
  }

  /// Returns the records that refer to the same destinations as a record, and prepares that a replaced reference is nil on the hub too.
  func updateClaims(of id: RecordID) throws -> [RecordID] {
    guard let state = try state(of: id) else { return [] }
    var affected: [RecordID] = []
    for property in model.entities[state.entity]?.mutual ?? [] { affected += try updateMutualReference(property, of: id, state) }
    for (claim, stamp) in state.claims(model) where !model.isMutual(claim.property, of: state.entity) {
      affected += try store.referrers(of: claim.destination, through: claim.property)
      // A pending save can have made the destination free.
      guard !model.isRequired(claim.property, of: state.entity), try holder(of: claim) != id, try isLive(id),
        let field = try store.entry(of: id)?.base?.record[claim.property], field.stamp == stamp,
        let latest = try latest(of: claim, { try liveBase(of: $0) }), latest != id
      else { continue }
      replaced.append((id, field))
    }
    return affected
  }

  /// Does the same for a relationship that is its own inverse. It is replaced if the destination has another one since.
  private func updateMutualReference(_ property: PropertyID, of id: RecordID, _ state: Record) throws -> [RecordID] {
    var affected = try store.referrers(of: id, through: property)
    guard let field = state[property], let destination = field.value.reference else { return affected }
    affected.append(destination)
    guard !model.isRequired(property, of: state.entity), try !holdsReference(field, id, state), try isLive(id),
      try store.entry(of: id)?.base?.record[property] == field,
      let other = try store.entry(of: destination)?.base?.record[property], other.value.reference != id, other.stamp >= field.stamp
    else { return affected }
    replaced.append((id, field))
    return affected
  }

  /// Makes the replaced references nil on the hub too.
  ///
  /// - Returns: Their destinations whose deletions they do not deny any more, and records that may not be replaced any more.
  func supersedeReplaced() throws -> [RecordID] {
    var freed: [RecordID] = []
    for (id, field) in replaced {
      guard var entry = try store.entry(of: id), let base = entry.base?.record else { continue }
      freed += try freedByReplacing(field, of: base)
      entry.held = entry.held.joined(with: Record(entity: base.entity, [field.property: .superseded], field.stamp))
      try store.setEntry(entry, of: id)
      if let destination = field.value.reference, model.isDenying(field.property, of: base.entity) { freed.append(destination) }
    }
    replaced = []
    return freed
  }
}

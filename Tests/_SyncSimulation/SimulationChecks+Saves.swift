import SyncCore

extension SimulationChecks {
  /// A save of an application.
  final class Save {
    let device: Int
    let number: Int64
    private(set) var changes: [PendingChange]
    /// Which objects the records are.
    private(set) var serials: [RecordID: Int64]
    var stamps: [Stamp]
    /// The stamp that a value must have at least. A corrected wall clock lowers it.
    var lowestStamp: Stamp { stamps.min() ?? stamps[0] }
    var isAccepted = false
    var isLost = false
    /// Whether the store that has made the save was replaced by an older copy without it.
    var isReplaced = false
    /// Records that the hub never had, because they were deleted before they were sent. A restored store can insert them again.
    var revived: Set<RecordID> = []

    /// The additions that the device had when it removed links, by the position of the change.
    var removed: [Int: Set<Stamp>] = [:]
    /// What the device knew of the objects that it deleted, by the position of the change.
    var known: [Int: Knowledge] = [:]
    /// The times with which the hub has accepted the save.
    var acceptedTimes: Set<HybridTime> = []
    var lastTime: HybridTime { stamps[stamps.count - 1].time }
    /// The stamps that additions of links by the save have had: another identity of the device does not change them.
    var tags: Set<Stamp> { Set(stamps.map { tag($0.time) }) }
    func tag(_ time: HybridTime) -> Stamp { Stamp(time, stamps[0].device) }

    func isLink(_ id: RecordID) -> Bool { changes.contains { $0.id == id && $0.isLink } }

    /// Returns whether the save wrote a value.
    func has(written field: Field, of id: RecordID) -> Bool {
      changes.contains { change in
        if change.id != id { return false }
        // If the ends of a link got other records, its source may be its destination.
        if change.isLink { return change.values?.values.contains(field.value) ?? false || change.isAddition && isAddition(field) }
        return change.values?[field.property] == field.value
      }
    }

    private func isAddition(_ field: Field) -> Bool {
      field.value == .integer(1) && field.property == PropertyID(field.stamp.device.value) && tags.contains(field.stamp)
    }

    init(_ save: PendingSave, _ serials: [RecordID: Int64], of device: Int) {
      (self.device, number, changes, stamps) = (device, save.number, save.changes, [save.stamp])
      let ids = Set(save.changes.flatMap { [$0.id] + ($0.values ?? [:]).values.compactMap(\.reference) })
      self.serials = serials.filter { ids.contains($0.key) }
    }

    init(copying save: Save) {
      (device, number, changes, serials, stamps) = (save.device, save.number, save.changes, save.serials, save.stamps)
      (isAccepted, isLost, isReplaced) = (save.isAccepted, save.isLost, save.isReplaced)
      (removed, known, acceptedTimes) = (save.removed, save.known, save.acceptedTimes)
    }

    /// Replaces a record by another one that its object has got.
    ///
    /// - Returns: The save as it was, if the hub has it.
    func renew(_ former: RecordID, _ new: RecordID) -> Save? { replace([former: new]) }

    /// Replaces the records by those that a copy of the store has.
    ///
    /// - Parameter isFormer: Whether the second record became the first one. Others differ because an object was merged into another one.
    /// - Returns: The save as it was, if the hub has it.
    func restore(_ copied: [PendingChange], _ isFormer: (RecordID, RecordID) -> Bool) -> Save? {
      var (replaced, links): ([RecordID: RecordID], [RecordID: PendingChange]) = ([:], [:])
      for (mine, other) in zip(changes, copied) {
        if isFormer(mine.id, other.id) {
          replaced[mine.id] = other.id
          if mine.isLink { links[other.id] = other }
        }
        if mine.isLink { continue }
        for (property, value) in mine.values ?? [:] {
          if let new = value.reference, let former = other.values?[property]?.reference, isFormer(new, former) { replaced[new] = former }
        }
      }
      return replace(replaced, links)
    }

    private func replace(_ replaced: [RecordID: RecordID], _ links: [RecordID: PendingChange] = [:]) -> Save? {
      let new = changes.map { change in
        let values = change.values?.mapValues { value in value.reference.flatMap { replaced[$0] }.map(FieldValue.reference) ?? value }
        let id = replaced[change.id] ?? change.id
        return PendingChange(id, entity: change.entity, links[id]?.values ?? values, rules: change.rules, ownFields: change.ownFields)
      }
      if new == changes { return nil }
      let copy = isAccepted ? Save(copying: self) : nil
      changes = new
      serials = Dictionary(serials.map { (replaced[$0.key] ?? $0.key, $0.value) }) { first, _ in first }
      isAccepted = false
      return copy
    }
  }

  /// Checks that no value of a save remains that a later save of the same device has replaced.
  func checkOrder(_ view: StateView) throws {
    for (device, saves) in byDevice {
      var last: [RecordID: [PropertyID: Save]] = [:]
      for save in saves.values.sorted(by: { $0.number < $1.number }) where !save.isLost {
        for change in save.changes where !mayBeJoined(change, view) {
          for property in (change.values ?? [:]).keys { last[change.id, default: [:]][property] = save }
        }
      }
      // A returned object has the state of a device that was away.
      for (id, fields) in last where !hasReturned(id) {
        // What it has of an object that was deleted again meanwhile is not brought up to date.
        guard let state = view.state(of: id), !removesDeletions || !state.isDeleted else { continue }
        for (property, save) in fields {
          guard let field = state[property], field.rule == .latest, !save.has(written: field, of: id) else { continue }
          // A restored hub has lost the bytes of the later value, which the device released because the object was deleted.
          if field.value.asset != nil, !isComparable { continue }
          let writers = byStamp[field.stamp] ?? []
          // A commit of former stamps may arrive after the saves got other ones.
          let former = writers.first { saves[$0.number] === $0 && $0.number < save.number && $0.has(written: field, of: id) }
          if let former, former.stamps.count == 1, save.stamps.count == 1 {
            throw SimulationFailure(
              invariant: "later saves win over earlier ones",
              detail: "device \(device): save \(former.number) \(former.stamps) over \(save.number) \(save.stamps), \(id.low)")
          }
        }
      }
    }
  }
}

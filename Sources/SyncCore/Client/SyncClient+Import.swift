extension SyncClient {
  /// What a page has led to.
  enum PullProgress {
    case incomplete
    /// With what a comparison has changed, and whether the records must be compared now.
    case complete(ReconciliationResult?, mustReconcile: Bool)
    /// The pages may be of another history than a commit that the hub has accepted. Pulling again shows it, if nothing is sent meanwhile.
    case outdated
  }

  /// Stages a page, and imports all pages with the last one.
  func receive(_ page: PullPage, in store: some SyncStore, _ environment: Environment) throws -> PullProgress {
    try correctClock(page.hubTime, in: store, environment)
    var zone = try store.zone()
    if let incarnation = zone.incarnation, incarnation != page.incarnation {
      try salvage(page.incarnation, in: store)
      return .incomplete
    }
    zone.incarnation = page.incarnation
    var staging = zone.staging ?? ZoneState.Staging(from: zone.base)
    let outbox = try store.outbox()?.commit
    var isForked = false
    for entry in page.commits {
      staging.point = ChainPoint(sequence: entry.sequence, head: try hashing.head(after: staging.point.head, adding: entry.digest))
      if let accepted = zone.accepted, accepted.sequence == staging.point.sequence, accepted != staging.point {
        try salvage(page.incarnation, in: store)
        return .incomplete
      }
      if entry.digest == outbox?.digest { (staging.listedOutbox, staging.listedSequence) = (entry.digest, entry.sequence) }
      if zone.formerCommits?.contains(entry.digest) ?? false { staging.listedSequence = entry.sequence }
      if isFork(entry, zone, outbox) { isForked = true }
    }
    if isForked {
      try store.setZone(zone)
      try changeIdentity(isForked: true, in: store, environment)
      zone = try store.zone()
      // An object can have the ID of one that was deleted in the lost state: pull the deletions too.
      if page.request.omitsDeleted {
        try removeStaging(in: store)
        return .incomplete
      }
    }
    if page.request.start == nil, page.request.base.sequence == 0, staging.position == nil {
      (staging.start, staging.omitsDeleted) = (page.head.sequence, page.request.omitsDeleted)
    }
    try store.stage(page.records)
    if let last = page.records.last { staging.position = PagePosition(sequence: last.sequence, name: last.name) }
    staging.head = page.head
    zone.staging = staging
    try store.setZone(zone)
    if !page.isLast { return .incomplete }
    if try isOutdated(zone, staging, in: store) {
      try store.removeStagedRecords()
      zone.staging = nil
      try store.setZone(zone)
      return .outdated
    }
    var reconciliation = reconciliation
    try importStagedRecords(&reconciliation, in: store)
    let isEqual = try compareSums(page, in: store)
    // What has changed during the comparison may have been missed.
    let mustReconcile = !isEqual && reconciliation.map { $0.result.differenceCount > 0 && !$0.isRepeated } ?? true
    if mustReconcile {
      try requestReconciliation(in: store)
    } else if !isEqual {
      try acceptSum(page, in: store)
      reconciliation?.result.isSumWrong = true
    }
    return .complete(reconciliation?.result, mustReconcile: mustReconcile)
  }

  /// Returns whether the staged records were read before the hub has accepted the last commit, and contain earlier states of its records.
  ///
  /// Such a state can be the device's own. If it is that of another device, the hub would not have accepted the commit: it was restored
  /// meanwhile.
  private func isOutdated(_ zone: ZoneState, _ staging: ZoneState.Staging, in store: some SyncStore) throws -> Bool {
    guard let accepted = zone.accepted, accepted.sequence > staging.point.sequence else { return false }
    var isOutdated = false
    try forEachStagedRecord(in: store) { stored in
      guard !isOutdated, let id = try? sealing.open(stored).id, let known = try store.entry(of: id)?.base else { return }
      isOutdated = known.sequence > stored.sequence
    }
    return isOutdated
  }

  private func forEachStagedRecord(in store: some SyncStore, _ body: (StoredRecord) throws -> Void) throws {
    var position = 0
    while true {
      let batch = try store.stagedRecords(after: position, maximumCount: limits.recordsInBatch)
      if batch.isEmpty { return }
      position += batch.count
      for stored in batch { try body(stored) }
    }
  }

  /// Imports the staged records: first all states, then, in batches, the objects that follow from them.
  private func importStagedRecords(_ reconciliation: inout Reconciliation?, in store: some SyncStore) throws {
    var zone = try store.zone()
    guard let staging = zone.staging else { return }
    if reconciliation != nil { (zone.sum, zone.mustReconcile) = (nil, nil) }
    var (changed, unexpected) = (RecordSet(), RecordSet())
    // What the commit in the outbox has changed is known to the devices that have changed it since.
    let listed = try store.outbox().flatMap { $0.commit.digest == staging.listedOutbox ? $0 : nil }
    // Records that the listed commit, or one of a former identity, has inserted have no entries yet.
    let isUnacknowledged = listed != nil || zone.formerDevices != nil
    try forEachStagedRecord(in: store) { stored in
      let opened = try? sealing.open(stored)
      if let reconciliation, let opened { try admit(stored, of: opened.id, reconciliation, in: store) }
      if let (id, record) = opened, let entry = try store.entry(of: id) ?? (isUnacknowledged ? RecordEntry() : nil) {
        if stored.sequence == staging.listedSequence {
          try noteOwnEffects(on: id, entry, record, in: store)
        } else {
          try noteLosses(of: id, entry, replacedBy: stored, record, after: listed, in: store)
        }
        if !record.isDeleted, entry.base?.record.isDeleted ?? false { try holdOmittedChanges(of: id, in: store) }
      }
      changed.formUnion(try setBase(stored, opened, &zone, &unexpected, in: store))
    }
    try store.removeStagedRecords()
    let collisions = try collisions(among: unexpected, staging, in: store)
    var removed = RecordSet()
    if let listed {
      try holdSettledChanges(through: listed.through, in: store)
      if reconciliation != nil { removed = try holdRemovedRecords(through: listed.through, in: store) }
      changed.formUnion(try mergedRecords(settledThrough: listed.through, in: store))
      zone.settledThrough = listed.through
      try store.setOutbox(nil)
    }
    if zone.forkedThrough == .max { zone.forkedThrough = try lastSave(in: store) }
    zone.base = staging.point
    if let accepted = zone.accepted, accepted.sequence <= zone.base.sequence { zone.accepted = nil }
    zone.staging = nil
    zone.isJoined = true
    try store.setZone(zone)
    if var running = reconciliation {
      changed.formUnion(try removeMissingRecords(&running, accepted: removed, after: listed, in: store))
      reconciliation = running
    }
    changed.formUnion(try renewRecords(collisions, in: store))
    try updateObjects(of: changed, in: store)
  }

  /// Sets the state of a record on the hub, or quarantines the record if it cannot be opened.
  ///
  /// - Parameters:
  ///   - opened: The record, if it could be opened.
  ///   - unexpected: The record is added if it has arrived for the first time, although pending saves have changed it.
  /// - Returns: The records whose objects may change.
  func setBase(
    _ stored: StoredRecord, _ opened: (id: RecordID, record: Record)?, _ zone: inout ZoneState, _ unexpected: inout RecordSet,
    in store: some SyncStore
  ) throws -> [RecordID] {
    guard let (id, record) = opened else {
      try store.setQuarantined(stored, stored.name)
      zone.sum = nil  // The record that it replaces is not known.
      return []
    }
    if let quarantined = try store.quarantined(stored.name), quarantined.sequence <= stored.sequence {
      try store.setQuarantined(nil, stored.name)
      zone.sum = nil
    }
    var entry = try store.entry(of: id) ?? newEntry(of: id, record, in: store)
    var changed = [id]
    let state = entry.state
    let former = entry.base
    entry.setBase(RecordEntry.VersionedRecord(stored.sequence, stored.version, record))
    if state == nil || model.hasRivals {
      let pending = try store.pendingChanges(of: id, after: try store.zone().settledThrough)
      if state == nil, pending != nil { unexpected.insert(id) }
      // Its former destinations may be free.
      if model.hasRivals {
        let (known, new) = (state.joined(with: pending), entry.state.joined(with: pending))
        changed += try claimRivals(of: known, in: store)
        changed += try fellowMembers(of: known, replacedBy: new, in: store)
      }
    }
    try zone.replace(former, by: entry.base, stored.name, hashing)
    try store.setEntry(entry, of: id)
    if let time = record.latestStamp?.time { zone.clock.observe(time) }
    if zone.hasMergeRules != true, record.hasMergeRules { zone.hasMergeRules = true }
    if zone.hasVersions != true, record.fields.contains(where: { $0.rule == .custom }) { zone.hasVersions = true }
    return changed
  }

  /// Returns the entry of a record that has arrived for the first time.
  ///
  /// If the same link was here before synchronization began, that is an addition too, which a later removal must know. If the same object was
  /// here, its attributes with rules are merged. The others are older than those of the zone.
  private func newEntry(of id: RecordID, _ record: Record, in store: some SyncStore) throws -> RecordEntry {
    guard record.isLink || record.hasMergeRules, try store.pendingChanges(of: id, after: store.zone().settledThrough) == nil else {
      return RecordEntry()
    }
    if let link = Link(record, model) {
      return try store.contains(link, id) ? Baseline.add(store.object(of: id) ?? SyncedObject(link), of: id, in: store) : RecordEntry()
    }
    guard var object = try store.object(of: id) else { return RecordEntry() }
    let rules = model.merging(of: object.entity)
    object.values = object.values.filter { rules[$0.key] != nil }
    return object.values.isEmpty ? RecordEntry() : try Baseline.add(object, of: id, merging: rules, in: store)
  }

  /// Prepares to join the device's records with those of a hub that was restored from a backup.
  func salvage(_ incarnation: Incarnation, in store: some SyncStore) throws {
    var last: RecordID?
    while true {
      let records = try store.records(after: last, maximumCount: limits.recordsInPage)
      guard let final = records.last else { break }
      for id in records {
        guard var entry = try store.entry(of: id) else { continue }
        entry.held = entry.state
        (entry.base, entry.isOrphan) = (nil, false)
        try store.setEntry(entry, of: id)
      }
      last = final
    }
    try removeQuarantined(in: store)
    var zone = try store.zone()
    try store.removeStagedRecords()  // They are from before the restoration.
    zone.incarnation = incarnation
    zone.base = ChainPoint()
    (zone.accepted, zone.staging) = (nil, nil)
    (zone.sum, zone.sumError, zone.mustReconcile) = (RecordSum(), nil, nil)
    (zone.isJoined, zone.isSalvaging) = (false, true)
    try store.setZone(zone)
    try store.setOutbox(nil)  // Its commit is based on what the hub has lost.
  }
}

import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
package import SyncCore

extension StoreReplica {
  /// Makes the store a replica of a zone. The objects that it contains are added to the zone by ``addBaseline(maximumCount:)``.
  ///
  /// Switches on the history with values and the stable IDs. What is saved from then on is sent.
  /// - Parameter alongside: Called in the transaction that makes the store a replica.
  /// - Throws: ``SyncError`` if the model cannot be synchronized, or the store is already synchronized.
  package func begin(in zone: ZoneID, as device: DeviceID, alongside: () throws -> Void = {}) throws {
    try checkCanBegin()
    if try !history.tracksObjectIdentity() { try history.setTracksObjectIdentity(true) }
    let settings = try history.historySettings()
    if settings?.level != .values { try history.setHistory(HistorySettings(level: .values)) }
    let lineage = try lineage()
    try transaction {
      var state = ReplicaState(zoneID: zone, zone: ZoneState(device: device), lineage: lineage)
      state.ownsHistory = settings == nil
      state.modelChecksum = schema.model.checksum
      state.zone.settledThrough = try reader.newest
      state.baseline = BaselineProgress()
      try setReplicaState(state)
      try removeNewAccountKey()
      try alongside()
    }
  }

  /// Throws ``SyncError`` if the model cannot be synchronized, or the store is already synchronized.
  package func checkCanBegin() throws {
    try schema.check(path: path)
    if try transaction({ try replicaState() }) != nil { throw SyncError(.alreadySynchronized, path: path) }
  }

  /// Ends the synchronization of the store, whose objects remain.
  package func end() throws {
    try removeTables()
    incomingChunks?.removeAll()
  }

  /// The lineage of the store's file.
  func lineage() throws -> String { try lineageStore?.lineageIdentifier() ?? store.identifier }

  /// Returns whether the store's file is a copy of the one that the device's identity belongs to, so that ``SyncClient/Event/copied`` must
  /// be handled before anything is sent. Must not be called in a transaction.
  package func isCopy() throws -> Bool {
    let lineage = try lineage()
    return try snapshot { try replicaState().map { $0.lineage != lineage } ?? false }
  }

  /// Makes the device's identity that of the store's file.
  ///
  /// If the hub has found out that the file is a copy or an earlier state, and the file does not show it, it gets another lineage now.
  func adoptLineage(_ state: inout ReplicaState) throws {
    let known = try lineage()
    state.copy = nil
    state.lineage = try known == state.lineage ? lineageStore?.renewLineage() ?? known : known
  }

  /// Makes the objects from the records again if the model has changed: records contain values and objects that other versions of the model
  /// do not have. Must be called after the store was opened.
  ///
  /// - Parameter batch: The number of objects to write at once.
  package func adoptModel(batch: Int) throws {
    try transaction {
      guard var state = try replicaState() else { return }
      guard state.modelChecksum != schema.model.checksum else { return try mergeAgain(batch: batch) }
      state.modelChecksum = schema.model.checksum
      try setReplicaState(state)
      try VisibleState(schema.syncModel, in: self, batch: batch).updateAll()
    }
  }

  /// Adds a batch of the objects that were there before synchronization began.
  ///
  /// Objects that are changed meanwhile are in pending saves as well, whose values are newer.
  /// - Returns: The number of objects in the batch; nil if all objects are added.
  package func addBaseline(maximumCount: Int) throws -> Int? {
    try transaction {
      var state = try knownState()
      guard var progress = state.baseline else { return nil }
      let rows = try nextRows(&progress, maximumCount)
      let children = try addBaseline(rows)
      // The application can have made cycles of parents.
      if !children.isEmpty { try VisibleState(schema.syncModel, in: self, batch: maximumCount).update(children) }
      let links = rows.isEmpty ? try nextLinks(&progress, maximumCount) : []
      // A link that a pending save has added is sent with that save.
      for link in links where try row(of: link.id) == nil && !(pending().changes(of: link.id)?.hasAddition ?? false) {
        try Baseline.add(linkObject(link.link), of: link.id, in: self)
      }
      progress.count += rows.count
      let isComplete = progress.isComplete(schema)
      state = try knownState()
      state.baseline = isComplete ? nil : progress
      try setReplicaState(state)
      if !isComplete { return rows.count + links.count }
      baselineKeys = nil
      return nil
    }
  }

  /// - Returns: The records with parents in trees.
  private func addBaseline(_ rows: RowList) throws -> [RecordID] {
    var (identities, children): (RecordIdentities, [RecordID]) = (RecordIdentities(history), [])
    for row in rows {
      identities.add(row.reference)
      addReferences(of: row, to: &identities)
    }
    try identities.load()
    for row in rows {
      let id = try identities.record(of: row.reference)
      let properties = schema.entities[row.entityNumber].properties
      // An object that a pending save has inserted is sent with that save, whole.
      if let change = try pending().changes(of: id), change.fields.count(where: { $0.value.position == nil }) == properties.count {
        continue
      }
      let object = try self.row(of: id) == nil ? try object(row, of: id, identities) : nil
      if let object { try addBaseline(object, of: id) }
      if try self.row(of: id)?.object != row.reference { try setObject(row.reference, of: id) }
      guard let object, let trees = schema.syncModel.entities[object.entity]?.trees else { continue }
      if trees.contains(where: { object.values[$0]?.reference != nil }) { children.append(id) }
    }
    return children
  }

  /// Adds an object as it was before the pending saves.
  func addBaseline(_ object: SyncedObject, of id: RecordID) throws {
    let rules = schema.syncModel.merging(of: object.entity)
    var object = object
    if !rules.isEmpty, let change = try pending().changes(of: id) {
      for field in change.fields where field.rule == .counter {
        guard let value = object.values[field.property] else { continue }
        // What the saves have added is not a part of the value from before.
        object.values[field.property] = Counter.difference(from: Counter(field.value).sum, to: value) ?? .integer(0)
      }
      for field in change.fields where field.rule == .custom {
        guard let version = ValueVersions(field.value).versions.first else { continue }
        object.values[field.property] = version.base
      }
    }
    try Baseline.add(object, of: id, merging: rules, in: self)
  }

  /// Reads the next rows in the order of entities and keys.
  func nextRows(_ progress: inout BaselineProgress, _ count: Int) throws -> RowList {
    while progress.entity < schema.entities.count {
      let entity = schema.model.entities[progress.entity]
      if !entity.isAbstract, store.entityNumbers.contains(entity.number) {
        let objects = try keys(of: entity, after: progress.key, count).map { ObjectReference(entity: entity.number, key: $0) }
        if let last = objects.last {
          progress.key = last.key
          return try readRows(objects)
        }
      }
      progress.entity += 1
      progress.key = 0
    }
    return RowList()
  }

  private func keys(of entity: CompiledEntity, after key: Int64, _ count: Int) throws -> [Int64] {
    // The keys of an entity take little memory, and are read once for many batches.
    if baselineKeys?.entity != entity.number || key == 0 {
      var fetch = FetchSpecification(entityName: entity.name)
      fetch.includesSubentities = false
      fetch.resultType = .objectIDs
      fetch.includesPropertyValues = false
      let keys: [Int64] =
        switch try coordinator.fetchedIDs(fetch, in: store, scope: scope) {
        case .keys(let keys): keys.removeFirst(.max)
        case .ids(let ids): ids.map(\.key).sorted()
        }
      baselineKeys = (entity.number, keys)
    }
    let keys = baselineKeys?.keys ?? []
    let start = keys.partitioningIndex { $0 > key }
    return Array(keys[start..<min(start + count, keys.count)])
  }
}

extension Array {
  /// Returns the first position whose element fulfills a condition that all later ones fulfill too.
  func partitioningIndex(_ isInSecond: (Element) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if isInSecond(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

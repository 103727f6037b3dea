import Foundation
package import ObjectModel
import ObjectStore
import SQLCipherStore
import SyncCore
import SyncCrypto

/// A large value to upload.
struct AssetUpload: Sendable {
  let id: RecordID
  let property: PropertyID
  /// The content.
  let asset: AssetReference
  /// The key, and the chunks that were made so far.
  let sealed: AssetReference.Sealed
  let value: ExternalData
}

/// A large value to download.
struct AssetDownload: Sendable {
  let id: RecordID
  let property: PropertyID
  let asset: AssetReference
  let sealed: AssetReference.Sealed
}

extension StoreReplica {
  /// The number of bytes of a value in a chunk of new uploads.
  @TaskLocal static var chunkSize = AssetReference.chunkSize

  private struct AssetKey: Hashable {
    let id: RecordID
    let property: PropertyID
  }

  // MARK: Uploads

  /// Returns the large values that must be uploaded before what waits can be sent: of each attribute the present one.
  func uploads() throws -> [AssetUpload] {
    guard hasAssets else { return [] }
    var (uploads, seen): ([AssetUpload], Set<AssetKey>) = ([], [])
    func add(_ id: RecordID, _ record: Record?) throws {
      for field in record?.fields ?? [] where field.value.isUnsealed {
        guard seen.insert(AssetKey(id: id, property: field.property)).inserted else { continue }
        if let upload = try upload(of: id, field.property) { uploads.append(upload) }
      }
    }
    var last: RecordID?
    while true {
      let ids = try unsentRecords(after: last, maximumCount: 1_000)
      guard let final = ids.last else { break }
      for id in ids { try add(id, try entry(of: id)?.held) }
      last = final
    }
    let pending = try pending()
    if pending.hasAssets { try pending.forEachRecord { try add($0, try pending.changes(of: $0)) } }
    return uploads
  }

  private func upload(of id: RecordID, _ property: PropertyID) throws -> AssetUpload? {
    guard let asset = try knownRecord(of: id)?[property]?.value.asset, asset.sealed == nil else { return nil }
    var entry = try assetEntry(of: id, property)
    if let known = entry, known.asset.content != asset || known.asset.sealed == nil { entry = nil }
    if entry?.location == .both { return nil }
    // What was saved since the transaction began is read by the next one.
    guard let value = try localValue(of: id, property, asset) else { return nil }
    let sealed =
      try entry?.asset.sealed ?? AssetReference.Sealed(key: AssetCipher.randomKey(), chunkSize: Self.chunkSize, chunks: [])
    let upload = AssetUpload(id: id, property: property, asset: asset, sealed: sealed, value: value)
    if entry == nil { try setProgress(of: upload, sealed) }
    return upload
  }

  /// Stores the chunks of an upload that were made, before the last one is sent.
  func setProgress(of upload: AssetUpload, _ sealed: AssetReference.Sealed, isComplete: Bool = false) throws {
    try setAssetEntry(
      AssetEntry(
        id: upload.id, property: upload.property,
        asset: AssetReference(digest: upload.asset.digest, size: upload.asset.size, sealed: sealed),
        location: isComplete ? .both : .device, used: wall()))
  }

  /// Forgets an upload whose value was replaced meanwhile.
  ///
  /// - Returns: False if the value is still the present one, so that its file must be damaged.
  func abandon(_ upload: AssetUpload) throws -> Bool {
    try removeAssetEntry(of: upload.id, upload.property)
    return try localValue(of: upload.id, upload.property, upload.asset) == nil
  }

  /// Records that neither the hub nor the device has a large value.
  func setLost(_ id: RecordID, _ property: PropertyID, _ asset: AssetReference) throws {
    try setAssetEntry(AssetEntry(id: id, property: property, asset: asset.content, location: .lost, used: wall()))
  }

  // MARK: Downloads

  /// Returns the download of a value that is not on the device; nil if it is not needed anymore.
  func download(of entry: AssetEntry) throws -> AssetDownload? {
    guard let asset = try knownRecord(of: entry.id)?[entry.property]?.value.asset, let sealed = asset.sealed,
      asset.content == entry.asset.content
    else {
      try removeAssetEntry(of: entry.id, entry.property)
      return nil
    }
    return AssetDownload(id: entry.id, property: entry.property, asset: asset, sealed: sealed)
  }

  /// Sets an attribute to a downloaded value, unless that was replaced meanwhile.
  func finish(_ download: AssetDownload, _ value: ExternalData) throws {
    guard var entry = try assetEntry(of: download.id, download.property), entry.isMissing,
      entry.asset.content == download.asset.content, let (row, slot) = try slot(of: download.id, download.property),
      row.isPlaceholder(slot)
    else { return }
    try set(value, slot, of: row)
    (entry.location, entry.used) = (.both, wall())
    // What was lost is on the hub again.
    entry.asset = download.asset
    try setAssetEntry(entry)
  }

  /// Returns the chunks of a large value that is on the device and on the hub, so that the device need not keep it. Nil if it was replaced,
  /// or something of it waits to be sent.
  func evictableChunks(of entry: AssetEntry) throws -> [ChunkID]? {
    let known = try knownRecord(of: entry.id)?[entry.property]?.value
    if known?.asset?.content != entry.asset.content {
      try removeAssetEntry(of: entry.id, entry.property)
      return nil
    }
    guard let known, try self.entry(of: entry.id)?.base?.record[entry.property]?.value == known else { return nil }
    return known.asset?.sealed?.chunks
  }

  /// Removes the bytes of a large value from the device.
  func evict(_ entry: AssetEntry) throws {
    guard var known = try assetEntry(of: entry.id, entry.property), known.location == .both, known.used == entry.used,
      try evictableChunks(of: known) != nil, try localValue(of: entry.id, entry.property, entry.asset) != nil,
      let (row, slot) = try slot(of: entry.id, entry.property)
    else { return }
    try set(nil, slot, of: row)
    known.location = .hub
    try setAssetEntry(known)
  }

  /// Sets a binary attribute of an object, on behalf of synchronization.
  ///
  /// - Parameter value: The value, or nil for the placeholder.
  private func set(_ value: ExternalData?, _ slot: Int, of row: RowImage) throws {
    let entity = schema.model.entities[row.entityNumber]
    let writer = RowWriter()
    writer.beginRow(entityNumber: row.entityNumber, slotCount: row.slotCount, key: row.reference.key, version: row.version + 1)
    for (number, kind) in entity.kinds.enumerated() {
      if number != slot {
        writer.copy(number, kind: kind, from: row)
      } else if let value {
        writer.setExternal(value, at: slot)
      } else {
        writer.set(placeholder(entity.slots[slot]), at: slot)
      }
    }
    var update = SaveChangesRequest.Update(row: writer.endRow(), changedSlots: SlotMask(slots: [slot]), oldVersion: row.version)
    update.previousRow = row
    var request = SaveChangesRequest()
    request.updated.append(update)
    try coordinator.save(request, to: store, scope: scope)
  }
}

// MARK: - The application

extension StoreReplica {
  /// Returns where the value of a binary attribute is. Waits for no other process.
  package func assetState(_ slot: Int, of object: ObjectReference) throws -> AssetState {
    guard let row = try readRows([object]).first else { return .none }
    guard row.isPlaceholder(slot) else { return .onDevice }
    guard let id = try history.stableIDs(of: [object]).first.flatMap({ $0 }).map(RecordID.init),
      let property = schema.entities[object.entity].property(inSlot: slot),
      let entry = try snapshot({ try assetEntry(of: id, property.id) }), entry.isMissing
    else { return row.isNull(slot) ? .none : .onDevice }
    return .missing(size: entry.asset.size)
  }

  /// Returns the download of a large value that the application needs now; nil if it is on the device, or the attribute has no value.
  func requestAsset(_ slot: Int, of object: ObjectReference) throws -> (entry: AssetEntry, download: AssetDownload)? {
    guard let id = try history.stableIDs(of: [object]).first.flatMap({ $0 }).map(RecordID.init),
      let property = schema.entities[object.entity].property(inSlot: slot), var entry = try assetEntry(of: id, property.id)
    else { return nil }
    entry.used = wall()
    try setAssetEntry(entry)
    guard entry.isMissing, let download = try download(of: entry) else { return nil }
    return (entry, download)
  }
}

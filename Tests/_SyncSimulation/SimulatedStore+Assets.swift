import SyncCore

/// Where large values are, as a store with rows and files knows it.
extension SimulatedStore {
  /// An attribute of a record.
  struct AssetKey: Hashable, Comparable {
    let id: RecordID
    let property: PropertyID
    static func < (one: AssetKey, other: AssetKey) -> Bool { (one.id, one.property) < (other.id, other.property) }
  }

  /// What a store knows of a large value, in addition to the record.
  struct AssetEntry {
    enum Location {
      /// On the device, and not completely on the hub.
      case device
      case both
      /// On the hub only.
      case hub
      /// Neither on the device nor on the hub.
      case lost
    }
    /// The content. If the device has sent the value, with the key and the chunks that were made so far.
    var asset: AssetReference
    var location: Location
    var isMissing: Bool { location == .hub || location == .lost }
  }

  /// A large value to upload.
  struct AssetUpload {
    let key: AssetKey
    /// The content.
    let asset: AssetReference
    var sealed: AssetReference.Sealed
  }

  /// Returns whether the device has the bytes of a large value: those of the present value of an object.
  func hasBytes(of asset: AssetReference, _ key: AssetKey) -> Bool {
    guard state.objects[key.id]?.values[key.property]?.asset == asset.content else { return false }
    return state.assets[key].map { !$0.isMissing || $0.asset.content != asset.content } ?? true
  }

  // MARK: Rows

  /// Notes that large values of an object are on the hub, or that it has none anymore.
  func noteAssets(of id: RecordID, _ new: SyncedObject?) {
    let former = state.objects[id]
    guard let new else {
      for key in state.assets.keys where key.id == id { state.assets[key] = nil }
      return
    }
    for (property, value) in new.values where former?.values[property] != value {
      state.assets[AssetKey(id: id, property: property)] = value.asset.map { AssetEntry(asset: $0.content, location: .hub) }
    }
  }

  /// Forgets what belongs in place of values that a save of the application has replaced.
  func forgetMissingAssets(replacedBy change: PendingChange) {
    for property in (change.values ?? [:]).keys {
      let key = AssetKey(id: change.id, property: property)
      if state.assets[key]?.isMissing ?? false { state.assets[key] = nil }
    }
  }

  // MARK: Uploads

  func sendable(_ state: Record, of id: RecordID) throws -> Record? {
    try call()
    if state.assets.isEmpty { return state }
    let present = known(of: id)
    let base = self.state.entries[id]?.base?.record
    func sealed(_ asset: AssetReference, _ property: PropertyID) -> AssetReference? {
      if let entry = self.state.assets[AssetKey(id: id, property: property)], entry.location == .both, entry.asset.content == asset {
        return entry.asset
      }
      return uploaded[asset]
    }
    var isReady = true
    let sendable = state.mapFields { field in
      guard let asset = field.value.asset else { return field }
      if asset.sealed != nil {
        // What neither the hub nor this device has cannot be sent.
        let entry = self.state.assets[AssetKey(id: id, property: field.property)]
        guard let entry, entry.location == .lost, entry.asset.content == asset.content, base?[field.property]?.value != field.value else {
          return field
        }
        return base?[field.property] ?? field.withoutBytes
      }
      if let sealed = sealed(asset, field.property) { return field.replacing(.asset(sealed)) }
      // The value was replaced by a later save, or the object was deleted.
      guard let value = present?[field.property]?.value else { return field.replacing(.null) }
      guard let newer = value.asset, newer.sealed == nil else { return field.replacing(value) }
      if let sealed = sealed(newer, field.property) { return field.replacing(.asset(sealed)) }
      // The object was deleted or is hidden, and its bytes with it.
      let key = AssetKey(id: id, property: field.property)
      guard hasBytes(of: newer, key) else {
        abandonedAssets[key, default: []].insert(newer)
        return field.replacing(.null)
      }
      isReady = false
      return field
    }
    return isReady ? sendable : nil
  }

  /// Returns the large values that must be uploaded before what waits can be sent.
  ///
  /// - Parameter makeKey: Returns the key of the chunks of a new upload.
  func uploads(_ makeKey: (AssetKey) -> [UInt8]) throws -> [AssetUpload] {
    try call()
    var (uploads, seen): ([AssetUpload], Set<AssetKey>) = ([], [])
    func add(_ id: RecordID, _ record: Record?) {
      for field in record?.fields ?? [] where field.value.isUnsealed {
        let key = AssetKey(id: id, property: field.property)
        if seen.insert(key).inserted, let upload = upload(key, makeKey) { uploads.append(upload) }
      }
    }
    for (id, entry) in state.entries.sorted(by: { $0.key < $1.key }) where entry.isUnsent { add(id, entry.held) }
    for save in state.saves where save.number > state.zone.settledThrough {
      for change in save.changes { add(change.id, change.record(save.stamp)) }
    }
    return uploads
  }

  private func upload(_ key: AssetKey, _ makeKey: (AssetKey) -> [UInt8]) -> AssetUpload? {
    guard let asset = known(of: key.id)?[key.property]?.value.asset, asset.sealed == nil else { return nil }
    var entry = state.assets[key]
    if let known = entry, known.asset.content != asset || known.asset.sealed == nil { entry = nil }
    if entry?.location == .both || !hasBytes(of: asset, key) { return nil }
    let sealed = entry?.asset.sealed ?? AssetReference.Sealed(key: makeKey(key), chunkSize: SimulatedChunks.size, chunks: [])
    let upload = AssetUpload(key: key, asset: asset, sealed: sealed)
    if entry == nil { setProgress(of: upload) }
    return upload
  }

  /// Stores the chunks of an upload that were made, before the last one is sent.
  func setProgress(of upload: AssetUpload, isComplete: Bool = false) {
    let asset = AssetReference(digest: upload.asset.digest, size: upload.asset.size, sealed: upload.sealed)
    state.assets[upload.key] = AssetEntry(asset: asset, location: isComplete ? .both : .device)
  }

  /// Whether something is to be downloaded before the device has all large values of its objects.
  var missingAssets: [AssetKey] {
    state.assets.keys.filter { key in
      guard let entry = state.assets[key], entry.isMissing else { return false }
      return state.objects[key.id]?.values[key.property]?.asset == entry.asset.content
    }.sorted()
  }
}

/// The chunks of large values in simulations.
enum SimulatedChunks {
  /// The number of bytes of a value in a chunk.
  static let size: Int64 = 100

  /// Returns a sealed chunk, which depends on the value, the key and its number.
  static func chunk(_ index: Int, of asset: AssetReference, _ key: [UInt8]) -> (id: ChunkID, bytes: [UInt8]) {
    let bytes = asset.digest.allBytes.prefix(8) + key + [UInt8(truncatingIfNeeded: index)]
    return (ChunkID(SimulatedHashing().digest(of: Array(bytes))), Array(bytes))
  }
}

extension FieldValue {
  /// The value as an object has it: a large value without its chunks.
  var content: FieldValue { asset.map { .asset($0.content) } ?? self }
}

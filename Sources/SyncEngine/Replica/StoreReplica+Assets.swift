import Foundation
import ObjectModel
import ObjectStore
import SQLCipherStore
package import SyncCore

// Large values: what rows and records say of them. A record contains a reference to the content. As long as the bytes are not on the device,
// the attribute has a placeholder, and an entry says what belongs there.

extension StoreReplica {
  /// Whether the model has attributes that can have large values. With another threshold, or another model, that can be any binary one.
  package var hasAssets: Bool { schema.hasBinaryAttributes }

  // MARK: Rows

  /// Returns the value of a binary attribute of a row.
  ///
  /// Whether a value is large is decided by the device that has saved it. If the record has the same bytes in the other form, that one is
  /// returned, so that equal contents are equal values.
  /// - Parameter id: The record of the row's object; nil if it has none.
  func binaryValue(_ property: SyncSchema.Property, of row: RowImage, _ id: RecordID?) throws -> FieldValue {
    let slot = property.slot
    if row.isPlaceholder(slot) {
      if let id, let entry = try assetEntry(of: id, property.id), entry.isMissing { return .asset(entry.asset.content) }
      return row.isNull(slot) ? .null : .bytes([])
    }
    func known() throws -> FieldValue? { try id.flatMap { try knownRecord(of: $0)?[property.id]?.value } }
    if let external = row.external(slot) {
      let content = try content(of: external)
      if case .bytes(let bytes)? = try known(), AssetReference(contentOf: Data(bytes)) == content { return .bytes(bytes) }
      return .asset(content)
    }
    let bytes = row.bytes(slot)
    // What was received as a large value has an entry.
    if let id, try assetEntry(of: id, property.id) != nil, let asset = try known()?.asset, asset.size == Int64(bytes.count),
      AssetReference(contentOf: Data(bytes)) == asset.content
    {
      return .asset(asset.content)
    }
    return .bytes(Array(bytes))
  }

  /// Returns the content of a value outside of its row. Values in files of the store are not read.
  private func content(of value: ExternalData) throws -> AssetReference {
    if let (size, digest) = try encryptedStore?.content(of: value), let digest = Digest(bytes: digest) {
      return AssetReference(digest: digest, size: size)
    }
    return AssetReference(contentOf: try value.data())
  }

  private var encryptedStore: SQLCipherIncrementalStore? { store.incrementalStore as? SQLCipherIncrementalStore }

  /// Returns the bytes of a large value, if the device has them.
  func localValue(of id: RecordID, _ property: PropertyID, _ asset: AssetReference) throws -> ExternalData? {
    guard let (row, slot) = try slot(of: id, property), !row.isPlaceholder(slot) else { return nil }
    let value = row.external(slot) ?? ExternalData(Data(row.bytes(slot)))
    return try content(of: value) == asset.content ? value : nil
  }

  /// Returns a reader of a value in a file of the store, which begins after some bytes; nil if it is not in a file.
  func reader(of value: ExternalData, skipping size: Int) throws -> ExternalDataReader? {
    try encryptedStore?.makeReader(of: value, skipping: size)
  }

  /// Returns the row of a record's object, and the slot of a binary attribute.
  func slot(of id: RecordID, _ property: PropertyID) throws -> (row: RowImage, slot: Int)? {
    guard let reference = try reference(of: id), let row = try readRows([reference]).first,
      let property = schema.entities[row.entityNumber].property(property), property.kind == .bytes
    else { return nil }
    return (row, property.slot)
  }

  /// Returns what an attribute has in place of a value that is not on the device.
  func placeholder(_ slot: CompiledSlot) -> Slot { slot.isOptional ? .null : .bytes(Data()) }

  /// Forgets what belongs in place of placeholders that a save of the application has replaced.
  func forgetPlaceholders(replacedBy change: PendingChange) throws {
    for property in (change.values ?? [:]).keys {
      if try assetEntry(of: change.id, property)?.isMissing ?? false { try removeAssetEntry(of: change.id, property) }
    }
  }

  // MARK: Sending

  /// See ``SyncStore/sendable(_:of:)``.
  package func sendable(_ state: Record, of id: RecordID) throws -> Record? {
    if state.assets.isEmpty { return state }
    var isReady = true
    let present = state.fields.contains { $0.value.isUnsealed } ? try knownRecord(of: id) : nil
    let base = try entry(of: id)?.base?.record
    let sendable = try state.mapFields { field in
      guard let asset = field.value.asset else { return field }
      let entry = try assetEntry(of: id, field.property)
      if asset.sealed != nil {
        // What neither the hub nor this device has cannot be sent.
        guard let entry, entry.location == .lost, entry.asset.content == asset.content, base?[field.property]?.value != field.value else {
          return field
        }
        return base?[field.property] ?? field.withoutBytes
      }
      if let entry, entry.location == .both, entry.asset.content == asset { return field.replacing(.asset(entry.asset)) }
      // The value was replaced by a later save, or the object was deleted.
      guard let value = present?[field.property]?.value else { return field.replacing(.null) }
      guard let newer = value.asset, newer.sealed == nil else { return field.replacing(value) }
      if let entry, entry.location == .both, entry.asset.content == newer { return field.replacing(.asset(entry.asset)) }
      // The object was deleted or is hidden, and the bytes with it. They cannot be uploaded anymore.
      guard let (row, slot) = try slot(of: id, field.property), !row.isPlaceholder(slot) else { return field.replacing(.null) }
      isReady = false
      return field
    }
    return isReady ? sendable : nil
  }
}

extension AssetReference {
  /// Creates a reference to bytes in memory.
  init(contentOf bytes: Data) {
    self.init(digest: Digest(bytes: ContentDigest.sha256(bytes)) ?? .zero, size: Int64(bytes.count))
  }
}

extension RowImage {
  /// Whether a binary attribute may have a placeholder: it is null, or has no bytes.
  func isPlaceholder(_ slot: Int) -> Bool { isNull(slot) || external(slot) == nil && bytes(slot).isEmpty }
}

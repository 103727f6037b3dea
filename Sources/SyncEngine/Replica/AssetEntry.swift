import Foundation
import ObjectModel
import SQLCipherStore
package import SyncCore

/// What a store knows of a large value of a record, in addition to the record.
package struct AssetEntry: Hashable, Sendable {
  /// Where the bytes are.
  package enum Location: Int64, Sendable {
    /// On the device, and not completely on the hub.
    case device = 0
    case both = 1
    /// On the hub. The attribute has a placeholder.
    case hub = 2
    /// Neither on the device nor on the hub, which was restored from a backup. Another device may have them.
    case lost = 3
  }

  package let id: RecordID
  package let property: PropertyID
  /// The content. If the device has sent the value, with the key and the chunks as far as they are known.
  package var asset: AssetReference
  package var location: Location
  /// When the value was needed last, in milliseconds since 1970.
  package var used: Int64

  /// Whether the attribute has a placeholder.
  package var isMissing: Bool { location == .hub || location == .lost }
}

extension StoreReplica {
  /// Whether anything is known of large values, which is rare: then most transactions need no other statement.
  func hasAssetEntries() throws -> Bool {
    if let known = running.hasAssetEntries { return known }
    var found = false
    try transactionTables.query(SyncStatement.anyAsset) { _ in found = true }
    running.hasAssetEntries = found
    return found
  }

  func assetEntry(of id: RecordID, _ property: PropertyID) throws -> AssetEntry? {
    guard try hasAssetEntries() else { return nil }
    var found: AssetEntry?
    try transactionTables.query(SyncStatement.asset, id.slot, property.slot) { found = try AssetEntry($0) }
    return found
  }

  func setAssetEntry(_ entry: AssetEntry) throws {
    running.hasAssetEntries = true
    try transactionTables.execute(
      SyncStatement.setAsset, entry.id.slot, entry.property.slot, entry.asset.digest.slot, .int(entry.asset.size),
      .int(entry.location.rawValue), .int(entry.used),
      entry.asset.sealed.map { .bytes(Data(AssetEntry.encode($0))) } ?? .null)
  }

  func removeAssetEntry(of id: RecordID, _ property: PropertyID) throws {
    guard try hasAssetEntries() else { return }
    try transactionTables.execute(SyncStatement.removeAsset, id.slot, property.slot)
  }

  /// Removes what is known of the large values of a record.
  func removeAssetEntries(of id: RecordID) throws {
    guard try hasAssetEntries() else { return }
    try transactionTables.execute(SyncStatement.removeAssets, id.slot)
  }

  /// Returns the large values whose bytes are in some places, those that were needed last first.
  func assetEntries(at locations: Set<AssetEntry.Location>) throws -> [AssetEntry] {
    guard try hasAssetEntries() else { return [] }
    var found: [AssetEntry] = []
    try transactionTables.query(SyncStatement.assets) {
      let entry = try AssetEntry($0)
      if locations.contains(entry.location) { found.append(entry) }
    }
    return found
  }
}

extension AssetEntry {
  fileprivate init(_ row: SideTableRow) throws {
    guard let location = Location(rawValue: row.int64(4)) else { throw WireError.invalid }
    let sealed = row.isNull(6) ? nil : try Self.decode(row.bytes(6))
    self.init(
      id: RecordID(bytes: row.bytes(0)), property: PropertyID(UInt64(bitPattern: row.int64(1))),
      asset: AssetReference(digest: try Digest(bigEndian: row.bytes(2)), size: row.int64(3), sealed: sealed), location: location,
      used: row.int64(5))
  }

  // The chunks that are known can be fewer than the value has.

  fileprivate static func encode(_ sealed: AssetReference.Sealed) -> [UInt8] {
    var writer = WireWriter()
    writer.write(sealed.key)
    writer.write(sealed.chunkSize)
    writer.write(UInt64(sealed.chunks.count))
    for chunk in sealed.chunks { writer.write(chunk.digest) }
    return writer.bytes
  }

  private static func decode(_ bytes: [UInt8]) throws -> AssetReference.Sealed {
    var reader = WireReader(bytes)
    var sealed = AssetReference.Sealed(key: try reader.readBytes(), chunkSize: try reader.readSigned(), chunks: [])
    for _ in 0..<(try reader.readCount()) { sealed.chunks.append(ChunkID(try reader.readDigest())) }
    guard reader.isAtEnd, sealed.chunkSize > 0, sealed.key.count == AssetReference.keySize else { throw WireError.invalid }
    return sealed
  }
}

extension PropertyID {
  fileprivate var slot: Slot { .int(Int64(bitPattern: value)) }
}

/// A large value of an object: its content, and where a hub has it.
///
/// A record contains a reference in place of the bytes. On the device that has written the value, the reference has no chunks until they are
/// uploaded; a commit contains only references whose chunks the hub has.
package struct AssetReference: Hashable, Sendable {
  /// The chunks of a value on hubs, and the key that opens them.
  package struct Sealed: Hashable, Sendable {
    /// The key of the chunks, 32 bytes. Each value of an attribute of an object has a key of its own.
    package let key: [UInt8]
    /// The number of bytes of the value in a chunk, except for the last one.
    package let chunkSize: Int64
    package var chunks: [ChunkID]

    package init(key: [UInt8], chunkSize: Int64, chunks: [ChunkID]) { (self.key, self.chunkSize, self.chunks) = (key, chunkSize, chunks) }
  }

  /// The SHA-256 of the bytes.
  package let digest: Digest
  /// The number of bytes.
  package let size: Int64
  /// The chunks; nil if only the content is known.
  package let sealed: Sealed?

  package init(digest: Digest, size: Int64, sealed: Sealed? = nil) { (self.digest, self.size, self.sealed) = (digest, size, sealed) }

  /// The number of bytes of a value in a chunk.
  package static let chunkSize: Int64 = 4 << 20
  /// The maximum size of a chunk, in bytes, that devices and hubs accept.
  package static let maximumChunkSize: Int64 = 16 << 20
  /// The size of a key in bytes.
  package static let keySize = 32

  /// The reference without chunks, as the value of an object.
  package var content: AssetReference { AssetReference(digest: digest, size: size) }

  /// Returns the number of chunks of a value.
  package static func chunkCount(size: Int64, chunkSize: Int64) -> Int64 { size / chunkSize + (size % chunkSize == 0 ? 0 : 1) }

  /// Returns the number of bytes in a chunk.
  package static func size(ofChunk index: Int, size: Int64, chunkSize: Int64) -> Int {
    Int(min(chunkSize, size - Int64(index) * chunkSize))
  }

  /// Whether the numbers and sizes of chunks can be those of a value.
  var isValid: Bool {
    guard size >= 0 else { return false }
    guard let sealed else { return true }
    return sealed.key.count == Self.keySize && sealed.chunkSize > 0 && sealed.chunkSize <= Self.maximumChunkSize
      && Int64(sealed.chunks.count) == Self.chunkCount(size: size, chunkSize: sealed.chunkSize)
  }
}

extension AssetReference: Comparable {
  package static func < (one: AssetReference, other: AssetReference) -> Bool {
    if one.digest != other.digest { return one.digest < other.digest }
    if one.size != other.size { return one.size < other.size }
    guard let mine = one.sealed, let theirs = other.sealed else { return one.sealed == nil && other.sealed != nil }
    if mine.key != theirs.key { return mine.key.lexicographicallyPrecedes(theirs.key) }
    if mine.chunkSize != theirs.chunkSize { return mine.chunkSize < theirs.chunkSize }
    return mine.chunks.lexicographicallyPrecedes(theirs.chunks)
  }
}

/// The identity of a sealed chunk of a large value: the SHA-256 of its bytes.
package struct ChunkID: Hashable, Comparable, Codable, Sendable {
  package let digest: Digest
  package init(_ digest: Digest) { self.digest = digest }
  package static func < (one: ChunkID, other: ChunkID) -> Bool { one.digest < other.digest }
}

extension Field {
  /// What a commit contains in place of a large value that neither the hub nor the device has: null, before any save. A device that has the
  /// bytes can still send the value.
  package var withoutBytes: Field { Field(property, .null, Stamp(HybridTime(value: 1), Counter.baseline), rule) }
}

extension Record {
  /// The large values of the record, by property.
  package var assets: [(property: PropertyID, asset: AssetReference)] {
    fields.compactMap { field in field.value.asset.map { (field.property, $0) } }
  }

  /// The chunks of the large values, each once, in ascending order.
  package var chunks: [ChunkID] { Array(Set(assets.flatMap { $0.asset.sealed?.chunks ?? [] })).sorted() }
}

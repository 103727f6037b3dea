import StoreKeys
package import SyncCore

/// Seals or opens the chunks of a large value, with the value's own key.
///
/// ```
///  0  format, 1 byte
///  1  cipher suite, 1 byte
///  2  nonce, 12 bytes
/// 14  the padded chunk, encrypted, and its tag
/// ```
///
/// Only the last chunk is padded, because all others have the same size. The same chunk is always sealed to the same bytes, so that an
/// interrupted upload continues: the nonce is a code of the chunk and its index under a key that follows from the value's. Two different
/// chunks therefore never have the same nonce, even if a file changes while it is read. Because each value has a random key of its own, hubs
/// do not see whether two values are equal.
package final class AssetCipher {
  private let cipher: GCMCipher
  private let nonces: HMAC
  private let zone: ZoneID

  private static let format: UInt8 = 1
  private static let headerSize = 2 + GCMCipher.nonceSize

  private init(_ asset: AssetReference.Sealed, _ zone: ZoneID, _ direction: GCMCipher.Direction) throws {
    let extracted = try HKDF.extract(
      SecretBytes(asset.key), salt: Array("CipherData sync large value".utf8))
    cipher = try GCMCipher(key: HKDF.expand(extracted, Array("content".utf8)), direction)
    nonces = try HMAC(key: HKDF.expand(extracted, Array("nonce".utf8)))
    self.zone = zone
  }

  /// Creates a cipher that seals chunks.
  package static func sealing(_ asset: AssetReference.Sealed, zone: ZoneID) throws -> AssetCipher { try AssetCipher(asset, zone, .seal) }

  /// Creates a cipher that opens chunks.
  package static func opening(_ asset: AssetReference.Sealed, zone: ZoneID) throws -> AssetCipher { try AssetCipher(asset, zone, .open) }

  /// Returns a key for a new value.
  package static func randomKey() throws -> [UInt8] { try Random.bytes(AssetReference.keySize) }

  /// Returns the ID of a sealed chunk.
  package static func id(of sealed: [UInt8]) throws -> ChunkID { ChunkID(try SHA256.digest(of: sealed)) }

  /// Seals a chunk.
  package func seal(_ chunk: [UInt8], index: Int) throws -> [UInt8] {
    let paddedSize = Padding.paddedSize(of: chunk.count)
    let size = Self.headerSize + paddedSize + GCMCipher.tagSize
    let nonce = try nonce(of: chunk, index: index)
    let data = associatedData(index: index)
    return try [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      let bytes = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<size])
      (bytes[0], bytes[1]) = (Self.format, CipherSuite.standard)
      for (offset, byte) in nonce.enumerated() { bytes[2 + offset] = byte }
      let content = UnsafeMutableRawBufferPointer(rebasing: bytes[Self.headerSize...])
      content.copyBytes(from: chunk)
      for offset in chunk.count..<paddedSize { content[offset] = 0 }
      do { try cipher.seal(content, nonce: nonce, authenticating: data) } catch {
        Cryptography.wipe(content)
        throw error
      }
      count = size
    }
  }

  /// Opens a chunk.
  ///
  /// - Parameter size: The size of the chunk before it was padded.
  /// - Throws: `damaged(.chunk)` if it was not sealed as this chunk of the value.
  package func open(_ sealed: [UInt8], index: Int, size: Int) throws -> [UInt8] {
    let paddedSize = Padding.paddedSize(of: size)
    guard sealed.count >= 2 else { throw SyncCryptoError.damaged(.chunk) }
    guard sealed[0] == Self.format else { throw SyncCryptoError.unsupportedFormat(.chunk, UInt64(sealed[0])) }
    guard sealed[1] == CipherSuite.standard else { throw SyncCryptoError.unsupportedSuite(.chunk, UInt64(sealed[1])) }
    guard sealed.count == Self.headerSize + paddedSize + GCMCipher.tagSize else { throw SyncCryptoError.damaged(.chunk) }
    let nonce = Array(sealed[2..<Self.headerSize])
    let data = associatedData(index: index)
    let chunk = try [UInt8](unsafeUninitializedCapacity: paddedSize + GCMCipher.tagSize) { buffer, count in
      let bytes = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<(paddedSize + GCMCipher.tagSize)])
      sealed.withUnsafeBytes { bytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[Self.headerSize...])) }
      guard try cipher.open(bytes, nonce: nonce, authenticating: data) else { throw SyncCryptoError.damaged(.chunk) }
      count = size
    }
    return chunk
  }

  private func nonce(of chunk: [UInt8], index: Int) throws -> [UInt8] {
    var writer = WireWriter()
    writer.writeFixed(UInt64(index))
    writer.write(try SHA256.digest(of: chunk))
    var code = WireWriter()
    code.write(try writer.bytes.withUnsafeBytes { try nonces.code(of: $0) })
    return Array(code.bytes.prefix(GCMCipher.nonceSize))
  }

  /// Returns what is authenticated with a chunk: where it belongs.
  private func associatedData(index: Int) -> [UInt8] {
    var writer = WireWriter()
    writer.writeFixed(zone.high)
    writer.writeFixed(zone.low)
    writer.writeFixed(UInt64(index))
    return writer.bytes + [Self.format, CipherSuite.standard]
  }
}

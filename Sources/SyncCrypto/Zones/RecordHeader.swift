import SyncCore

/// The unencrypted beginning of a sealed record, which says how to open it:
///
/// ```
///  0  format, 1 byte
///  1  cipher suite, 1 byte
///  2  1 if the record replaces a version, else 0
///  3  epoch, 4 bytes
///  7  device, 8 bytes
/// 15  number of the commit among those of the device, 8 bytes
/// 23  batch ID, 16 bytes
/// 39  index of the record in the commit, 4 bytes
/// 43  replaced version, 32 bytes, if there is one
/// ```
///
/// Integers are little-endian. The hub sees the same values in the commit.
struct RecordHeader {
  /// What the key of a record's content depends on.
  struct CommitID: Hashable {
    var epoch: UInt32
    var device: DeviceID
    var deviceSequence: Int64
    var batch: BatchID
  }

  /// A random number, so that sealing a commit twice uses two keys.
  struct BatchID: Hashable {
    var high: UInt64
    var low: UInt64
  }

  private static let format: UInt8 = 1
  private static let sizeWithoutVersion = 43

  var commit: CommitID
  var index: UInt32
  var replacedVersion: Digest?

  var size: Int { replacedVersion == nil ? Self.sizeWithoutVersion : Self.sizeWithoutVersion + 32 }

  /// The nonce. It is unique, because a content key belongs to one commit.
  var nonce: [UInt8] {
    var nonce = [UInt8](repeating: 0, count: GCMCipher.nonceSize)
    for shift in 0..<4 { nonce[shift] = UInt8(truncatingIfNeeded: index >> UInt32(8 * shift)) }
    return nonce
  }

  /// Writes the header. The buffer has its size.
  func write(to buffer: UnsafeMutableRawBufferPointer) {
    buffer[0] = Self.format
    buffer[1] = CipherSuite.standard
    buffer[2] = replacedVersion == nil ? 0 : 1
    buffer.storeBytes(of: commit.epoch.littleEndian, toByteOffset: 3, as: UInt32.self)
    buffer.storeBytes(of: commit.device.value.littleEndian, toByteOffset: 7, as: UInt64.self)
    buffer.storeBytes(of: commit.deviceSequence.littleEndian, toByteOffset: 15, as: Int64.self)
    buffer.storeBytes(of: commit.batch.high.littleEndian, toByteOffset: 23, as: UInt64.self)
    buffer.storeBytes(of: commit.batch.low.littleEndian, toByteOffset: 31, as: UInt64.self)
    buffer.storeBytes(of: index.littleEndian, toByteOffset: 39, as: UInt32.self)
    guard let replacedVersion else { return }
    for (number, word) in replacedVersion.allWords.enumerated() {
      buffer.storeBytes(of: word.littleEndian, toByteOffset: Self.sizeWithoutVersion + 8 * number, as: UInt64.self)
    }
  }
}

extension RecordHeader {
  /// Reads the header of a sealed record.
  init(reading body: [UInt8]) throws {
    self = try body.withUnsafeBytes { try RecordHeader(reading: $0) }
  }

  private init(reading body: UnsafeRawBufferPointer) throws {
    guard body.count >= 2 else { throw SyncCryptoError.damaged(.record) }
    guard body[0] == Self.format else { throw SyncCryptoError.unsupportedFormat(.record, UInt64(body[0])) }
    guard body[1] == CipherSuite.standard else { throw SyncCryptoError.unsupportedSuite(.record, UInt64(body[1])) }
    guard body.count >= Self.sizeWithoutVersion, body[2] <= 1, body[2] == 0 || body.count >= Self.sizeWithoutVersion + 32 else {
      throw SyncCryptoError.damaged(.record)
    }
    func word(_ offset: Int) -> UInt64 { UInt64(littleEndian: body.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) }
    func half(_ offset: Int) -> UInt32 { UInt32(littleEndian: body.loadUnaligned(fromByteOffset: offset, as: UInt32.self)) }
    commit = CommitID(
      epoch: half(3), device: DeviceID(word(7)), deviceSequence: Int64(bitPattern: word(15)),
      batch: BatchID(high: word(23), low: word(31)))
    index = half(39)
    replacedVersion = body[2] == 0 ? nil : Digest(word(43), word(51), word(59), word(67))
  }
}

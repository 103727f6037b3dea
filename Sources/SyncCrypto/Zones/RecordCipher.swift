import StoreKeys
import SyncCore

/// Seals and opens single records. It processes each key once, and is used by one thread at a time.
final class RecordCipher {
  private let keys: ZoneKeys
  private let names: HMAC
  private let versions: SHA256
  /// The ciphers of the commits whose records were opened last, the latest one last.
  private var openers: [(commit: RecordHeader.CommitID, cipher: GCMCipher)] = []
  private static let openerLimit = 4

  init(_ keys: ZoneKeys) throws {
    self.keys = keys
    names = try HMAC(key: try keys.nameKey())
    versions = try SHA256()
  }

  func name(of id: RecordID) throws -> RecordName {
    try withUnsafeBytes(of: (id.high.littleEndian, id.low.littleEndian)) { RecordName(try names.code(of: $0)) }
  }

  /// Seals the records of a commit, with a new content key each time.
  func seal(_ commit: Commit) throws -> [SealedRecord] {
    guard commit.changes.count <= UInt32.max else { throw SyncCryptoError.damaged(.commit) }
    let id = RecordHeader.CommitID(
      epoch: keys.currentEpoch, device: commit.device, deviceSequence: commit.deviceSequence,
      batch: RecordHeader.BatchID(high: try Random.word(), low: try Random.word()))
    let cipher = try GCMCipher(key: try keys.contentKey(of: id), .seal)
    var records: [SealedRecord] = []
    records.reserveCapacity(commit.changes.count)
    for (index, change) in commit.changes.enumerated() {
      let header = RecordHeader(commit: id, index: UInt32(index), replacedVersion: change.replacedVersion)
      let plaintext = RecordCoding.encode(change.record, of: change.id)
      var record = try seal(plaintext, as: try name(of: change.id), isDeleted: change.record.isDeleted, header, with: cipher)
      record.chunks = change.record.chunks
      records.append(record)
    }
    return records
  }

  /// Seals an encoded record.
  ///
  /// - Parameter cipher: The cipher with the key of the commit in the header.
  func seal(
    _ plaintext: [UInt8], as name: RecordName, isDeleted: Bool, _ header: RecordHeader, with cipher: GCMCipher
  ) throws -> SealedRecord {
    let headerSize = header.size
    let paddedSize = Padding.paddedSize(of: plaintext.count)
    let size = headerSize + paddedSize + GCMCipher.tagSize
    let body = try [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      let bytes = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<size])
      header.write(to: UnsafeMutableRawBufferPointer(rebasing: bytes[..<headerSize]))
      let content = UnsafeMutableRawBufferPointer(rebasing: bytes[headerSize...])
      content.copyBytes(from: plaintext)
      for index in plaintext.count..<paddedSize { content[index] = 0 }
      let data = associatedData(name, isDeleted: isDeleted, UnsafeRawBufferPointer(rebasing: bytes[..<headerSize]))
      do {
        try cipher.seal(content, nonce: header.nonce, authenticating: data)
      } catch {
        Cryptography.wipe(content)
        throw error
      }
      count = size
    }
    return SealedRecord(
      name: name, replacedVersion: header.replacedVersion, version: try version(of: name, isDeleted: isDeleted, body),
      isDeleted: isDeleted, body: body)
  }

  func open(_ sealed: StoredRecord) throws -> (id: RecordID, record: Record) {
    let header = try RecordHeader(reading: sealed.body)
    guard try version(of: sealed.name, isDeleted: sealed.isDeleted, sealed.body) == sealed.version else {
      throw SyncCryptoError.damaged(.record)
    }
    let (headerSize, size) = (header.size, sealed.body.count - header.size)
    guard size >= GCMCipher.tagSize else { throw SyncCryptoError.damaged(.record) }
    let cipher = try opener(of: header.commit)
    let plaintext = try sealed.body.withUnsafeBytes { body in
      let data = associatedData(sealed.name, isDeleted: sealed.isDeleted, UnsafeRawBufferPointer(rebasing: body[..<headerSize]))
      return try [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
        let bytes = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<size])
        bytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: body[headerSize...]))
        guard try cipher.open(bytes, nonce: header.nonce, authenticating: data) else { throw SyncCryptoError.damaged(.record) }
        count = size - GCMCipher.tagSize
      }
    }
    let opened: (id: RecordID, record: Record)
    do {
      opened = try RecordCoding.decode(plaintext)
    } catch WireError.unsupportedVersion(let version) {
      throw SyncCryptoError.unsupportedFormat(.record, version)
    } catch {
      throw SyncCryptoError.damaged(.record)
    }
    guard try name(of: opened.id) == sealed.name, opened.record.isDeleted == sealed.isDeleted else {
      throw SyncCryptoError.damaged(.record)
    }
    return opened
  }

  /// Returns the cipher for the records of a commit. A page has runs of records of the same commit.
  private func opener(of commit: RecordHeader.CommitID) throws -> GCMCipher {
    if let known = openers.last(where: { $0.commit == commit }) { return known.cipher }
    let cipher = try GCMCipher(key: try keys.contentKey(of: commit), .open)
    if openers.count == Self.openerLimit { openers.removeFirst() }
    openers.append((commit, cipher))
    return cipher
  }

  // MARK: Binding

  /// Returns what is authenticated with a record: where it belongs, and its header.
  private func associatedData(_ name: RecordName, isDeleted: Bool, _ header: UnsafeRawBufferPointer) -> [UInt8] {
    var data: [UInt8] = []
    data.reserveCapacity(49 + header.count)
    append(keys.zone.high, to: &data)
    append(keys.zone.low, to: &data)
    for word in name.digest.allWords { append(word, to: &data) }
    data.append(isDeleted ? 1 : 0)
    data += header
    return data
  }

  /// Returns the version of a record: a digest of everything that a hub stores of it. A hub cannot combine parts of two versions.
  private func version(of name: RecordName, isDeleted: Bool, _ body: [UInt8]) throws -> Digest {
    var prefix: [UInt8] = []
    prefix.reserveCapacity(Self.versionLabel.count + 33)
    prefix += Self.versionLabel
    for word in name.digest.allWords { append(word, to: &prefix) }
    prefix.append(isDeleted ? 1 : 0)
    return try versions.digest(of: prefix, body)
  }

  private static let versionLabel = Array("CipherData sync record version".utf8)

  private func append(_ word: UInt64, to bytes: inout [UInt8]) {
    withUnsafeBytes(of: word.littleEndian) { bytes += $0 }
  }
}

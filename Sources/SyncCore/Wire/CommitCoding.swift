/// The encoding of a commit as it is sent and stored in the outbox:
///
/// ```
/// version of the format, header
/// number of records, and for each: name, replaced version, version, whether it is a tombstone, body
/// digest, signature
/// ```
///
/// A commit whose records have large values has version 2: the chunks follow the version of each record, after their number.
package enum CommitCoding {
  private static let version: UInt64 = 1
  /// The version of commits whose records have large values.
  private static let versionWithChunks: UInt64 = 2

  package static func encode(_ commit: SealedCommit) -> [UInt8] {
    var writer = WireWriter()
    let version = version(of: commit)
    writer.write(version)
    writeHeader(commit, to: &writer)
    writer.write(UInt64(commit.records.count))
    for record in commit.records {
      writeVersions(of: record, version, to: &writer)
      writer.write(UInt64(record.isDeleted ? 1 : 0))
      writer.write(record.body)
    }
    writer.write(commit.digest)
    writer.write(commit.signature)
    return writer.bytes
  }

  package static func decode(_ bytes: [UInt8]) throws -> SealedCommit {
    var reader = WireReader(bytes)
    let version = try reader.readUnsigned()
    guard version == Self.version || version == versionWithChunks else { throw WireError.unsupportedVersion(version) }
    var commit = try readHeader(from: &reader)
    for _ in 0..<(try reader.readCount()) {
      let (name, replaced, recordVersion) = try readVersions(from: &reader)
      let chunks = version == versionWithChunks ? try readChunks(from: &reader) : []
      let isDeleted = try readFlag(from: &reader)
      commit.records.append(
        SealedRecord(
          name: name, replacedVersion: replaced, version: recordVersion, isDeleted: isDeleted, body: try reader.readBytes(),
          chunks: chunks))
    }
    commit.digest = try reader.readDigest()
    commit.signature = try reader.readBytes()
    guard reader.isAtEnd else { throw WireError.invalid }
    return commit
  }

  /// Returns what the digest of a commit is computed from: everything but the bodies, which the versions of the records identify.
  package static func encodeForDigest(_ commit: SealedCommit) -> [UInt8] {
    var writer = WireWriter()
    let version = version(of: commit)
    writer.write(version)
    writeHeader(commit, to: &writer)
    writer.write(UInt64(commit.records.count))
    for record in commit.records { writeVersions(of: record, version, to: &writer) }
    return writer.bytes
  }

  private static func version(of commit: SealedCommit) -> UInt64 {
    commit.records.contains { !$0.chunks.isEmpty } ? versionWithChunks : version
  }

  // MARK: Header

  private static func writeHeader(_ commit: SealedCommit, to writer: inout WireWriter) {
    writer.writeFixed(commit.device.value)
    writer.write(commit.deviceSequence)
    write(commit.base, to: &writer)
    writeOptional(commit.accepted, to: &writer, write)
    writer.writeFixed(commit.incarnation.value)
    writer.write(commit.time.value)
    writer.write(commit.part.number)
    writeOptional(commit.part.previous, to: &writer) { $1.write($0) }
    writer.write(UInt64(commit.part.isLast ? 1 : 0))
  }

  private static func readHeader(from reader: inout WireReader) throws -> SealedCommit {
    let empty = Commit(
      device: DeviceID(0), deviceSequence: 0, base: ChainPoint(), accepted: nil, incarnation: Incarnation(0), time: .zero, changes: [])
    var commit = SealedCommit(empty, records: [], digest: .zero)
    commit.device = DeviceID(try reader.readFixed())
    commit.deviceSequence = try reader.readSigned()
    commit.base = try readChainPoint(from: &reader)
    commit.accepted = try readOptional(from: &reader, readChainPoint)
    commit.incarnation = Incarnation(try reader.readFixed())
    commit.time = HybridTime(value: try reader.readUnsigned())
    let number = try reader.readSigned()
    let previous = try readOptional(from: &reader) { try $0.readDigest() }
    commit.part = CommitPart(number: number, previous: previous, isLast: try readFlag(from: &reader))
    return commit
  }

  // MARK: Parts

  private static func writeVersions(of record: SealedRecord, _ version: UInt64, to writer: inout WireWriter) {
    writer.write(record.name.digest)
    writeOptional(record.replacedVersion, to: &writer) { $1.write($0) }
    writer.write(record.version)
    guard version == versionWithChunks else { return }
    writer.write(UInt64(record.chunks.count))
    for chunk in record.chunks { writer.write(chunk.digest) }
  }

  private static func readChunks(from reader: inout WireReader) throws -> [ChunkID] {
    var chunks: [ChunkID] = []
    for _ in 0..<(try reader.readCount()) {
      let chunk = ChunkID(try reader.readDigest())
      if let last = chunks.last, last >= chunk { throw WireError.invalid }
      chunks.append(chunk)
    }
    return chunks
  }

  private static func readVersions(from reader: inout WireReader) throws -> (name: RecordName, replaced: Digest?, version: Digest) {
    let name = RecordName(try reader.readDigest())
    return (name, try readOptional(from: &reader) { try $0.readDigest() }, try reader.readDigest())
  }

  private static func write(_ point: ChainPoint, to writer: inout WireWriter) {
    writer.write(point.sequence)
    writer.write(point.head)
  }

  private static func readChainPoint(from reader: inout WireReader) throws -> ChainPoint {
    ChainPoint(sequence: try reader.readSigned(), head: try reader.readDigest())
  }

  private static func writeOptional<Value>(_ value: Value?, to writer: inout WireWriter, _ write: (Value, inout WireWriter) -> Void) {
    writer.write(UInt64(value == nil ? 0 : 1))
    if let value { write(value, &writer) }
  }

  private static func readOptional<Value>(
    from reader: inout WireReader, _ read: (inout WireReader) throws -> Value
  ) throws -> Value? {
    try readFlag(from: &reader) ? try read(&reader) : nil
  }

  private static func readFlag(from reader: inout WireReader) throws -> Bool {
    switch try reader.readUnsigned() {
    case 0: false
    case 1: true
    default: throw WireError.invalid
    }
  }
}

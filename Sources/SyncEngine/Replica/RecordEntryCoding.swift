import SyncCore

/// The encoding of a record's entry in the store:
///
/// ```
/// version of the format, flags
/// with a base: number of the commit, version of the record, length and bytes of the record
/// with a held state: length and bytes of the record
/// ```
enum RecordEntryCoding {
  private static let version: UInt64 = 1

  private struct Flags: OptionSet {
    let rawValue: UInt64
    static let base = Flags(rawValue: 1)
    static let held = Flags(rawValue: 2)
    static let isOrphan = Flags(rawValue: 4)
    static let all: Flags = [.base, .held, .isOrphan]
  }

  static func encode(_ entry: RecordEntry, of id: RecordID) -> [UInt8] {
    var flags = Flags()
    if entry.base != nil { flags.insert(.base) }
    if entry.held != nil { flags.insert(.held) }
    if entry.isOrphan { flags.insert(.isOrphan) }
    var writer = WireWriter()
    writer.write(version)
    writer.write(flags.rawValue)
    if let base = entry.base {
      writer.write(base.sequence)
      writer.write(base.version)
      writer.write(RecordCoding.encode(base.record, of: id))
    }
    if let held = entry.held { writer.write(RecordCoding.encode(held, of: id)) }
    return writer.bytes
  }

  private static func readFlags(from reader: inout WireReader) throws -> Flags {
    let version = try reader.readUnsigned()
    guard version == Self.version else { throw WireError.unsupportedVersion(version) }
    let flags = Flags(rawValue: try reader.readUnsigned())
    guard flags.isSubset(of: .all) else { throw WireError.invalid }
    return flags
  }

  /// Reads the version of the base.
  static func baseVersion(_ bytes: [UInt8], of id: RecordID) throws -> BaseVersion {
    var reader = WireReader(bytes)
    guard try readFlags(from: &reader).contains(.base) else { return BaseVersion(id, nil, isDeleted: false) }
    _ = try reader.readSigned()
    let version = try reader.readDigest()
    return BaseVersion(id, version, isDeleted: try RecordCoding.decode(try reader.readBytes()).record.isDeleted)
  }

  static func decode(_ bytes: [UInt8]) throws -> RecordEntry {
    var reader = WireReader(bytes)
    let flags = try readFlags(from: &reader)
    var entry = RecordEntry()
    if flags.contains(.base) {
      let sequence = try reader.readSigned()
      let version = try reader.readDigest()
      entry.base = RecordEntry.VersionedRecord(sequence, version, try RecordCoding.decode(try reader.readBytes()).record)
    }
    if flags.contains(.held) { entry.held = try RecordCoding.decode(try reader.readBytes()).record }
    entry.isOrphan = flags.contains(.isOrphan)
    guard reader.isAtEnd else { throw WireError.invalid }
    return entry
  }
}

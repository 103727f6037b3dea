import SyncCore

/// The encoding of an entry of the journal in the store:
///
/// ```
/// version of the format, number of the reason, flags
/// length and bytes of the record with the values that have lost
/// if it is known what has won: length and bytes of the record with that
/// of a deleted object: length and bytes of its last state
/// ```
enum JournalCoding {
  private static let version: UInt64 = 1

  private struct Flags: OptionSet {
    let rawValue: UInt64
    static let winning = Flags(rawValue: 1)
    static let object = Flags(rawValue: 2)
    static let all: Flags = [.winning, .object]
  }

  static func encode(_ entry: JournalEntry) -> [UInt8] {
    var flags = Flags()
    if entry.winning != nil { flags.insert(.winning) }
    if entry.object != nil { flags.insert(.object) }
    var writer = WireWriter()
    writer.write(version)
    writer.write(UInt64(entry.reason.rawValue))
    writer.write(flags.rawValue)
    for record in [entry.losing, entry.winning, entry.object] {
      if let record { writer.write(RecordCoding.encode(record, of: entry.id)) }
    }
    return writer.bytes
  }

  static func decode(_ bytes: [UInt8]) throws -> JournalEntry {
    var reader = WireReader(bytes)
    let version = try reader.readUnsigned()
    guard version == Self.version else { throw WireError.unsupportedVersion(version) }
    let number = try reader.readUnsigned()
    let flags = Flags(rawValue: try reader.readUnsigned())
    guard flags.isSubset(of: .all), let reason = UInt8(exactly: number).flatMap(JournalEntry.Reason.init) else { throw WireError.invalid }
    let (id, losing) = try RecordCoding.decode(try reader.readBytes())
    let winning = flags.contains(.winning) ? try RecordCoding.decode(try reader.readBytes()).record : nil
    let object = flags.contains(.object) ? try RecordCoding.decode(try reader.readBytes()).record : nil
    guard reader.isAtEnd else { throw WireError.invalid }
    return JournalEntry(id, reason, losing: losing, winning: winning, object: object)
  }
}

/// The encoding of ``ValueVersions``:
///
/// ```
/// what was seen; number of versions, and for each: time, device, value, base, what the base has seen
/// what was seen: number of devices, and for each: device, time
/// ```
extension RecordCoding {
  static func write(_ versions: ValueVersions, to writer: inout WireWriter) {
    write(versions.seen, to: &writer)
    writer.write(UInt64(versions.versions.count))
    for version in versions.versions {
      writer.write(version.stamp)
      for value in [version.value, version.base] { write(value, .latest, extendedKindCount, to: &writer) }
      write(version.baseSeen, to: &writer)
    }
  }

  private static func write(_ seen: ValueVersions.Seen, to writer: inout WireWriter) {
    writer.write(UInt64(seen.entries.count))
    for entry in seen.entries {
      writer.writeFixed(entry.device.value)
      writer.write(entry.time.value)
    }
  }

  static func versions(from reader: inout WireReader) throws -> ValueVersions {
    let seen = try seen(from: &reader)
    var versions: [ValueVersions.Version] = []
    for _ in 0..<(try reader.readCount()) {
      let stamp = try reader.readStamp()
      let (value, base) = (try plainValue(from: &reader), try plainValue(from: &reader))
      versions.append(ValueVersions.Version(stamp, value, base: base, baseSeen: try self.seen(from: &reader)))
    }
    guard let result = ValueVersions(validating: versions, seen: seen), result.fieldValue != .null else { throw WireError.invalid }
    return result
  }

  private static func plainValue(from reader: inout WireReader) throws -> FieldValue {
    // Not by the function for all values, which would call this one for versions in versions.
    switch try reader.readUnsigned() {
    case 0: .null
    case 1: .integer(try reader.readSigned())
    case 2: .real(try reader.readFixed())
    case 3: .text(try reader.readText())
    case 4: .bytes(try reader.readBytes())
    default: throw WireError.invalid
    }
  }

  private static func seen(from reader: inout WireReader) throws -> ValueVersions.Seen {
    var entries: [ValueVersions.Seen.Entry] = []
    for _ in 0..<(try reader.readCount()) {
      entries.append(ValueVersions.Seen.Entry(DeviceID(try reader.readFixed()), HybridTime(value: try reader.readUnsigned())))
    }
    guard let seen = ValueVersions.Seen(validating: entries) else { throw WireError.invalid }
    return seen
  }
}

/// The encoding of a record before it is sealed:
///
/// ```
/// version of the format, ID of the record, ID of the entity, kind of state
/// live:    number of distinct stamps, the stamps; number of values, and for each: ID of the property, number of its stamp, value
/// deleted: stamp
/// ```
///
/// A value is a byte for its kind and the value. Most records have few stamps, because what one save writes shares one.
package enum RecordCoding {
  private static let version: UInt64 = 1

  package static func encode(_ record: Record, of id: RecordID) -> [UInt8] {
    var writer = WireWriter(capacity: record.approximateSize + 32)
    writer.write(version)
    writer.write(id)
    writer.writeFixed(record.entity.value)
    switch record.content {
    case .deleted(let stamp):
      writer.write(UInt64(1))
      writer.write(stamp)
    case .live(let fields):
      writer.write(UInt64(0))
      var stamps: [Stamp] = []
      for field in fields where !stamps.contains(field.stamp) { stamps.append(field.stamp) }
      stamps.sort()
      writer.write(UInt64(stamps.count))
      for stamp in stamps { writer.write(stamp) }
      writer.write(UInt64(fields.count))
      for field in fields {
        writer.writeFixed(field.property.value)
        writer.write(UInt64(stamps.firstIndex(of: field.stamp) ?? 0))
        write(field.value, to: &writer)
      }
    }
    return writer.bytes
  }

  package static func decode(_ bytes: [UInt8]) throws -> (id: RecordID, record: Record) {
    var reader = WireReader(bytes)
    let version = try reader.readUnsigned()
    guard version == Self.version else { throw WireError.unsupportedVersion(version) }
    let id = try reader.readRecordID()
    let entity = EntityID(try reader.readFixed())
    let content: Record.Content
    switch try reader.readUnsigned() {
    case 1: content = .deleted(try reader.readStamp())
    case 0:
      var stamps: [Stamp] = []
      for _ in 0..<(try reader.readCount()) { stamps.append(try reader.readStamp()) }
      var fields: [Field] = []
      for _ in 0..<(try reader.readCount()) {
        let property = PropertyID(try reader.readFixed())
        let number = try reader.readUnsigned()
        guard number < stamps.count else { throw WireError.invalid }
        if let last = fields.last, last.property >= property { throw WireError.invalid }
        fields.append(Field(property, try value(from: &reader), stamps[Int(number)]))
      }
      content = .live(fields)
    default: throw WireError.invalid
    }
    // Padding follows.
    return (id, Record(entity: entity, content))
  }

  private static func write(_ value: FieldValue, to writer: inout WireWriter) {
    switch value {
    case .null: writer.write(UInt64(0))
    case .integer(let integer):
      writer.write(UInt64(1))
      writer.write(integer)
    case .real(let bits):
      writer.write(UInt64(2))
      writer.writeFixed(bits)
    case .text(let text):
      writer.write(UInt64(3))
      writer.write(text)
    case .bytes(let bytes):
      writer.write(UInt64(4))
      writer.write(bytes)
    case .reference(let id):
      writer.write(UInt64(5))
      writer.write(id)
    case .superseded: writer.write(UInt64(6))
    }
  }

  private static func value(from reader: inout WireReader) throws -> FieldValue {
    switch try reader.readUnsigned() {
    case 0: .null
    case 1: .integer(try reader.readSigned())
    case 2: .real(try reader.readFixed())
    case 3: .text(try reader.readText())
    case 4: .bytes(try reader.readBytes())
    case 5: .reference(try reader.readRecordID())
    case 6: .superseded
    default: throw WireError.invalid
    }
  }
}

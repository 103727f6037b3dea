/// The encoding of a record before it is sealed:
///
/// ```
/// version of the format, ID of the record, ID of the entity, kind of state
/// live:    number of distinct stamps, the stamps; number of values, and for each: ID of the property, number of its stamp, value
/// deleted: stamp
/// ```
///
/// A value is a byte for its kind and its rule (``MergeRule``), and the value. A large value is the digest and the size of its bytes, 0, or 1
/// and its key, the size of its chunks, and the number and the digests of these. A position is the bytes of its key. Versions are in
/// `RecordCoding+Versions.swift`. Records with large values, positions or versions have version 2. A counter is the number of its entries,
/// and for each: device, time, whether it is a total and whether the amount is a real number, the amount. A deletion mark is in relation to
/// the values before it, which it has seen usually. Most records
/// have few stamps, because what one save writes shares one.
package enum RecordCoding {
  private static let version: UInt64 = 1
  /// The version of records with large values, positions or versions of values.
  private static let extendedVersion: UInt64 = 2

  package static func encode(_ record: Record, of id: RecordID) -> [UInt8] {
    var writer = WireWriter(capacity: record.approximateSize + 32)
    let isExtended = record.fields.contains { $0.value.isExtended }
    let kindCount = isExtended ? extendedKindCount : kindCount
    writer.write(isExtended ? extendedVersion : version)
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
      for entry in DeletionMark(fields.last?.value ?? .null).entries where !stamps.contains(entry.stamp) { stamps.append(entry.stamp) }
      stamps.sort()
      writer.write(UInt64(stamps.count))
      for stamp in stamps { writer.write(stamp) }
      writer.write(UInt64(fields.count))
      for (index, field) in fields.enumerated() {
        writer.writeFixed(field.property.value)
        writer.write(UInt64(stamps.firstIndex(of: field.stamp) ?? 0))
        write(field.value, field.rule, kindCount, to: &writer)
        if case .deletion(let mark) = field.value { mark.write(after: fields[..<index], stamps, to: &writer) }
      }
    }
    return writer.bytes
  }

  package static func decode(_ bytes: [UInt8]) throws -> (id: RecordID, record: Record) {
    var reader = WireReader(bytes)
    let version = try reader.readUnsigned()
    guard version == Self.version || version == extendedVersion else { throw WireError.unsupportedVersion(version) }
    let kindCount = version == extendedVersion ? extendedKindCount : kindCount
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
        var (value, rule) = try value(from: &reader, kindCount)
        if case .deletion = value { value = .deletion(try DeletionMark(from: &reader, after: fields, stamps)) }
        fields.append(Field(property, value, stamps[Int(number)], rule))
      }
      content = .live(fields)
    default: throw WireError.invalid
    }
    // Padding follows.
    return (id, Record(entity: entity, content))
  }

  /// The number of kinds of values that a byte can have in addition to the rule.
  private static let kindCount: UInt64 = 8
  static let extendedKindCount: UInt64 = 16

  static func write(_ value: FieldValue, _ rule: MergeRule, _ kindCount: UInt64, to writer: inout WireWriter) {
    func write(kind: UInt64) { writer.write(kind + kindCount * UInt64(rule.rawValue)) }
    switch value {
    case .null: write(kind: 0)
    case .integer(let integer):
      write(kind: 1)
      writer.write(integer)
    case .real(let bits):
      write(kind: 2)
      writer.writeFixed(bits)
    case .text(let text):
      write(kind: 3)
      writer.write(text)
    case .bytes(let bytes):
      write(kind: 4)
      writer.write(bytes)
    case .reference(let id):
      write(kind: 5)
      writer.write(id)
    case .superseded: write(kind: 6)
    case .counter(let counter):
      write(kind: 7)
      Self.write(counter, to: &writer)
    case .deletion: write(kind: 7)
    case .asset(let asset):
      write(kind: 8)
      Self.write(asset, to: &writer)
    case .position(let key):
      write(kind: 9)
      writer.write(key.bytes)
    case .versions(let versions):
      write(kind: 10)
      Self.write(versions, to: &writer)
    }
  }

  private static func value(from reader: inout WireReader, _ kindCount: UInt64) throws -> (FieldValue, MergeRule) {
    let (number, kind) = try reader.readUnsigned().quotientAndRemainder(dividingBy: kindCount)
    guard let rule = UInt8(exactly: number).flatMap(MergeRule.init) else { throw WireError.invalid }
    let value: FieldValue =
      switch kind {
      case 0: .null
      case 1: .integer(try reader.readSigned())
      case 2: .real(try reader.readFixed())
      case 3: .text(try reader.readText())
      case 4: .bytes(try reader.readBytes())
      case 5: .reference(try reader.readRecordID())
      case 6: .superseded
      case 7 where rule == .deletion: .deletion(DeletionMark([]))
      case 7: .counter(try counter(from: &reader))
      case 8: .asset(try asset(from: &reader))
      case 9: .position(PositionKey(bytes: try reader.readBytes()))
      case 10 where rule == .custom: .versions(try versions(from: &reader))
      default: throw WireError.invalid
      }
    // A counter, a deletion mark and versions are the only values of their rules, apart from null.
    let ownKind: UInt64? = rule == .custom ? 10 : rule == .counter || rule == .deletion ? 7 : nil
    guard value == .null && rule != .deletion || ownKind.map({ $0 == kind }) ?? (kind != 7) else { throw WireError.invalid }
    return (value, rule)
  }

  private static func write(_ counter: Counter, to writer: inout WireWriter) {
    writer.write(UInt64(counter.entries.count))
    for entry in counter.entries {
      writer.writeFixed(entry.device.value)
      writer.write(entry.time.value)
      let total: UInt64 = entry.isTotal ? 2 : 0
      switch entry.amount {
      case .real(let bits):
        writer.write(total + 1)
        writer.writeFixed(bits)
      case .integer(let integer):
        writer.write(total)
        writer.write(integer)
      default: writer.write(UInt64.max)  // There are no other amounts.
      }
    }
  }

  private static func counter(from reader: inout WireReader) throws -> Counter {
    var entries: [Counter.Entry] = []
    for _ in 0..<(try reader.readCount()) {
      let (device, time) = (DeviceID(try reader.readFixed()), HybridTime(value: try reader.readUnsigned()))
      let flags = try reader.readUnsigned()
      guard flags < 4 else { throw WireError.invalid }
      let amount: FieldValue = flags & 1 == 0 ? .integer(try reader.readSigned()) : .real(try reader.readFixed())
      entries.append(Counter.Entry(device, time, isTotal: flags & 2 != 0, amount))
    }
    guard let counter = Counter(validating: entries), !entries.isEmpty else { throw WireError.invalid }
    return counter
  }

  private static func write(_ asset: AssetReference, to writer: inout WireWriter) {
    writer.write(asset.digest)
    writer.write(UInt64(max(0, asset.size)))
    guard let sealed = asset.sealed else { return writer.write(UInt64(0)) }
    writer.write(UInt64(1))
    writer.write(sealed.key)
    writer.write(UInt64(max(0, sealed.chunkSize)))
    writer.write(UInt64(sealed.chunks.count))
    for chunk in sealed.chunks { writer.write(chunk.digest) }
  }

  private static func asset(from reader: inout WireReader) throws -> AssetReference {
    func size() throws -> Int64 {
      guard let size = Int64(exactly: try reader.readUnsigned()) else { throw WireError.invalid }
      return size
    }
    let (digest, count) = (try reader.readDigest(), try size())
    var sealed: AssetReference.Sealed?
    switch try reader.readUnsigned() {
    case 0: break
    case 1:
      let (key, chunkSize) = (try reader.readBytes(), try size())
      var chunks: [ChunkID] = []
      for _ in 0..<(try reader.readCount()) { chunks.append(ChunkID(try reader.readDigest())) }
      sealed = AssetReference.Sealed(key: key, chunkSize: chunkSize, chunks: chunks)
    default: throw WireError.invalid
    }
    let asset = AssetReference(digest: digest, size: count, sealed: sealed)
    guard asset.isValid else { throw WireError.invalid }
    return asset
  }
}

extension FieldValue {
  /// Whether records of the first version cannot have the value.
  fileprivate var isExtended: Bool {
    switch self {
    case .asset, .position, .versions: true
    default: false
    }
  }
}

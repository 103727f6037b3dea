import Foundation

/// Decodes the records of a history row. All bytes are validated; invalid input throws.
///
/// Records are not nested. The count of a list is at most the number of remaining bytes, an ID at most ``maximumID``, and a key at most
/// ``maximumKey``.
package struct HistoryDecoder {
  /// The greatest ID that is assigned.
  package static let maximumID = UInt64(Int32.max)
  /// The greatest key of a row.
  package static let maximumKey = UInt64(1) << 46 - 1

  private let bytes: [UInt8]
  private let number: Int64
  private var position = 0

  /// - Parameter number: The number of the row, which errors name.
  package init(_ bytes: [UInt8], number: Int64) {
    self.bytes = bytes
    self.number = number
  }

  private var failure: StoreError { StoreError(.unreadableHistory(number: number), operation: .readHistory) }

  /// Returns the next record, or nil after the last one.
  ///
  /// - Throws: ``StoreError`` with the code `storeCorrupt` if the bytes are not a valid record.
  package mutating func next() throws(StoreError) -> HistoryRecord? {
    if position == bytes.count { return nil }
    guard let kind = HistoryRecordKind(rawValue: try varint()) else { throw failure }
    switch kind {
    case .inserted:
      let (entity, first, count) = (try id(), try key(), try varint())
      guard count > 0, count <= Self.maximumKey - UInt64(first) + 1 else { throw failure }
      return .inserted(entity: entity, first: first, count: Int64(count))
    case .insertedWithValues: return .insertedWithValues(try object(), try assignments())
    case .updated: return .updated(try object(), properties: try list { decoder throws(StoreError) in try decoder.id() })
    case .updatedWithValues:
      return .updatedWithValues(
        try object(),
        try list { decoder throws(StoreError) in
          HistoryChange(property: try decoder.id(), old: try decoder.value(), new: try decoder.value())
        })
    case .deleted, .deletedWithLinks:
      return .deleted(try object(), tombstone: try assignments(), others: nil, listsLinks: kind == .deletedWithLinks)
    case .deletedWithValues, .deletedWithLinksAndValues:
      return .deleted(
        try object(), tombstone: try assignments(), others: try assignments(), listsLinks: kind == .deletedWithLinksAndValues)
    case .derived: return .derived(try object(), properties: try list { decoder throws(StoreError) in try decoder.id() })
    case .linksAdded, .linksRemoved:
      let (relationship, object) = (try id(), try object())
      let members = try list { decoder throws(StoreError) in try decoder.object() }
      guard !members.isEmpty else { throw failure }
      return .linked(relationship: relationship, isRemoval: kind == .linksRemoved, object, members: members)
    case .ordered: return .ordered(relationship: try id(), try object(), members: nil)
    case .orderedWithMembers:
      return .ordered(
        relationship: try id(), try object(), members: try list { decoder throws(StoreError) in try decoder.object() })
    case .moved:
      let (relationship, object) = (try id(), try object())
      let runs = try list { decoder throws(StoreError) in try decoder.run() }
      guard !runs.isEmpty else { throw failure }
      return .moved(relationship: relationship, object, runs: runs)
    case .whole: return .whole(from: try text(), to: try text())
    case .migrated:
      return .migrated(
        from: try text(), to: try text(), changes: try list { decoder throws(StoreError) in try decoder.schemaChange() })
    }
  }

  // MARK: Reading parts of records

  private mutating func byte() throws(StoreError) -> UInt8 {
    guard position < bytes.count else { throw failure }
    defer { position += 1 }
    return bytes[position]
  }

  private mutating func varint() throws(StoreError) -> UInt64 {
    var (result, shift) = (UInt64(0), UInt64(0))
    while true {
      let byte = try byte()
      // The tenth byte contains only one bit.
      guard shift < 63 || byte <= 1 else { throw failure }
      result |= UInt64(byte & 0x7F) << shift
      if byte & 0x80 == 0 { return result }
      shift += 7
    }
  }

  private mutating func id() throws(StoreError) -> Int {
    let id = try varint()
    guard id > 0, id <= Self.maximumID else { throw failure }
    return Int(id)
  }

  private mutating func key() throws(StoreError) -> Int64 {
    let key = try varint()
    guard key > 0, key <= Self.maximumKey else { throw failure }
    return Int64(key)
  }

  private mutating func object() throws(StoreError) -> HistoryObject { HistoryObject(entity: try id(), key: try key()) }

  private mutating func run() throws(StoreError) -> HistoryRun {
    // An object begins with the ID of an entity, which is not 0.
    let isFirst = position < bytes.count && bytes[position] == 0
    if isFirst { position += 1 }
    let after = isFirst ? nil : try object()
    let members = try list { decoder throws(StoreError) in try decoder.object() }
    guard !members.isEmpty else { throw failure }
    return HistoryRun(after: after, members: members)
  }

  private mutating func schemaChange() throws(StoreError) -> HistorySchemaChange {
    guard let kind = HistorySchemaChange.Kind(rawValue: try varint()) else { throw failure }
    var change = HistorySchemaChange(kind, entity: try id(), property: try optionalID(), former: try optionalID())
    guard (change.property > 0) == kind.hasProperty, change.former == 0 ? kind != .moved : kind == .moved || kind == .rewritten
    else { throw failure }
    switch try varint() {
    case 0: break
    case 1: change.value = try value()
    default: throw failure
    }
    return change
  }

  private mutating func optionalID() throws(StoreError) -> Int {
    let id = try varint()
    guard id <= Self.maximumID else { throw failure }
    return Int(id)
  }

  /// Reads the count of a list. Each element takes at least one byte, so a count greater than the remaining bytes is rejected before memory
  /// is allocated.
  private mutating func count() throws(StoreError) -> Int {
    let count = try varint()
    guard count <= UInt64(bytes.count - position) else { throw failure }
    return Int(count)
  }

  private mutating func list<Element>(
    _ element: (inout HistoryDecoder) throws(StoreError) -> Element
  ) throws(StoreError) -> [Element] {
    var result: [Element] = []
    for _ in 0..<(try count()) { result.append(try element(&self)) }
    return result
  }

  private mutating func assignments() throws(StoreError) -> [HistoryAssignment] {
    try list { decoder throws(StoreError) in HistoryAssignment(property: try decoder.id(), value: try decoder.value()) }
  }

  private mutating func content() throws(StoreError) -> ArraySlice<UInt8> {
    let count = try count()
    defer { position += count }
    return bytes[position..<position + count]
  }

  private mutating func text() throws(StoreError) -> String {
    guard let text = String(validating: try content(), as: UTF8.self) else { throw failure }
    return text
  }

  private mutating func value() throws(StoreError) -> HistoryValue {
    guard let kind = HistoryValueKind(rawValue: try varint()) else { throw failure }
    switch kind {
    case .null: return .null
    case .int:
      let folded = try varint()
      return .int(Int64(bitPattern: folded >> 1) ^ -Int64(bitPattern: folded & 1))
    case .real:
      var bits = UInt64(0)
      for shift in 0..<UInt64(8) { bits |= UInt64(try byte()) << (shift * 8) }
      return .real(bits: bits)
    case .text: return .text(try text())
    case .bytes: return .bytes(Data(try content()))
    case .reference: return .reference(try object())
    case .large:
      let (id, size) = (try varint(), try varint())
      let digest = Data(try content())
      guard let id = Int64(exactly: id), let size = Int64(exactly: size), digest.count == HistoryValue.digestSize else {
        throw failure
      }
      return .large(id: id, size: size, digest: digest)
    }
  }
}

import Foundation

/// The tags of records. `Documentation/FileFormat.md` specifies the fields that follow each.
enum HistoryRecordKind: UInt64 {
  case inserted = 1
  case insertedWithValues, updated, updatedWithValues, deleted, deletedWithValues, derived, linksAdded, linksRemoved, ordered
  case orderedWithMembers, whole
}

/// The tags of values.
enum HistoryValueKind: UInt64 {
  case null = 0
  case int, real, text, bytes, reference, large
}

/// Encodes the records of a transaction, split into chunks that each fit into a row without overflow pages. All numbers are varints: 7 bits
/// a byte, least significant first.
package struct HistoryEncoder {
  /// The maximum number of bytes of a chunk, unless a single record is larger.
  package static let limit = 3_900
  /// The maximum number of members in a record. A member takes at most 12 bytes, so the record stays below the limit.
  static let membersOfRecord = 256

  private var output: [[UInt8]] = []
  private var bytes: [UInt8] = []
  /// The current run of inserted rows with consecutive keys, which may still be extended.
  private var run: (entity: Int, first: Int64, count: Int64)?

  package init() {}

  /// Returns the chunks in order. Empty if nothing was added.
  package consuming func finish() -> [[UInt8]] {
    endRun()
    if !bytes.isEmpty { output.append(bytes) }
    return output
  }

  // MARK: Records

  /// Adds an inserted row. If its key follows the previous one, the current run is extended.
  package mutating func addInserted(entity: Int, key: Int64) {
    if let known = run, known.entity == entity, known.first + known.count == key {
      run = (entity, known.first, known.count + 1)
    } else {
      endRun()
      run = (entity, key, 1)
    }
  }

  /// Adds an update of properties.
  ///
  /// - Parameter properties: The properties, encoded by ``encoded(_:)``. Many rows share the same list.
  package mutating func addUpdated(_ object: HistoryObject, encodedProperties properties: [UInt8]) {
    add { $0.put(.updated, object, properties) }
  }

  /// Returns properties in the encoding of ``addUpdated(_:encodedProperties:)``.
  package static func encoded(_ properties: [Int]) -> [UInt8] {
    var output = HistoryEncoder()
    output.put(properties)
    return output.bytes
  }

  package mutating func add(_ record: HistoryRecord) {
    switch record {
    case .inserted(let entity, let first, let count):
      add { output in
        output.begin(.inserted)
        output.put(entity)
        output.put(UInt64(bitPattern: first))
        output.put(UInt64(bitPattern: count))
      }
    case .insertedWithValues(let object, let values): add { $0.put(.insertedWithValues, object, values) }
    case .updated(let object, let properties): addUpdated(object, encodedProperties: Self.encoded(properties))
    case .updatedWithValues(let object, let changes):
      add { output in
        output.put(.updatedWithValues, object, [UInt8]())
        output.put(changes.count)
        for change in changes {
          output.put(change.property)
          output.put(change.old)
          output.put(change.new)
        }
      }
    case .deleted(let object, let tombstone, let others):
      add { output in
        output.put(others == nil ? .deleted : .deletedWithValues, object, tombstone)
        if let others { output.put(others) }
      }
    case .derived(let object, let properties): add { $0.put(.derived, object, Self.encoded(properties)) }
    case .linked(let relationship, let isRemoval, let object, let members):
      for start in stride(from: 0, to: members.count, by: Self.membersOfRecord) {
        let part = members[start..<min(start + Self.membersOfRecord, members.count)]
        add { $0.put(part, of: object, relationship, isRemoval: isRemoval) }
      }
    case .ordered(let relationship, let object, let members):
      add { output in
        output.begin(members == nil ? .ordered : .orderedWithMembers)
        output.put(relationship)
        output.put(object)
        guard let members else { return }
        output.put(members.count)
        for member in members { output.put(member) }
      }
    case .whole(let from, let to):
      add { output in
        output.begin(.whole)
        output.put(from.utf8)
        output.put(to.utf8)
      }
    }
  }

  private mutating func endRun() {
    guard let run else { return }
    self.run = nil
    add(.inserted(entity: run.entity, first: run.first, count: run.count))
  }

  /// Appends the bytes that `body` writes as one record. If they exceed the limit, they start a new chunk.
  private mutating func add(_ body: (inout HistoryEncoder) -> Void) {
    endRun()
    let start = bytes.count
    body(&self)
    guard start > 0, bytes.count > Self.limit else { return }
    let record = Array(bytes[start...])
    bytes.removeSubrange(start...)
    output.append(bytes)
    bytes = record
  }

  // MARK: Parts of records

  private mutating func put(_ number: UInt64) {
    var rest = number
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }

  private mutating func put(_ number: Int) { put(UInt64(bitPattern: Int64(number))) }
  private mutating func begin(_ kind: HistoryRecordKind) { put(kind.rawValue) }
  private mutating func beginValue(_ kind: HistoryValueKind) { put(kind.rawValue) }

  private mutating func put(_ object: HistoryObject) {
    put(object.entity)
    put(UInt64(bitPattern: object.key))
  }

  private mutating func put(_ kind: HistoryRecordKind, _ object: HistoryObject, _ rest: [UInt8]) {
    begin(kind)
    put(object)
    bytes += rest
  }

  private mutating func put(_ kind: HistoryRecordKind, _ object: HistoryObject, _ values: [HistoryAssignment]) {
    put(kind, object, [UInt8]())
    put(values)
  }

  private mutating func put(_ properties: [Int]) {
    put(properties.count)
    for property in properties { put(property) }
  }

  private mutating func put(_ values: [HistoryAssignment]) {
    put(values.count)
    for value in values {
      put(value.property)
      put(value.value)
    }
  }

  private mutating func put(_ members: ArraySlice<HistoryObject>, of object: HistoryObject, _ relationship: Int, isRemoval: Bool) {
    begin(isRemoval ? .linksRemoved : .linksAdded)
    put(relationship)
    put(object)
    put(members.count)
    for member in members { put(member) }
  }

  private mutating func put(_ content: some Collection<UInt8>) {
    put(content.count)
    bytes += content
  }

  private mutating func put(_ value: HistoryValue) {
    switch value {
    case .null: beginValue(.null)
    case .int(let number):
      beginValue(.int)
      // Zigzag encoding: numbers with small absolute values are short.
      put(UInt64(bitPattern: number &<< 1 ^ number &>> 63))
    case .real(let bits):
      beginValue(.real)
      for byte in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: bits >> (UInt64(byte) * 8))) }
    case .text(let text):
      beginValue(.text)
      put(text.utf8)
    case .bytes(let data):
      beginValue(.bytes)
      put(data)
    case .reference(let object):
      beginValue(.reference)
      put(object)
    case .large(let id, let size, let digest):
      beginValue(.large)
      put(UInt64(bitPattern: id))
      put(UInt64(bitPattern: size))
      put(digest)
    }
  }
}

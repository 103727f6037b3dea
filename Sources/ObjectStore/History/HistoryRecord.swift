package import Foundation

/// A change within a transaction.
///
/// Entities and properties are identified by IDs that the store has assigned. IDs survive renaming and are never reused, so a record can be
/// read with any later model.
package enum HistoryRecord: Hashable, Sendable {
  /// Inserted rows of an entity with consecutive keys.
  case inserted(entity: Int, first: Int64, count: Int64)
  /// An inserted row with its values that are not null.
  case insertedWithValues(HistoryObject, [HistoryAssignment])
  /// Updated properties of a row.
  case updated(HistoryObject, properties: [Int])
  /// Updated properties of a row with the old and new values.
  case updatedWithValues(HistoryObject, [HistoryChange])
  /// A deleted row.
  ///
  /// - Parameters:
  ///   - tombstone: The values of the attributes that are preserved on deletion.
  ///   - others: All other values that are not null, or nil if they are not recorded.
  ///   - listsLinks: Whether the transaction also records the links in join tables that were removed with the row. Only libraries of format 3
  ///     did not record them.
  case deleted(HistoryObject, tombstone: [HistoryAssignment], others: [HistoryAssignment]?, listsLinks: Bool)
  /// A row of which only values computed by the store were changed.
  case derived(HistoryObject, properties: [Int])
  /// Members added to or removed from a to-many relationship with a join table, also by the deletion of a row at one of its ends.
  case linked(relationship: Int, isRemoval: Bool, HistoryObject, members: [HistoryObject])
  /// A new order of the members of an object's relationship.
  ///
  /// - Parameter members: All members in order, or nil if they are not recorded. Only earlier versions of the library recorded them.
  case ordered(relationship: Int, HistoryObject, members: [HistoryObject]?)
  /// Members of an object's relationship that were moved relative to others.
  case moved(relationship: Int, HistoryObject, runs: [HistoryRun])
  /// A transaction that may have changed any object, without a list of changes.
  ///
  /// - Parameters:
  ///   - from: The checksum of the model before a migration. Empty for other transactions.
  ///   - to: The checksum of the model after it.
  case whole(from: String, to: String)
  /// What a migration, or the opening of a store, changed in all objects of entities.
  ///
  /// - Parameters:
  ///   - from: The checksum of the model before a migration.
  ///   - to: The checksum of the model after it, or the same one if only computed values were filled.
  ///   - changes: The changes of stored data. Renamed entities and properties, and new ones without values, are not listed.
  case migrated(from: String, to: String, changes: [HistorySchemaChange])
}

extension HistoryRecord {
  /// Returns whether encoded records begin with ``whole(from:to:)``.
  static func isWhole(_ bytes: [UInt8]) -> Bool { bytes.first.map { UInt64($0) } == HistoryRecordKind.whole.rawValue }
}

/// A row, identified by the ID of its entity and its key.
package struct HistoryObject: Hashable, Sendable {
  package var entity: Int
  package var key: Int64

  package init(entity: Int, key: Int64) { (self.entity, self.key) = (entity, key) }
}

/// Members that are next to each other after a change of their order; see ``OrderChange/Run``.
package struct HistoryRun: Hashable, Sendable {
  /// The member directly before the run, or nil if the run is at the beginning.
  package var after: HistoryObject?
  package var members: [HistoryObject]

  package init(after: HistoryObject?, members: [HistoryObject]) { (self.after, self.members) = (after, members) }
}

/// A change of all objects of one entity, without its subentities.
package struct HistorySchemaChange: Hashable, Sendable {
  /// The kinds of changes. `Documentation/FileFormat.md` lists the numbers.
  package enum Kind: UInt64, Sendable, CaseIterable {
    case objectsRemoved = 1
    case propertyRemoved, filled, completed, converted, computed, moved, rewritten

    /// Whether the change has a property.
    var hasProperty: Bool { self != .objectsRemoved }
  }
  package var kind: Kind
  package var entity: Int
  /// The ID of the property, or 0 if all properties are concerned.
  package var property: Int
  /// The ID of the property that the values were taken from, or 0 if they were not taken from another property.
  package var former: Int
  /// The value that was filled in, or nil if it is not recorded.
  package var value: HistoryValue?

  package init(_ kind: Kind, entity: Int, property: Int = 0, former: Int = 0, value: HistoryValue? = nil) {
    self.kind = kind
    self.entity = entity
    self.property = property
    self.former = former
    self.value = value
  }
}

/// A property and its value.
package struct HistoryAssignment: Hashable, Sendable {
  package var property: Int
  package var value: HistoryValue

  package init(property: Int, value: HistoryValue) { (self.property, self.value) = (property, value) }
}

/// A property with its old and new values.
package struct HistoryChange: Hashable, Sendable {
  package var property: Int
  package var old: HistoryValue
  package var new: HistoryValue

  package init(property: Int, old: HistoryValue, new: HistoryValue) { (self.property, self.old, self.new) = (property, old, new) }
}

/// A recorded value.
package enum HistoryValue: Hashable, Sendable {
  case null
  case int(Int64)
  /// A floating-point number as its bits, so that NaN is equal to itself.
  case real(bits: UInt64)
  case text(String)
  case bytes(Data)
  case reference(HistoryObject)
  /// An external value: its ID, or 0 if it has none, its size in bytes, and the SHA-256 digest of its bytes. The bytes are not recorded.
  case large(id: Int64, size: Int64, digest: Data)

  /// The size of a digest in bytes.
  static let digestSize = 32
}

/// The tags of records. `Documentation/FileFormat.md` specifies the fields that follow each.
enum HistoryRecordKind: UInt64 {
  case inserted = 1
  case insertedWithValues, updated, updatedWithValues, deleted, deletedWithValues, derived, linksAdded, linksRemoved, ordered
  case orderedWithMembers, whole, moved, migrated, deletedWithLinks, deletedWithLinksAndValues
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
  /// The size of a run without its members, in members.
  private static let sizeOfRun = 2

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

  /// Returns the complete chunks in order and removes them.
  mutating func takeComplete() -> [[UInt8]] {
    defer { output = [] }
    return output
  }

  /// The number of complete chunks.
  var completeCount: Int { output.count }

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
    case .deleted(let object, let tombstone, let others, let listsLinks):
      add { output in
        let kinds: (HistoryRecordKind, withValues: HistoryRecordKind) =
          listsLinks ? (.deletedWithLinks, .deletedWithLinksAndValues) : (.deleted, .deletedWithValues)
        output.put(others == nil ? kinds.0 : kinds.withValues, object, tombstone)
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
    case .moved(let relationship, let object, let runs): addMoved(relationship, object, runs)
    case .whole(let from, let to):
      add { output in
        output.begin(.whole)
        output.put(from.utf8)
        output.put(to.utf8)
      }
    case .migrated(let from, let to, let changes):
      add { output in
        output.begin(.migrated)
        output.put(from.utf8)
        output.put(to.utf8)
        output.put(changes.count)
        for change in changes { output.put(change) }
      }
    }
  }

  /// Adds moved members, in several records if they are many. Each record can be applied after the one before it.
  private mutating func addMoved(_ relationship: Int, _ object: HistoryObject, _ runs: [HistoryRun]) {
    var part: [HistoryRun] = []
    var size = 0
    func flush(_ output: inout HistoryEncoder) {
      if part.isEmpty { return }
      output.begin(.moved)
      output.put(relationship)
      output.put(object)
      output.put(part.count)
      for run in part {
        if let after = run.after { output.put(after) } else { output.put(0) }
        output.put(run.members.count)
        for member in run.members { output.put(member) }
      }
      (part, size) = ([], 0)
    }
    for run in runs {
      var after = run.after
      var rest = run.members[...]
      while let last = rest.prefix(Self.membersOfRecord - Self.sizeOfRun).last {
        let members = Array(rest.prefix(Self.membersOfRecord - Self.sizeOfRun))
        if size + members.count + Self.sizeOfRun > Self.membersOfRecord { add(flush) }
        part.append(HistoryRun(after: after, members: members))
        size += members.count + Self.sizeOfRun
        rest = rest.dropFirst(members.count)
        after = last
      }
    }
    if !part.isEmpty { add(flush) }
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

  // MARK: Writing parts of records

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

  private mutating func put(_ change: HistorySchemaChange) {
    put(change.kind.rawValue)
    put(change.entity)
    put(change.property)
    put(change.former)
    put(change.value == nil ? 0 : 1)
    if let value = change.value { put(value) }
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

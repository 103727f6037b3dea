import ObjectModel
import SyncCore

/// The changes of pending saves, by their positions, which are ascending, and by their records.
protocol PendingChanges: AnyObject {
  /// The number of changes that are kept in memory.
  var countInMemory: Int { get }
  /// The size of the changes that are kept in memory, in bytes, without the lookup by records.
  var byteCountInMemory: Int { get }
  /// The position that the next change gets.
  var end: Int { get }

  /// Adds a change to the last save. Of each record it has one: later values replace earlier ones.
  ///
  /// - Parameters:
  ///   - object: The object of the record; nil if it has none, or the one that is known.
  ///   - start: The position of the save's first change.
  func add(_ change: PendingChange, _ object: ObjectReference?, start: Int) throws
  /// Replaces a change of the last save. If it is of another record, which has no change yet, that record gets the object.
  func replace(_ position: Int, by change: PendingChange) throws
  /// Removes the changes before a position.
  func removeAll(before position: Int) throws

  func changes(in positions: Range<Int>) throws -> [PendingChange]
  /// Returns the changes of a record in ascending order, each in the encoding of ``PendingChangeCoding``.
  func changes(of id: RecordID) throws -> [(position: Int, bytes: [UInt8])]
  /// Returns the object of a record that has changes; nil if it is not known here.
  func object(of id: RecordID) throws -> ObjectReference?
  /// Returns the records whose changes refer to a record, and perhaps others.
  func referrers(of id: RecordID) throws -> Set<RecordID>
  /// Calls a closure with the records that have changes.
  func forEachRecord(_ body: (RecordID) throws -> Void) throws
}

extension PendingChange {
  /// Returns the change with the values of a later change of the same object or link by the same save.
  func followed(by later: PendingChange) -> PendingChange {
    PendingChange(
      id, entity: entity, later.values.map { (values ?? [:]).merging($0) { _, later in later } }, presence: later.presence)
  }

  /// The records that the values refer to.
  var destinations: [RecordID] { (values ?? [:]).values.compactMap(\.reference) }
}

/// Changes of links before the save that they belong to has a stamp.
extension PendingChange {
  private static let marker = Stamp(.zero, DeviceID(0))

  static func unstamped(_ link: Link, isAdded: Bool) -> PendingChange {
    PendingChange(
      link.recordID, entity: link.relationship, link.values,
      presence: [Field(.addition(by: marker.device), isAdded ? .integer(1) : .superseded, marker)])
  }

  /// Whether it is not known yet which addition the save has made or removed.
  var isUnstamped: Bool { presence.first?.stamp == Self.marker }
}

/// The encoding of a pending change: that of a record, whose own stamps have no meaning: the save of a change has its stamp. The additions of
/// a link have their own.
enum PendingChangeCoding {
  private static let stamp = Stamp(.zero, DeviceID(0))

  static func encode(_ change: PendingChange) -> [UInt8] { RecordCoding.encode(change.record(stamp), of: change.id) }

  static func decode(_ bytes: [UInt8]) throws -> PendingChange {
    let (id, record) = try RecordCoding.decode(bytes)
    if record.isDeleted { return PendingChange(id, entity: record.entity, nil) }
    var (fields, presence) = (record.fields[...], [Field]())
    if record.isLink {
      presence = fields.filter { !$0.property.isLinkEnd }
      fields = fields.filter(\.property.isLinkEnd)[...]
    }
    let values = Dictionary(fields.lazy.map { ($0.property, $0.value) }) { first, _ in first }
    return PendingChange(id, entity: record.entity, values, presence: presence)
  }

  /// Returns the change as a part of the record's state, with the stamp of its save.
  static func record(_ bytes: [UInt8], _ stamp: Stamp) throws -> Record {
    let record = try RecordCoding.decode(bytes).record
    guard case .live(let fields) = record.content else { return Record(entity: record.entity, .deleted(stamp)) }
    let isLink = record.isLink
    return Record(
      entity: record.entity, .live(fields.map { isLink && !$0.property.isLinkEnd ? $0 : Field($0.property, $0.value, stamp) }))
  }
}

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
    guard let values = later.values else { return later }
    var all = (self.values ?? [:]).merging(values) { _, later in later }
    // What a save has inserted without a value, and set then.
    for field in later.ownFields where field.rule == .custom { all[field.property] = nil }
    return PendingChange(
      id, entity: entity, all,
      rules: rules.merging(later.rules) { _, later in later },
      ownFields: !isLink ? Self.sum(ownFields, later.ownFields) : later.ownFields.isEmpty ? ownFields : later.ownFields)
  }

  /// Adds what two changes by one save add to counters. Of values that functions merge, the later one remains.
  private static func sum(_ one: [Field], _ other: [Field]) -> [Field] {
    if one.isEmpty || other.isEmpty { return one + other }
    var fields: [PropertyID: Field] = [:]
    for field in one + other {
      guard let known = fields.updateValue(field, forKey: field.property) else { continue }
      if field.rule == .custom {
        guard let later = ValueVersions(field.value).unstamped, let first = ValueVersions(known.value).unstamped else { continue }
        fields[field.property] = Field(unstamped: later.value, of: field.property, replacing: first.former)
      } else {
        let (known, amount) = (Counter(known.value).sum, Counter(field.value).sum)
        let sum = known == .null ? amount : amount == .null ? known : Counter.sum(known, amount)
        fields[field.property] = Field(adding: sum, to: field.property, marker)
      }
    }
    return fields.values.sorted { $0.property < $1.property }
  }

  /// The records that the values refer to.
  var destinations: [RecordID] { (values ?? [:]).values.compactMap(\.reference) }
}

/// Changes of links and counters before the save that they belong to has a stamp.
extension PendingChange {
  fileprivate static let marker = Stamp(.zero, DeviceID(0))

  /// Creates the change of a link.
  static func unstamped(_ link: Link, isAdded: Bool) -> PendingChange {
    PendingChange(
      link.recordID, entity: link.relationship, link.values,
      ownFields: [Field(.addition(by: marker.device), isAdded ? .integer(1) : .superseded, marker)])
  }

  /// Creates the change of an object whose entity has attributes with rules.
  static func unstamped(
    _ id: RecordID, entity: EntityID, _ values: [PropertyID: FieldValue], replacing former: [PropertyID: FieldValue],
    rules: [PropertyID: MergeRule]
  ) -> PendingChange {
    // A null that is inserted replaces nothing.
    let merged = values.filter { rules[$0.key] == .custom && $0.value.isPlain && ($0.value != .null || former[$0.key] != nil) }
    let rest = merged.isEmpty ? values : values.filter { merged[$0.key] == nil }
    let change = PendingChange(
      id, entity: entity, rest, replacing: former, rules: rules.filter { $0.value != .custom }, first: marker)
    if merged.isEmpty { return change }
    let own = change.ownFields + merged.map { Field(unstamped: $1, of: $0, replacing: former[$0]) }
    return PendingChange(id, entity: entity, rest, rules: change.rules, ownFields: own.sorted { $0.property < $1.property })
  }

  /// Creates the deletion of an object that edits can win over.
  static func unstampedDeletion(of id: RecordID, entity: EntityID) -> PendingChange {
    PendingChange(id, entity: entity, nil, ownFields: [Field(.deletion, .deletion(DeletionMark([unseen])), marker, .deletion)])
  }

  /// What a deletion has seen of which that is not known yet. No state has a value with this stamp.
  private static let unseen = DeletionMark.Entry(.revival, marker)

  /// Whether it is not known yet which addition of a link the save has made or removed, when it has changed a counter, or what a deletion
  /// has seen.
  var isUnstamped: Bool {
    if values == nil { return deletionMark?.entries.contains(Self.unseen) ?? false }
    let isLink = isLink
    return ownFields.contains { field in
      isLink
        ? field.stamp == Self.marker
        : Counter(field.value).entries.contains { $0.isDot(of: Self.marker) } || ValueVersions(field.value).unstamped != nil
    }
  }

  /// The values that functions merge, and those that they have replaced, before the save has a stamp. They are values like others in the
  /// change.
  func withUnstampedValues() -> (change: PendingChange, former: [PropertyID: FieldValue]) {
    var (values, former, own) = (values ?? [:], [PropertyID: FieldValue](), [Field]())
    for field in ownFields {
      if let unstamped = ValueVersions(field.value).unstamped {
        values[field.property] = unstamped.value
        former[field.property] = unstamped.former
      } else {
        own.append(field)
      }
    }
    return (PendingChange(id, entity: entity, values, rules: rules, ownFields: own), former)
  }

  /// Returns the change of an object with the stamp that its save has got first.
  func stamped(_ stamp: Stamp) -> PendingChange {
    PendingChange(
      id, entity: entity, values, rules: rules,
      ownFields: ownFields.map { Field(adding: Counter($0.value).sum, to: $0.property, stamp) })
  }
}

extension Counter.Entry {
  fileprivate func isDot(of stamp: Stamp) -> Bool { !isTotal && device == stamp.device && time == stamp.time }
}

extension Field {
  /// Creates the field of an attribute that a function merges, before the save has a stamp.
  fileprivate init(unstamped value: FieldValue, of property: PropertyID, replacing former: FieldValue?) {
    let versions = ValueVersions(unstamped: value, replacing: former)
    self.init(property, versions.fieldValue, PendingChange.marker, .custom)
  }

  /// Creates the field of a counter to which a save has added an amount, if it is not null.
  fileprivate init(adding amount: FieldValue, to property: PropertyID, _ stamp: Stamp) {
    self.init(property, amount == .null ? .null : Counter(adding: amount, stamp).fieldValue, stamp, .counter)
  }
}

/// The encoding of a pending change: that of a record, whose own stamps have no meaning: the save of a change has its stamp. The additions of
/// a link and reinsertions have their own.
enum PendingChangeCoding {
  private static let stamp = Stamp(.zero, DeviceID(0))

  static func encode(_ change: PendingChange) -> [UInt8] { RecordCoding.encode(change.record(stamp), of: change.id) }

  static func decode(_ bytes: [UInt8]) throws -> PendingChange {
    let (id, record) = try RecordCoding.decode(bytes)
    if record.isTombstone { return PendingChange(id, entity: record.entity, nil) }
    if let mark = mark(of: record) {
      return PendingChange(id, entity: record.entity, nil, ownFields: [Field(.deletion, .deletion(mark), stamp, .deletion)])
    }
    let isLink = record.isLink
    var (values, rules, ownFields): ([PropertyID: FieldValue], [PropertyID: MergeRule], [Field]) = ([:], [:], [])
    for field in record.fields {
      let isOwn = field.rule == .counter || field.rule == .custom && field.value != .null
      if isOwn || field.property == .revival || isLink && field.property.isAddition {
        ownFields.append(field)
      } else {
        values[field.property] = field.value
        if field.rule != .latest { rules[field.property] = field.rule }
      }
    }
    return PendingChange(id, entity: record.entity, values, rules: rules, ownFields: ownFields)
  }

  /// Returns what a deletion that edits can win over has seen, without its own stamp; nil for other changes.
  private static func mark(of record: Record) -> DeletionMark? {
    guard case .deletion(let mark)? = record[.deletion]?.value else { return nil }
    return DeletionMark(mark.entries.filter { $0 != DeletionMark.Entry(.deletion, stamp) })
  }

  /// Returns the change as a part of the record's state, with the stamp of its save.
  static func record(_ bytes: [UInt8], _ stamp: Stamp) throws -> Record {
    let record = try RecordCoding.decode(bytes).record
    if mark(of: record) != nil { return try decode(bytes).record(stamp) }
    guard case .live(let fields) = record.content else { return Record(entity: record.entity, .deleted(stamp)) }
    let isLink = record.isLink
    return Record(
      entity: record.entity,
      .live(fields.map { isLink && $0.property.isAddition ? $0 : Field($0.property, $0.value, stamp, $0.rule) }))
  }
}

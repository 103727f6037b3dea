/// The state of an object in a zone: its values, or its tombstone.
///
/// States can be joined in any order and any number of times with the same result: of each property the value with the later stamp remains,
/// unless the field has another rule (``MergeRule``), and a deletion wins over values. A part of a record, such as the values that one save
/// has written, is a record too.
package struct Record: Hashable, Sendable {
  package enum Content: Hashable, Sendable {
    /// The values in ascending order of their properties.
    case live([Field])
    /// The stamp of the deletion.
    case deleted(Stamp)
  }

  package let entity: EntityID
  package private(set) var content: Content

  package init(entity: EntityID, _ content: Content) { (self.entity, self.content) = (entity, content) }

  /// Creates the values that a save has written.
  ///
  /// - Parameter rules: The rules of attributes that are not `latest`.
  package init(entity: EntityID, _ values: [PropertyID: FieldValue], _ stamp: Stamp, rules: [PropertyID: MergeRule] = [:]) {
    let fields = values.map { Field($0.key, $0.value, stamp, rules.isEmpty ? .latest : rules[$0.key] ?? .latest) }
    self.init(entity: entity, .live(fields.sorted { $0.property < $1.property }))
  }

  /// Whether the object was deleted for good. There are deletions that edits can win over, too (``DeletionMark``).
  package var isTombstone: Bool { if case .deleted = content { true } else { false } }

  /// The values; empty for a tombstone.
  package var fields: [Field] { if case .live(let fields) = content { fields } else { [] } }

  /// Returns the value of a property.
  package subscript(property: PropertyID) -> Field? { fields.first { $0.property == property } }

  /// Whether values are not merged by ``MergeRule/latest``.
  var hasMergeRules: Bool { fields.contains { $0.rule != .latest && $0.rule != .deletion } }

  /// The stamps of the values, or of the deletion.
  package var stamps: [Stamp] {
    switch content {
    case .live(let fields): fields.map(\.stamp)
    case .deleted(let stamp): [stamp]
    }
  }

  /// The latest stamp.
  package var latestStamp: Stamp? {
    switch content {
    case .live(let fields): fields.lazy.map(\.stamp).max()
    case .deleted(let stamp): stamp
    }
  }

  /// About how many bytes the record takes.
  package var approximateSize: Int { fields.reduce(32) { $0 + 12 + $1.value.approximateSize } }

  /// Returns the join of two states of the same record.
  package func joined(with other: Record) -> Record {
    switch (content, other.content) {
    case (.deleted(let mine), .deleted(let theirs)): return mine < theirs ? other : self
    case (.deleted, .live): return self
    case (.live, .deleted): return other
    case (.live(let mine), .live(let theirs)): return Record(entity: entity, .live(Self.joined(mine, theirs, isChange: false)))
    }
  }

  /// Returns the state after a change, which may be of a device with another version of the model.
  ///
  /// It is the join, except for values whose rules differ: see ``Field/applying(_:)``.
  package func applying(_ change: Record) -> Record {
    guard case .live(let mine) = content, case .live(let theirs) = change.content else { return joined(with: change) }
    return Record(entity: entity, .live(Self.joined(mine, theirs, isChange: true)))
  }

  /// Merges two sorted lists of values.
  ///
  /// - Parameter isChange: Whether the second list is a change of the first one.
  private static func joined(_ mine: [Field], _ theirs: [Field], isChange: Bool) -> [Field] {
    var result: [Field] = []
    result.reserveCapacity(max(mine.count, theirs.count))
    var (i, j) = (0, 0)
    while i < mine.count, j < theirs.count {
      if mine[i].property < theirs[j].property {
        result.append(mine[i])
        i += 1
      } else if theirs[j].property < mine[i].property {
        result.append(theirs[j])
        j += 1
      } else {
        if mine[i].rule == .latest, theirs[j].rule == .latest {
          result.append((mine[i].stamp, mine[i].value) < (theirs[j].stamp, theirs[j].value) ? theirs[j] : mine[i])
        } else {
          result.append(isChange ? mine[i].applying(theirs[j]) : mine[i].joined(with: theirs[j]))
        }
        (i, j) = (i + 1, j + 1)
      }
    }
    result += mine[i...]
    result += theirs[j...]
    return result
  }

  /// Returns the same record with stamps replaced.
  package func mapStamps(_ transform: (Stamp) -> Stamp) -> Record {
    switch content {
    case .deleted(let stamp): return Record(entity: entity, .deleted(transform(stamp)))
    case .live(var fields):
      for index in fields.indices {
        fields[index].stamp = transform(fields[index].stamp)
        if case .deletion(let mark) = fields[index].value { fields[index].value = .deletion(mark.mapStamps(transform)) }
      }
      return Record(entity: entity, .live(fields))
    }
  }

  /// Returns the same record with values of the same properties.
  package func mapFields(_ transform: (Field) throws -> Field) rethrows -> Record {
    guard case .live(let fields) = content else { return self }
    return Record(entity: entity, .live(try fields.map(transform)))
  }

  /// Returns the same record with values replaced.
  package func mapValues(_ transform: (Field) throws -> FieldValue) rethrows -> Record {
    try mapFields { $0.replacing(try transform($0)) }
  }
}

extension Optional where Wrapped == Record {
  /// Returns the join with another state, either of which may be unknown.
  package func joined(with other: Record?) -> Record? {
    guard let other else { return self }
    return self?.joined(with: other) ?? other
  }

  /// Returns the state after a change (``Record/applying(_:)``), either of which may be unknown.
  package func applying(_ change: Record?) -> Record? {
    guard let change else { return self }
    return self?.applying(change) ?? change
  }
}

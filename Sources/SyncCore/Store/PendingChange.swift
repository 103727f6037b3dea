/// The change of an object in a save.
package struct PendingChange: Hashable, Sendable {
  package let id: RecordID
  package let entity: EntityID
  /// The values that were set, apart from counters and versions; nil if the object was deleted.
  package let values: [PropertyID: FieldValue]?
  /// The rules of attributes that are not merged by ``MergeRule/latest``. There can be others too.
  package let rules: [PropertyID: MergeRule]
  /// Fields that contain a time of their own, which does not change when the save is stamped again under another identity. They are in
  /// ascending order of the properties.
  ///
  /// - Of a link: the addition, with the stamp that the save got first, or the additions that were removed.
  /// - What the save has added to counters. Only the dots have times of their own. The fields get the stamp of the save.
  /// - Versions of values (``versioned(_:replacing:in:settled:first:)``). The same applies to them.
  /// - Of a deletion that edits can win over: what it has seen (``deletion(of:entity:from:references:)``).
  /// - Of an object that was inserted again: ``PropertyID/revival``, with the stamp that the save got first.
  package let ownFields: [Field]

  package init(
    _ id: RecordID, entity: EntityID, _ values: [PropertyID: FieldValue]?, rules: [PropertyID: MergeRule] = [:], ownFields: [Field] = []
  ) {
    (self.id, self.entity, self.values, self.rules, self.ownFields) = (id, entity, values, rules, ownFields)
  }

  /// The properties that were changed; empty if the object was deleted.
  package var properties: [PropertyID] { values.map { Array($0.keys) + ownFields.map(\.property) } ?? [] }

  /// Returns the change as a part of the record's state.
  package func record(_ stamp: Stamp) -> Record {
    guard let values else { return deletionRecord(stamp) }
    let record = Record(entity: entity, values, stamp, rules: rules)
    if ownFields.isEmpty { return record }
    let own = ownFields.map { $0.rule.hasFixedStamps ? Field($0.property, $0.value, stamp, $0.rule) : $0 }
    return record.joined(with: Record(entity: entity, .live(own)))
  }

  /// Creates the change of an object whose entity can have attributes with rules.
  ///
  /// Of a counter, the change contains the difference. An application can set another attribute to a value that does not win. Its object, as
  /// it was saved, is then updated in the next round of synchronization.
  ///
  /// - Parameters:
  ///   - values: The values that were set.
  ///   - former: The values that the object had before the save; empty if the save has inserted it.
  ///   - rules: ``SyncModel/merging(of:)``.
  ///   - stamp: The stamp that the save got first. It must not change when the save is stamped again, for whatever reason.
  package init(
    _ id: RecordID, entity: EntityID, _ values: [PropertyID: FieldValue], replacing former: [PropertyID: FieldValue],
    rules: [PropertyID: MergeRule], first stamp: Stamp
  ) {
    let counters = values.filter { rules[$0.key] == .counter }
    let own = counters.map { property, value in
      let amount = Counter.difference(from: former[property] ?? .null, to: value)
      return Field(property, amount.map { Counter(adding: $0, stamp).fieldValue } ?? .null, stamp, .counter)
    }
    self.init(
      id, entity: entity, counters.isEmpty ? values : values.filter { counters[$0.key] == nil }, rules: rules,
      ownFields: own.sorted { $0.property < $1.property })
  }
}

/// Changes of links.
///
/// The stamp of an addition identifies it. It stays with the device that has made the save, also if the save gets the stamp of another
/// identity and is sent again: both are one addition, and who has removed the one has removed the other.
extension PendingChange {
  /// Whether the record is a link.
  package var isLink: Bool { values?[.linkSource] != nil }
  /// Whether the change is of a link whose state it does not change: an end of the link was deleted by the same save.
  package var isEmpty: Bool { isLink && ownFields.isEmpty && positions.isEmpty }
  /// Whether a link was moved in an ordered relationship, and neither added nor removed.
  package var isMove: Bool { isLink && ownFields.isEmpty && !positions.isEmpty }
  /// Whether a link was removed.
  package var isRemoval: Bool { isLink && !isAddition && !isMove }
  /// Whether the link was added.
  package var isAddition: Bool { ownFields.contains { $0.value != .superseded } }

  /// Returns the addition of a link.
  ///
  /// - Parameter stamp: The stamp of the save when it is stamped first.
  package static func addition(of link: Link, _ id: RecordID, _ stamp: Stamp) -> PendingChange {
    PendingChange(
      id, entity: link.relationship, link.values, ownFields: [Field(.addition(by: stamp.device), .integer(1), stamp)])
  }

  /// Returns the move of a link in ordered relationships.
  package static func move(of link: Link, _ id: RecordID, _ positions: [PropertyID: FieldValue]) -> PendingChange {
    PendingChange(id, entity: link.relationship, link.values).positioned(positions)
  }

  /// Returns the removal of a link.
  ///
  /// - Parameter state: The state of the record when the link was removed, including earlier pending saves.
  package static func removal(of link: Link, _ id: RecordID, from state: Record?) -> PendingChange {
    let removed = (state?.additions ?? []).map { Field(.addition(by: $0.device), .superseded, $0) }
    return PendingChange(id, entity: link.relationship, link.values, ownFields: removed.sorted { $0.property < $1.property })
  }

  /// Returns the change with the stamps of additions, reinsertions, and of what a deletion has seen, replaced. They keep their devices.
  /// Counters and versions do not change.
  package func restamped(_ transform: (Stamp) -> Stamp) -> PendingChange {
    if let mark = deletionMark {
      let field = Field(.deletion, .deletion(mark.mapStamps(transform)), ownFields[0].stamp, .deletion)
      return PendingChange(id, entity: entity, nil, ownFields: [field])
    }
    let restamped = ownFields.map { $0.rule.hasFixedStamps ? $0 : Field($0.property, $0.value, transform($0.stamp)) }
    return PendingChange(id, entity: entity, values, rules: rules, ownFields: restamped)
  }

  /// Returns the change with records replaced. A link of a replaced record is another link, with another record.
  ///
  /// - Parameters:
  ///   - renewed: The new records, by the former ones.
  ///   - linkID: Returns the record of a link.
  package func renewed(
    _ renewed: [RecordID: RecordID], _ model: SyncModel, linkID: (Link) throws -> RecordID
  ) rethrows -> PendingChange {
    try redirected(renewed, id: renewed[id] ?? id, model, linkID: linkID)
  }

  /// Returns the change with references to other records. A link of a replaced record is another link, with another record.
  package func redirected(
    _ renewed: [RecordID: RecordID], _ model: SyncModel, linkID: (Link) throws -> RecordID
  ) rethrows -> PendingChange {
    try redirected(renewed, id: id, model, linkID: linkID)
  }

  /// Returns both of two changes of a link by one save. They concern one link since objects at its ends were merged.
  package func joined(with other: PendingChange) -> PendingChange {
    let own = Record(entity: entity, .live(ownFields)).joined(with: Record(entity: entity, .live(other.ownFields)))
    return PendingChange(
      id, entity: entity, (values ?? [:]).merging(other.values ?? [:]) { $1 }, rules: rules.merging(other.rules) { $1 },
      ownFields: own.fields)
  }

  private func redirected(
    _ renewed: [RecordID: RecordID], id: RecordID, _ model: SyncModel, linkID: (Link) throws -> RecordID
  ) rethrows -> PendingChange {
    let new = values?.mapValues { value in value.reference.flatMap { renewed[$0] }.map(FieldValue.reference) ?? value }
    guard new != values, let source = new?[.linkSource]?.reference, let destination = new?[.linkDestination]?.reference else {
      return PendingChange(id, entity: entity, new, rules: rules, ownFields: ownFields)
    }
    let link = model.link(entity, from: source, to: destination)
    // A link without a direction can have its ends the other way round.
    let isSwapped = link.source != source
    let positions = positions.map { (isSwapped ? $0.key.oppositeLinkPosition : $0.key, $0.value) }
    return PendingChange(try linkID(link), entity: entity, link.values, ownFields: ownFields)
      .positioned(Dictionary(positions) { first, _ in first })
  }
}

/// Places in ordered relationships. They are values, and have the stamp of the save.
extension PendingChange {
  /// The places that a member or a link has got.
  package var positions: [PropertyID: FieldValue] { (values ?? [:]).filter { $0.value.position != nil } }

  /// Returns the change with places in ordered relationships.
  package func positioned(_ positions: [PropertyID: FieldValue]) -> PendingChange {
    guard let values, !positions.isEmpty else { return self }
    return PendingChange(id, entity: entity, values.merging(positions) { $1 }, rules: rules, ownFields: ownFields)
  }
}

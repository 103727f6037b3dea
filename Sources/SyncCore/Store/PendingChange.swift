/// The change of an object in a save.
package struct PendingChange: Hashable, Sendable {
  package let id: RecordID
  package let entity: EntityID
  /// The values that were set; nil if the object was deleted.
  package let values: [PropertyID: FieldValue]?
  /// Of a link: the addition, with the stamp that the save got first, or the additions that were removed, in ascending order of the
  /// properties.
  package let presence: [Field]

  package init(_ id: RecordID, entity: EntityID, _ values: [PropertyID: FieldValue]?, presence: [Field] = []) {
    (self.id, self.entity, self.values, self.presence) = (id, entity, values, presence)
  }

  /// Returns the change as a part of the record's state.
  package func record(_ stamp: Stamp) -> Record {
    guard let values else { return Record(entity: entity, .deleted(stamp)) }
    let record = Record(entity: entity, values, stamp)
    return presence.isEmpty ? record : record.joined(with: Record(entity: entity, .live(presence)))
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
  package var isEmpty: Bool { isLink && presence.isEmpty }
  /// Whether the link was added.
  package var isAddition: Bool { presence.contains { $0.value != .superseded } }

  /// Returns the addition of a link.
  ///
  /// - Parameter stamp: The stamp of the save when it is stamped first.
  package static func addition(of link: Link, _ id: RecordID, _ stamp: Stamp) -> PendingChange {
    PendingChange(
      id, entity: link.relationship, link.values, presence: [Field(.addition(by: stamp.device), .integer(1), stamp)])
  }

  /// Returns the removal of a link.
  ///
  /// - Parameter state: The state of the record when the link was removed, including earlier pending saves.
  package static func removal(of link: Link, _ id: RecordID, from state: Record?) -> PendingChange {
    let removed = (state?.additions ?? []).map { Field(.addition(by: $0.device), .superseded, $0) }
    return PendingChange(id, entity: link.relationship, link.values, presence: removed.sorted { $0.property < $1.property })
  }

  /// Returns the change with the stamps of additions replaced. They keep their devices.
  package func restamped(_ transform: (Stamp) -> Stamp) -> PendingChange {
    PendingChange(id, entity: entity, values, presence: presence.map { Field($0.property, $0.value, transform($0.stamp)) })
  }

  /// Returns the change with records replaced. A link of a replaced record is another link, with another record.
  ///
  /// - Parameters:
  ///   - renewed: The new records, by the former ones.
  ///   - linkID: Returns the record of a link.
  package func renewed(
    _ renewed: [RecordID: RecordID], _ model: SyncModel, linkID: (Link) throws -> RecordID
  ) rethrows -> PendingChange {
    let new = values?.mapValues { value in value.reference.flatMap { renewed[$0] }.map(FieldValue.reference) ?? value }
    guard new != values, let source = new?[.linkSource]?.reference, let destination = new?[.linkDestination]?.reference else {
      return PendingChange(renewed[id] ?? id, entity: entity, new, presence: presence)
    }
    let link = model.link(entity, from: source, to: destination)
    return PendingChange(try linkID(link), entity: entity, link.values, presence: presence)
  }
}

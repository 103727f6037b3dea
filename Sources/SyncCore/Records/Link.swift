/// A link between two objects by a many-to-many relationship, or by a to-many relationship without an inverse.
///
/// It is a record of its own: an object with two required references, so that it exists only together with both ends. Its ID follows from the
/// relationship and the ends, so devices that link the same objects have the same record.
///
/// Links can be removed and added again at any time, so a removal is no tombstone. In addition to the ends, the record has a value for each
/// device that has ever added the link. The property is the device's ID, and the stamp is that of the last addition by the device:
///
/// - 1: the link was added.
/// - ``FieldValue/superseded``: this addition was removed.
///
/// Links from before synchronization have one addition in common (``baseline``): what was there on several devices, such as those with copies
/// of one store, is removed by one removal.
///
/// In an ordered relationship, the link also has its position in the list of an end (``PropertyID/position(through:)``).
///
/// A removal concerns exactly the additions that the removing device had. The link is there as long as any addition was not removed: an
/// addition wins over a concurrent removal, whatever the clocks say.
package struct Link: Hashable, Sendable {
  /// The entity of the link's record, which stands for the relationship.
  package let relationship: EntityID
  package let source: RecordID
  package let destination: RecordID

  /// - Parameter isSymmetric: Whether the relationship is its own inverse, so that a link has no direction.
  package init(_ relationship: EntityID, from source: RecordID, to destination: RecordID, isSymmetric: Bool) {
    self.relationship = relationship
    (self.source, self.destination) = isSymmetric && destination < source ? (destination, source) : (source, destination)
  }

  /// The addition of all links from before synchronization. No device has its ID.
  package static let baseline = Stamp(HybridTime(value: 1), DeviceID(0))

  /// The references of the record.
  package var values: [PropertyID: FieldValue] { [.linkSource: .reference(source), .linkDestination: .reference(destination)] }

  /// Creates the link of a record's state; nil if that is not a live link.
  package init?(_ record: Record, _ model: SyncModel) {
    guard model.isLink(record.entity), let source = record[.linkSource]?.value.reference,
      let destination = record[.linkDestination]?.value.reference
    else { return nil }
    self = model.link(record.entity, from: source, to: destination)
  }

  /// What the ID of the record is computed from, by a cryptographic hash.
  package var bytes: [UInt8] {
    let words = [relationship.value, source.high, source.low, destination.high, destination.low]
    return Array("CipherData link".utf8) + words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) } }
  }
}

/// The properties of links. No other property and no device has these IDs.
extension PropertyID {
  package static let linkSource = PropertyID(.max - 1)
  package static let linkDestination = PropertyID(.max)

  /// The property of a link that says whether a device has added it.
  package static func addition(by device: DeviceID) -> PropertyID { PropertyID(device.value) }

  package var isLinkEnd: Bool { self == .linkSource || self == .linkDestination }

  /// Whether a link has its additions under the property, rather than its ends and positions.
  package var isAddition: Bool { !isLinkEnd && !isLinkPosition && self != .waiting }
}

extension Record {
  /// Whether the record is a link that was not deleted with its ends.
  package var isLink: Bool { self[.linkSource] != nil }

  /// The stamps of the additions of a link that were not removed.
  package var additions: [Stamp] {
    fields.compactMap { $0.property.isAddition && $0.value != .superseded ? $0.stamp : nil }
  }

  /// Whether a link was added and not removed.
  package var hasAddition: Bool { fields.contains { $0.property.isAddition && $0.value != .superseded } }
}

/// Properties whose values no two objects may have in common.
package struct UniqueConstraint: Hashable, Sendable {
  /// The identity of the constraint on all devices, computed from the model's names.
  package let id: UInt64
  package let properties: [PropertyID]

  package init(_ id: UInt64, _ properties: [PropertyID]) { (self.id, self.properties) = (id, properties) }
}

/// Values that only one object may have.
package struct UniqueKey: Hashable, Sendable {
  package let constraint: UniqueConstraint
  /// The values of the constraint's properties, none of which is nil.
  package let values: [FieldValue]
}

extension Record {
  /// The values of a live record that no other object may have. If one of them is nil, a constraint does not apply.
  package func uniqueKeys(_ model: SyncModel) -> [UniqueKey] {
    (model.entities[entity]?.unique ?? []).compactMap { constraint in
      let values = constraint.properties.map { self[$0]?.value ?? .null }
      if values.contains(where: { $0 == .null || $0 == .superseded }) { return nil }
      return UniqueKey(constraint: constraint, values: values.map(\.normalized))
    }
  }

  /// The record of the object that this one was merged into, because both had the same unique values.
  ///
  /// Such a record has no object of its own. What refers to it is made to refer to the other one (``DuplicateMerge``).
  package var successor: RecordID? { self[.successor]?.value.reference }
}

extension FieldValue {
  /// The value as stores compare it: both zeros are equal.
  fileprivate var normalized: FieldValue { self == .real((-0.0).bitPattern) ? .real((0.0).bitPattern) : self }
}

extension PropertyID {
  /// The property of a record that was merged into another one, to which it refers. No other property has this ID.
  package static let successor = PropertyID(.max - 6)
}

/// Stamps of what follows from other values, and that all devices write in the same way.
extension Stamp {
  private static let firstDerivedDevice = UInt64.max - 4_000

  /// Whether no save has written a value with the stamp.
  package var isDerived: Bool { device.value >= Self.firstDerivedDevice && device.value <= .max - 16 }

  /// The stamp of a value that replaces one: later than it, and earlier than what is saved afterwards.
  var ofReplacement: Stamp {
    if !isDerived { return Stamp(time, DeviceID(Self.firstDerivedDevice)) }
    return device.value < .max - 16 ? Stamp(time, DeviceID(device.value + 1)) : Stamp(time.next, DeviceID(Self.firstDerivedDevice))
  }
}

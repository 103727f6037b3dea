import Foundation
package import ObjectContext
package import ObjectModel

/// A uniqueness constraint that identifies objects of an entity and its subentities.
package struct IdentityConstraint: Sendable, Hashable {
  /// The number of the entity that declares the constraint.
  package let entity: Int
  /// The slots of the attributes and to-one relationships.
  package let slots: [Int]
  /// Whether a slot is that of a relationship, so that its destination must be resolved first.
  package let hasRelationships: Bool
}

/// The exact values of an object for a constraint. Texts that only look alike are different.
package struct IdentityKey: Sendable {
  package let constraint: IdentityConstraint
  /// The values in the order of the constraint's slots.
  package let values: [Slot]
  private let bytes: [UInt8]

  /// Creates a key; `nil` if a value is missing.
  package init?(_ constraint: IdentityConstraint, value: (Int) -> Slot?) {
    var bytes: [UInt8] = []
    var values: [Slot] = []
    for slot in constraint.slots {
      guard let value = value(slot), !value.isNull else { return nil }
      Fingerprint.append(value, to: &bytes)
      values.append(value)
    }
    self.constraint = constraint
    self.values = values
    self.bytes = bytes
  }

  /// Appends the key to the bytes of a fingerprint.
  func append(to fingerprint: inout [UInt8]) {
    fingerprint.append(6)
    Fingerprint.append(UInt64(constraint.entity), to: &fingerprint)
    Fingerprint.append(UInt64(constraint.slots.count), to: &fingerprint)
    for slot in constraint.slots { Fingerprint.append(UInt64(slot), to: &fingerprint) }
    fingerprint.append(contentsOf: bytes)
  }
}

extension IdentityKey: Hashable {
  package static func == (left: IdentityKey, right: IdentityKey) -> Bool {
    left.constraint == right.constraint && left.bytes == right.bytes
  }
  package func hash(into hasher: inout Hasher) {
    hasher.combine(constraint)
    hasher.combine(bytes)
  }
}

/// Values as bytes, which are equal if the store represents the values alike.
package enum Fingerprint {
  /// Appends a value. Texts are compared by their bytes, as in the store, and not by canonical equivalence.
  package static func append(_ slot: Slot, to bytes: inout [UInt8]) {
    switch slot {
    case .null: bytes.append(0)
    case .int(let value):
      bytes.append(1)
      append(UInt64(bitPattern: value), to: &bytes)
    case .real(let value):
      bytes.append(2)
      append(value.bitPattern, to: &bytes)
    case .text(let value):
      bytes.append(3)
      append(UInt64(value.utf8.count), to: &bytes)
      bytes.append(contentsOf: value.utf8)
    case .bytes(let value):
      bytes.append(4)
      append(UInt64(value.count), to: &bytes)
      bytes.append(contentsOf: value)
    }
  }

  /// Appends a number.
  package static func append(_ number: UInt64, to bytes: inout [UInt8]) {
    withUnsafeBytes(of: number) { bytes.append(contentsOf: $0) }
  }

  /// Returns whether the store represents two values alike.
  package static func isSame(_ first: Slot, _ second: Slot) -> Bool {
    switch (first, second) {
    case (.null, .null): true
    case (.int(let left), .int(let right)): left == right
    case (.real(let left), .real(let right)): left == right || (left.isNaN && right.isNaN)
    case (.text(let left), .text(let right)): left.utf8.elementsEqual(right.utf8)
    case (.bytes(let left), .bytes(let right)): left == right
    default: false
    }
  }
}

/// The constraints that identify the objects of each entity.
package struct IdentityTable: Sendable {
  private let constraints: [[IdentityConstraint]]

  /// Creates the table of a model. Constraints with a transient property are ignored.
  package init(_ model: CompiledModel) {
    constraints = model.entities.map { entity in
      entity.uniquenessConstraints.enumerated().compactMap { index, slots in
        guard slots.allSatisfy({ !entity.slots[$0].isTransient }), !slots.isEmpty else { return nil }
        // A constraint covers the subentities of the entity that declares it.
        var owner = entity
        while let parent = owner.parent, model.entities[parent].uniquenessConstraints.count > index { owner = model.entities[parent] }
        return IdentityConstraint(
          entity: owner.number, slots: slots, hasRelationships: slots.contains { entity.slots[$0].relationship != nil })
      }
    }
  }

  /// Returns the constraints of an entity, inherited ones first.
  package func constraints(of entity: CompiledEntity) -> [IdentityConstraint] { constraints[entity.number] }

  /// Returns the key of a managed object for the first constraint whose values are complete; `nil` if there is none.
  package func key(of object: ManagedObject) -> IdentityKey? {
    for constraint in constraints[object.compiledEntity.number] {
      if let key = IdentityKey(constraint, value: { object.slotValue($0) }) { return key }
    }
    return nil
  }
}

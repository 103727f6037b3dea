import ObjectContext
import ObjectModel

extension GraphImporter {
  /// Returns a managed object as bytes: all values and the objects it refers to, except for the relationship to its owner.
  func fingerprint(_ managed: ManagedObject, besides owner: CompiledRelationship) throws -> [UInt8] {
    var bytes: [UInt8] = []
    try append(managed, owner, depth: 0, to: &bytes)
    return bytes
  }

  /// Returns the bytes that an input object would have after insertion.
  func fingerprint(_ object: ImportObject, besides owner: CompiledRelationship) throws -> [UInt8] {
    var bytes: [UInt8] = []
    try append(object, owner, depth: 0, to: &bytes)
    return bytes
  }

  private static let deepest = 64

  private func append(_ managed: ManagedObject, _ owner: CompiledRelationship, depth: Int, to bytes: inout [UInt8]) throws {
    let entity = managed.compiledEntity
    if let key = identities.key(of: managed) {
      key.append(to: &bytes)
      return
    }
    bytes.append(5)
    Fingerprint.append(UInt64(entity.number), to: &bytes)
    for slot in entity.slots where slot.attribute != nil && !slot.isTransient {
      Fingerprint.append(managed.slotValue(slot.index), to: &bytes)
    }
    guard depth < Self.deepest else { return }
    for relationship in plan.nested(in: entity) where relationship.id != owner.inverseID {
      if relationship.isToMany {
        var members: [[UInt8]] = []
        for member in managed.toManyArray(relationship.index, as: ManagedObject.self) {
          var memberBytes: [UInt8] = []
          try append(member, relationship, depth: depth + 1, to: &memberBytes)
          members.append(memberBytes)
        }
        append(members, relationship, to: &bytes)
      } else if let destination: ManagedObject = managed.toOne(relationship.index) {
        bytes.append(7)
        try append(destination, relationship, depth: depth + 1, to: &bytes)
      } else {
        bytes.append(0)
      }
    }
  }

  private func append(_ object: ImportObject, _ owner: CompiledRelationship, depth: Int, to bytes: inout [UInt8]) throws {
    let entity = object.entity
    if let key = identities.attributeKey(of: object) {
      key.append(to: &bytes)
      return
    }
    if let name = object.reference {
      // For an object with an identifier, compare the managed object.
      if let managed = try namedInBatch[name] ?? named[name].map({ try context.existingObject(with: $0) }) {
        held.append(managed)
        try append(managed, owner, depth: depth, to: &bytes)
      }
      return
    }
    bytes.append(5)
    Fingerprint.append(UInt64(entity.number), to: &bytes)
    for slot in entity.slots where slot.attribute != nil && !slot.isTransient {
      Fingerprint.append(object.value(slot.index) ?? slot.defaultValue, to: &bytes)
    }
    guard depth < Self.deepest else { return }
    for relationship in plan.nested(in: entity) where relationship.id != owner.inverseID {
      if relationship.isToMany {
        var members: [[UInt8]] = []
        for member in object.toMany.first(where: { $0.relationship.id == relationship.id })?.members ?? [] {
          var memberBytes: [UInt8] = []
          try append(member, relationship, depth: depth + 1, to: &memberBytes)
          members.append(memberBytes)
        }
        append(members, relationship, to: &bytes)
      } else if let destination = object.toOne.first(where: { $0.relationship.id == relationship.id })?.destination {
        bytes.append(7)
        try append(destination, relationship, depth: depth + 1, to: &bytes)
      } else {
        bytes.append(0)
      }
    }
  }

  private func append(_ members: [[UInt8]], _ relationship: CompiledRelationship, to bytes: inout [UInt8]) {
    bytes.append(8)
    Fingerprint.append(UInt64(members.count), to: &bytes)
    let sorted = relationship.isOrdered ? members : members.sorted { $0.lexicographicallyPrecedes($1) }
    for member in sorted {
      Fingerprint.append(UInt64(member.count), to: &bytes)
      bytes.append(contentsOf: member)
    }
  }
}

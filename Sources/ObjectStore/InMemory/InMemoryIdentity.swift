package import Foundation
package import ObjectModel

/// The stable IDs of the objects of an in-memory store, part of each version of its rows.
struct InMemoryIdentity: Sendable {
  /// The ranges by root entity number.
  private var ranges: [Int: StableIDRanges] = [:]
  /// The stable IDs that other stores have assigned.
  private var others: [ObjectReference: UUID] = [:]
  private var objects: [UUID: ObjectReference] = [:]
  private let roots: [Int]

  init(of model: CompiledModel) {
    roots = model.entities.map(\.root)
    for root in Set(roots) { ranges[root] = StableIDRanges([StableIDRange(first: 1)]) }
  }

  /// Returns the reference by root entity: an object has one, whatever its entity.
  private func identified(_ reference: ObjectReference) -> ObjectReference {
    ObjectReference(entity: roots[reference.entity], key: reference.key)
  }

  func id(of reference: ObjectReference) -> UUID? {
    let reference = identified(reference)
    return others[reference] ?? ranges[reference.entity]?.id(of: reference.key)
  }

  /// Returns the object with a stable ID, by its root entity.
  func reference(of id: UUID) -> ObjectReference? {
    if let known = objects[id] { return known }
    for (root, ranges) in ranges {
      if let key = ranges.key(of: id) {
        let reference = ObjectReference(entity: root, key: key)
        return others[reference] == nil ? reference : nil
      }
    }
    return nil
  }

  /// Removes the assigned IDs of objects for which a condition is false, and returns their number.
  mutating func purge(keeping isKept: (ObjectReference) -> Bool) -> Int {
    let deleted = others.filter { !isKept($0.key) }
    for (reference, id) in deleted { (others[reference], objects[id]) = (nil, nil) }
    return deleted.count
  }

  mutating func set(_ id: UUID, of reference: ObjectReference) {
    let reference = identified(reference)
    if let old = others[reference] { objects[old] = nil }
    others[reference] = id
    objects[id] = reference
  }
}

extension InMemoryStore: IdentityStore {
  package func tracksObjectIdentity() throws -> Bool { try visibleRows().identity != nil }

  package func setTracksObjectIdentity(_ isTracked: Bool) throws {
    try changeIdentity { rows in
      if isTracked, rows.identity == nil { rows.identity = InMemoryIdentity(of: rows.model) }
      if !isTracked { rows.identity = nil }
    }
  }

  package func stableIDs(of references: [ObjectReference]) throws -> [UUID?] {
    let rows = try visibleRows()
    return references.map { rows.identity?.id(of: $0) }
  }

  package func reference(forStableID id: UUID) throws -> ObjectReference? {
    let rows = try visibleRows()
    return rows.identity?.reference(of: id).flatMap { rows.row(of: $0)?.reference }
  }

  package func purgeStableIDs() throws -> Int {
    var count = 0
    try changeIdentity { rows in
      guard rows.identity != nil else { throw StoreError(.identityOff, operation: .save) }
      let present = rows
      count = rows.identity?.purge { present.row(of: $0) != nil } ?? 0
    }
    return count
  }

  package func setStableIDs(_ ids: [(object: ObjectReference, id: UUID)]) throws {
    try changeIdentity { rows in
      guard rows.identity != nil else { throw StoreError(.identityOff, operation: .save) }
      for (reference, id) in ids {
        let holder = rows.identity?.reference(of: id)
        if let holder, rows.row(of: holder) != nil,
          holder != ObjectReference(entity: rows.model.entities[reference.entity].root, key: reference.key)
        {
          throw StoreError(.stableIDInUse(id), operation: .save)
        }
        rows.identity?.set(id, of: reference)
      }
    }
  }
}

import Foundation
import CipherDataEngine

/// The objects of an open ``JSONFileStore``. It is a value, so that a copy is a snapshot.
struct JSONGraph: Sendable {
  /// A row with its values by slot.
  struct Row: Sendable {
    var version: Int64
    var values: [Slot]
  }

  /// A link between two objects.
  struct Link: Hashable, Sendable {
    var source: ObjectReference
    var destination: ObjectReference
  }

  let model: CompiledModel
  var rows: [ObjectReference: Row] = [:]
  /// The links of relationships whose inverse is not to-one, by the relationship's number; for inverse pairs, by the lower one.
  var links: [Int: Set<Link>] = [:]
  /// The order of members, by the relationship's number and the object.
  var orders: [Int: [ObjectReference: [ObjectReference]]] = [:]

  init(model: CompiledModel) { self.model = model }

  /// Writes the row of an object in the coordinator's format.
  func write(_ reference: ObjectReference, to writer: RowWriter) {
    guard let row = rows[reference] else { return }
    writer.beginRow(entityNumber: reference.entity, slotCount: row.values.count, key: reference.key, version: row.version)
    for (slot, value) in row.values.enumerated() { writer.set(value, at: slot) }
    writer.endRow()
  }

  /// Returns the row of an object; nil if it does not exist.
  func row(of reference: ObjectReference) -> RowImage? {
    let writer = RowWriter(rowCapacity: 1)
    write(reference, to: writer)
    return writer.finish().first
  }

  /// Returns the objects of an entity and its subentities in key order.
  func objects(of entity: CompiledEntity) -> [ObjectReference] {
    rows.keys.filter { entity.subtree.contains($0.entity) }.sorted { $0.key < $1.key }
  }

  /// Returns the relationship that stores the links of a relationship, and whether they are reversed there.
  func linkOwner(of relationship: CompiledRelationship) -> (number: Int, isReversed: Bool) {
    guard let inverse = relationship.inverseID, inverse < relationship.id else { return (relationship.id, false) }
    return (inverse, true)
  }

  /// Returns the members of a relationship by object.
  func members(of relationship: CompiledRelationship) -> [ObjectReference: [ObjectReference]] {
    var members: [ObjectReference: [ObjectReference]] = [:]
    if let inverse = model.inverse(of: relationship), !inverse.isToMany {
      let sources = model.entities[inverse.sourceEntity].subtree
      for (reference, row) in rows where sources.contains(reference.entity) {
        if case .int(let owner) = row.values[inverse.index] { members[ObjectReference(rawValue: owner), default: []].append(reference) }
      }
    } else {
      let (number, isReversed) = linkOwner(of: relationship)
      for link in links[number] ?? [] {
        let (owner, member) = isReversed ? (link.destination, link.source) : (link.source, link.destination)
        members[owner, default: []].append(member)
      }
    }
    for (owner, found) in members {
      // Members without a position come last, in key order.
      let order = (orders[relationship.id]?[owner] ?? []).enumerated().map { ($1, $0) }
      let places = Dictionary(order, uniquingKeysWith: { first, _ in first })
      members[owner] = found.sorted { (places[$0] ?? .max, $0.key) < (places[$1] ?? .max, $1.key) }
    }
    return members
  }
}

/// Reads a graph's objects for ``FetchEvaluation``, and caches the members of relationships.
final class JSONGraphReader: ObjectResolver {
  private let graph: JSONGraph
  private let space: ObjectIDSpace
  private var knownMembers: [Int: [ObjectReference: [ObjectReference]]] = [:]

  init(_ graph: JSONGraph, space: ObjectIDSpace) {
    self.graph = graph
    self.space = space
  }

  func entity(of object: ObjectReference) -> CompiledEntity { graph.model.entities[object.entity] }

  func objectID(of object: ObjectReference) -> ManagedObjectID {
    ManagedObjectID(space: space.number, entityNumber: UInt32(object.entity), key: object.key)
  }

  func value(of object: ObjectReference, slot: Int) -> Slot {
    guard let values = graph.rows[object]?.values, slot < values.count else { return .null }
    return values[slot]
  }

  func destination(of object: ObjectReference, slot: Int) -> ObjectReference? {
    guard case .int(let destination) = value(of: object, slot: slot) else { return nil }
    return ObjectReference(rawValue: destination)
  }

  func members(of object: ObjectReference, toMany index: Int) -> [ObjectReference] {
    let relationships = entity(of: object).toManyRelationships
    return index < relationships.count ? members(of: object, relationship: relationships[index]) : []
  }

  func members(of object: ObjectReference, relationship: CompiledRelationship) -> [ObjectReference] {
    if knownMembers[relationship.id] == nil { knownMembers[relationship.id] = graph.members(of: relationship) }
    return knownMembers[relationship.id]?[object] ?? []
  }
}

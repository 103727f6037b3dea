import ObjectModel
import Synchronization

/// A version of the entire content of an in-memory store. A copy of the value is a snapshot.
struct InMemoryRows: Sendable {
  struct Link: Hashable, Sendable {
    let source: ObjectReference
    let destination: ObjectReference
  }

  let model: CompiledModel
  let entityNumbers: Set<Int>
  /// A cache of relationship members for this version. Replaced by every change.
  var cachedMembers = InMemoryMembers()
  /// The rows, by the number of their root entity and their key.
  var tables: [Int: [Int64: RowImage]] = [:]
  /// The links of to-many relationships without a to-one inverse, by relationship number. A relationship and its inverse share the entry of
  /// the lower number.
  var links: [Int: Set<Link>] = [:]
  /// The last order of ordered relationships, by relationship number and object. Does not determine membership.
  var orders: [Int: [ObjectReference: [ObjectReference]]] = [:]
  var history: InMemoryHistory?

  init(model: CompiledModel, entityNumbers: [Int]) {
    self.model = model
    self.entityNumbers = Set(entityNumbers)
  }

  func row(of reference: ObjectReference) -> RowImage? {
    guard model.entities.indices.contains(reference.entity) else { return nil }
    return tables[model.entities[reference.entity].root]?[reference.key]
  }

  /// Returns the rows of an entity, ordered by key.
  func rows(of entity: CompiledEntity, includesSubentities: Bool) -> [RowImage] {
    let numbers = includesSubentities ? entity.subtree : entity.number..<entity.number + 1
    let found = (tables[entity.root] ?? [:]).values.filter { numbers.contains($0.entityNumber) }
    return found.sorted { $0.key < $1.key }
  }

  /// Returns the number under which the links of a relationship are stored, and whether source and destination are swapped.
  func linkOwner(of relationship: CompiledRelationship) -> (number: Int, isReversed: Bool) {
    guard let inverseID = relationship.inverseID, inverseID < relationship.id else { return (relationship.id, false) }
    return (inverseID, true)
  }

  /// Returns the members of a relationship for all objects that have any. Unordered members are sorted by key. The first call for a version
  /// takes time linear in the number of rows.
  func members(of relationship: CompiledRelationship) -> [ObjectReference: [ObjectReference]] {
    if let known = cachedMembers.lists.withLock({ $0[relationship.id] }) { return known }
    let found = findMembers(of: relationship)
    cachedMembers.lists.withLock { $0[relationship.id] = found }
    return found
  }

  private func findMembers(of relationship: CompiledRelationship) -> [ObjectReference: [ObjectReference]] {
    var members: [ObjectReference: [ObjectReference]] = [:]
    if let inverse = model.inverse(of: relationship), !inverse.isToMany {
      for row in rows(of: model.entities[inverse.sourceEntity], includesSubentities: true) where !row.isNull(inverse.index) {
        members[row.reference(inverse.index), default: []].append(row.reference)
      }
    } else {
      let owner = linkOwner(of: relationship)
      for link in links[owner.number] ?? [] {
        if owner.isReversed {
          members[link.destination, default: []].append(link.source)
        } else {
          members[link.source, default: []].append(link.destination)
        }
      }
      for source in members.keys { members[source]?.sort { ($0.key, $0.entity) < ($1.key, $1.entity) } }
    }
    guard relationship.isOrdered, let orders = orders[relationship.id] else { return members }
    for (source, order) in orders {
      guard let current = members[source] else { continue }
      let isMember = Set(current)
      let isOrdered = Set(order)
      members[source] = order.filter(isMember.contains) + current.filter { !isOrdered.contains($0) }
    }
    return members
  }
}

/// The members of relationships, computed once for a version of the rows and shared by its readers.
final class InMemoryMembers: Sendable {
  let lists = Mutex<[Int: [ObjectReference: [ObjectReference]]]>([:])
}

// InMemoryRows: one version of everything that an in-memory store holds.
import ObjectModel
import Synchronization

/// One version of everything that an in-memory store holds. A value: a copy is a snapshot.
struct InMemoryRows: Sendable {
  /// A pair of objects under a relationship.
  struct Link: Hashable, Sendable {
    let source: ObjectReference
    let destination: ObjectReference
  }

  let model: CompiledModel
  let entityNumbers: Set<Int>
  /// The members of relationships that this version was asked for; every change begins a new one.
  var knownMembers = InMemoryMembers()
  /// The rows by the number of their root entity and their key.
  var tables: [Int: [Int64: RowImage]] = [:]
  /// The pairs of the to-many relationships whose inverse is not to-one, by the relationship's number; of two inverse ones, by the lower.
  var links: [Int: Set<Link>] = [:]
  /// The members of ordered relationships as they were last ordered, by the relationship's number and the object. Who is a member is said elsewhere.
  var orders: [Int: [ObjectReference: [ObjectReference]]] = [:]
  /// What was written, where that is kept.
  var history: InMemoryHistory?

  init(model: CompiledModel, entityNumbers: [Int]) {
    self.model = model
    self.entityNumbers = Set(entityNumbers)
  }

  /// The row of an object; nil when there is none.
  func row(of reference: ObjectReference) -> RowImage? {
    guard model.entities.indices.contains(reference.entity) else { return nil }
    return tables[model.entities[reference.entity].root]?[reference.key]
  }

  /// The rows of an entity, in the order of their keys.
  func rows(of entity: CompiledEntity, includesSubentities: Bool) -> [RowImage] {
    let numbers = includesSubentities ? entity.subtree : entity.number..<entity.number + 1
    let found = (tables[entity.root] ?? [:]).values.filter { numbers.contains($0.entityNumber) }
    return found.sorted { $0.key < $1.key }
  }

  /// The relationship under whose number the links of a relationship are kept, and whether they are kept the other way round.
  func linkOwner(of relationship: CompiledRelationship) -> (number: Int, isReversed: Bool) {
    guard let inverseID = relationship.inverseID, inverseID < relationship.id else { return (relationship.id, false) }
    return (inverseID, true)
  }

  /// The members of a relationship, of all objects that have any; unordered ones by their keys. Linear in the rows, once for each version.
  func members(of relationship: CompiledRelationship) -> [ObjectReference: [ObjectReference]] {
    if let known = knownMembers.lists.withLock({ $0[relationship.id] }) { return known }
    let found = findMembers(of: relationship)
    knownMembers.lists.withLock { $0[relationship.id] = found }
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

/// The members of relationships, found once for a version of the rows and shared by its readers.
final class InMemoryMembers: Sendable {
  /// The members of each object by the relationship's number.
  let lists = Mutex<[Int: [ObjectReference: [ObjectReference]]]>([:])
}

package import ObjectModel

/// The layout of an object graph as JSON lines, such that importing the lines creates the same graph.
///
/// An object is nested in its owner if it has no key of its own and exactly one relationship owns it (a relationship that cascades and
/// whose inverse is to-one). Every other object has a line. Only one side of a relationship and its inverse is written; for an ordered
/// relationship always the ordered side. References point to objects of earlier lines where the model allows it. The others follow on
/// separate lines at the end.
package struct ExportPlan: Sendable {
  /// A relationship that is written.
  package struct Link: Sendable {
    package let relationship: CompiledRelationship
    /// Whether the destination objects are nested in their owner.
    package let isOwning: Bool
    /// Whether the relationship can be written only after all objects.
    package let isDeferred: Bool
  }

  /// The numbers of the root entities in the order of their objects' lines.
  package let roots: [Int]
  /// The relationships that own the objects of a root entity, by entity number. Entities whose objects have lines of their own are missing.
  package let owners: [Int: CompiledRelationship]
  /// The root entities whose objects have no key and need an identifier, because other objects refer to them.
  package let namedRoots: Set<Int>
  private let links: [[Link]]

  /// Creates the layout for a model.
  package init(_ model: CompiledModel) {
    let owners = Self.owners(model)
    let written = Self.writtenRelationships(model, owners)
    let roots = Self.order(model, owners, written)
    let position = Dictionary(uniqueKeysWithValues: roots.enumerated().map { ($1, $0) })
    var named: Set<Int> = []
    func top(_ root: Int) -> Int {
      var root = root
      while let owner = owners[root] { root = model.entities[owner.sourceEntity].root }
      return root
    }
    var links = Array(repeating: [Link](), count: model.entities.count)
    for relationship in written {
      let source = model.entities[relationship.sourceEntity]
      let destination = model.entities[relationship.destinationEntity]
      let isOwning = owners[destination.root] === relationship
      var isDeferred = false
      if !isOwning {
        let isEarlier = (position[top(destination.root)] ?? 0) < (position[top(source.root)] ?? 0)
        // A required reference must exist when its object is saved: it is written with the object, and the importer creates its destination
        // from the key.
        isDeferred = !isEarlier && (relationship.isOptional || destination.uniquenessConstraints.isEmpty)
        named.insert(destination.root)
        // Late lines must be able to refer to their source objects.
        if isDeferred { named.insert(source.root) }
      }
      for number in source.subtree {
        links[number].append(Link(relationship: relationship, isOwning: isOwning, isDeferred: isDeferred))
      }
    }
    self.roots = roots
    self.owners = owners
    namedRoots = named
    self.links = links
  }

  /// Returns the relationships that are written with an entity's objects.
  package func links(of entity: CompiledEntity) -> [Link] { links[entity.number] }

  /// Returns the relationships that are part of an object in comparisons by contents.
  func nested(in entity: CompiledEntity) -> [CompiledRelationship] { links[entity.number].map(\.relationship) }

  /// Returns the relationships that own the objects of each entity tree.
  private static func owners(_ model: CompiledModel) -> [Int: CompiledRelationship] {
    var candidates: [Int: [CompiledRelationship]] = [:]
    for relationship in model.relationships where relationship.deleteEffect == .deletesMembers && !relationship.isTransient {
      guard let inverse = model.inverse(of: relationship), !inverse.isToMany else { continue }
      candidates[model.entities[relationship.destinationEntity].root, default: []].append(relationship)
    }
    var owners: [Int: CompiledRelationship] = [:]
    for (root, relationships) in candidates.sorted(by: { $0.key < $1.key }) {
      let tree = model.entities[root].subtree
      // Objects with a key or with several possible owners have lines. The relationship must cover the whole tree.
      guard relationships.count == 1, let owner = relationships.first, owner.destinationEntity == root,
        tree.allSatisfy({ model.entities[$0].uniquenessConstraints.isEmpty })
      else { continue }
      // An owner inside what it owns would nest infinitely.
      var next: Int? = model.entities[owner.sourceEntity].root
      var isCircular = false
      while let current = next {
        if current == root {
          isCircular = true
          break
        }
        next = owners[current].map { model.entities[$0.sourceEntity].root }
      }
      if !isCircular { owners[root] = owner }
    }
    return owners
  }

  private static func writtenRelationships(_ model: CompiledModel, _ owners: [Int: CompiledRelationship]) -> [CompiledRelationship] {
    let owning = Set(owners.values.map(\.id))
    return model.relationships.filter { relationship in
      if relationship.isTransient { return false }
      if owning.contains(relationship.id) { return true }
      guard let inverse = model.inverse(of: relationship) else { return true }
      if owning.contains(inverse.id) { return false }
      if relationship.isOrdered { return true }
      switch (relationship.isToMany, inverse.isToMany) {
      case (false, true): return true
      case (true, false): return false
      case (true, true): return inverse.isOrdered ? false : relationship.id <= inverse.id
      case (false, false):
        if relationship.isOptional != inverse.isOptional { return inverse.isOptional }
        return relationship.id <= inverse.id
      }
    }
  }

  /// Returns the roots of top-level objects, referenced ones first.
  private static func order(
    _ model: CompiledModel, _ owners: [Int: CompiledRelationship], _ written: [CompiledRelationship]
  ) -> [Int] {
    func top(_ root: Int) -> Int {
      var root = root
      while let owner = owners[root] { root = model.entities[owner.sourceEntity].root }
      return root
    }
    var waiting = model.entities.filter { $0.parent == nil }.map(\.number)
    // The top-level roots that each one refers to: first by any relationship, then by required ones only.
    var needs: [Int: Set<Int>] = [:]
    var requires: [Int: Set<Int>] = [:]
    for relationship in written {
      let source = top(model.entities[relationship.sourceEntity].root)
      let destination = top(model.entities[relationship.destinationEntity].root)
      if source == destination { continue }
      needs[source, default: []].insert(destination)
      if !relationship.isOptional { requires[source, default: []].insert(destination) }
    }
    var order: [Int] = []
    var done: Set<Int> = []
    while !waiting.isEmpty {
      let index =
        waiting.firstIndex { owners[$0] != nil || (needs[$0] ?? []).isSubset(of: done) }
        ?? waiting.firstIndex { (requires[$0] ?? []).isSubset(of: done) } ?? 0
      let root = waiting.remove(at: index)
      order.append(root)
      done.insert(root)
    }
    return order
  }
}

// ExportPlan: how a graph is laid out as lines: what is nested in what, which side of a relationship is written, and in which order.
package import ObjectModel

/// How the objects of a model are written as JSON lines, such that reading the lines makes the same graph.
///
/// An object without a key of its own that exactly one relationship owns (it cascades, and its inverse is to-one) is nested in its owner. Every
/// other object has a line. Of a relationship and its inverse one side is written, of an ordered one always the ordered side. References go to
/// objects of earlier lines where the model allows it; those that cannot follow on lines of their own at the end.
package struct ExportPlan: Sendable {
  /// A relationship as it is written.
  package struct Link: Sendable {
    /// The relationship.
    package let relationship: CompiledRelationship
    /// Whether its objects are written in full inside their owner.
    package let isOwning: Bool
    /// Whether it can only be written when all objects are there.
    package let isLate: Bool
  }

  /// The numbers of the root entities, in the order in which their objects' lines follow each other.
  package let roots: [Int]
  /// The relationship that owns the objects of a root entity, by its number; nil when they have lines of their own.
  package let owners: [Int: CompiledRelationship]
  /// The root entities whose objects without a key need names, because others refer to them.
  package let namedRoots: Set<Int>
  private let links: [[Link]]

  /// Lays out a model.
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
      var isLate = false
      if !isOwning {
        let isEarlier = (position[top(destination.root)] ?? 0) < (position[top(source.root)] ?? 0)
        // A required reference must be there when its object is saved: it is written at once, and its destination made from its key.
        isLate = !isEarlier && (relationship.isOptional || destination.uniquenessConstraints.isEmpty)
        named.insert(destination.root)
        // Late lines must find the objects that they begin at.
        if isLate { named.insert(source.root) }
      }
      for number in source.subtree {
        links[number].append(Link(relationship: relationship, isOwning: isOwning, isLate: isLate))
      }
    }
    self.roots = roots
    self.owners = owners
    namedRoots = named
    self.links = links
  }

  /// The relationships that are written with an entity's objects.
  package func links(of entity: CompiledEntity) -> [Link] { links[entity.number] }

  /// The relationships that belong to an object when it is compared as a whole.
  func nested(in entity: CompiledEntity) -> [CompiledRelationship] { links[entity.number].map(\.relationship) }

  /// The relationships that own the objects of a tree of entities.
  private static func owners(_ model: CompiledModel) -> [Int: CompiledRelationship] {
    var candidates: [Int: [CompiledRelationship]] = [:]
    for relationship in model.relationships where relationship.deleteRule == .cascade && !relationship.isTransient {
      guard let inverse = model.inverse(of: relationship), !inverse.isToMany else { continue }
      candidates[model.entities[relationship.destinationEntity].root, default: []].append(relationship)
    }
    var owners: [Int: CompiledRelationship] = [:]
    for (root, relationships) in candidates.sorted(by: { $0.key < $1.key }) {
      let tree = model.entities[root].subtree
      // Whoever has a key has a line; whoever could have two owners, too. The relationship must reach the whole tree.
      guard relationships.count == 1, let owner = relationships.first, owner.destinationEntity == root,
        tree.allSatisfy({ model.entities[$0].uniquenessConstraints.isEmpty })
      else { continue }
      // An owner that lies inside what it owns would nest without end.
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

  /// The roots of top-level objects, those that others refer to first.
  private static func order(
    _ model: CompiledModel, _ owners: [Int: CompiledRelationship], _ written: [CompiledRelationship]
  ) -> [Int] {
    func top(_ root: Int) -> Int {
      var root = root
      while let owner = owners[root] { root = model.entities[owner.sourceEntity].root }
      return root
    }
    var waiting = model.entities.filter { $0.parent == nil }.map(\.number)
    // What each top-level root refers to: first by any relationship, then by required ones alone.
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

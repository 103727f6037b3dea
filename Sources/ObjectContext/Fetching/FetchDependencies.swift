import ObjectModel
import ObjectQuery
import ObjectStore

/// The objects at the end of a relationship path from the results, and their properties that the results depend on.
struct FetchDependency {
  /// The relationships from a result to the objects; empty for the results themselves.
  let relationshipPath: [CompiledRelationship]
  let entities: Range<Int>
  /// The attributes and to-one relationships that the results depend on.
  var slots = SlotMask()
  /// The indexes of the to-many relationships that the results depend on.
  var toMany = SlotMask()

  /// Returns whether a change of an object at the end of the path affects the results. A nil mask means that any property may have changed.
  func isAffected(by slots: SlotMask?, _ toMany: SlotMask?) -> Bool {
    (slots?.intersects(self.slots) ?? true) || (toMany?.intersects(self.toMany) ?? true)
  }
}

/// The properties that the results of a request and their order depend on, derived from a resolved predicate, sort keys, and section names.
struct FetchDependencies {
  /// The dependencies on the results' own properties.
  private(set) var own: FetchDependency
  /// The dependencies on other objects, one for each relationship path.
  private(set) var related: [FetchDependency] = []
  /// Whether a Swift block may read any property of a result.
  private(set) var dependsOnAnything = false
  private let model: CompiledModel
  /// The relationship paths to the objects in scope: the result, then the members of the enclosing collections.
  private var scopes: [[CompiledRelationship]] = [[]]

  init(of entity: CompiledEntity, model: CompiledModel) {
    own = FetchDependency(relationshipPath: [], entities: entity.subtree)
    self.model = model
  }

  // MARK: Queries

  /// Returns whether a change of a result can affect its position or whether it matches.
  func isAffected(by slots: SlotMask?, _ toMany: SlotMask?) -> Bool { dependsOnAnything || own.isAffected(by: slots, toMany) }

  /// Returns whether objects of an entity can affect other objects that may be results.
  func hasRelated(ofEntity number: Int) -> Bool { related.contains { $0.entities.contains(number) } }

  /// The numbers of the to-many relationships that the results depend on.
  var toManyRelationships: Set<Int> {
    var numbers: Set<Int> = []
    for relationship in model.relationships where relationship.isToMany {
      let sources = model.entities[relationship.sourceEntity].subtree
      for dependency in [own] + related
      where dependency.toMany.contains(relationship.index) && dependency.entities.overlaps(sources) { numbers.insert(relationship.id) }
    }
    return numbers
  }

  /// Returns whether results depend on slots of other objects that changed in all objects of an entity.
  func isAffected(by filled: FilledSlots) -> Bool {
    related.contains { $0.entities.contains(filled.entity) && $0.isAffected(by: filled.slots, SlotMask()) }
  }

  /// Returns whether a path ends with a many-to-many relationship, or a to-many relationship without an inverse, to objects of an entity.
  ///
  /// Change sets do not contain the former sources of such links to deleted objects.
  func hasUntrackedLinks(toEntity number: Int, in model: CompiledModel) -> Bool {
    related.contains { dependency in
      guard dependency.entities.contains(number), let last = dependency.relationshipPath.last else { return false }
      return last.isToMany && model.inverse(of: last)?.isToMany ?? true
    }
  }

  /// The key paths from a result to the objects it depends on. Prefetching them supplies the values that determine the positions of
  /// results.
  var paths: [String] { related.map { $0.relationshipPath.map(\.name).joined(separator: ".") } }

  // MARK: Collecting

  /// Records the properties that a predicate reads.
  mutating func add(_ predicate: ResolvedPredicate) {
    switch predicate {
    case .constant: break
    case .and(let items), .or(let items): for item in items { add(item) }
    case .isNull(let expression, _): add(expression)
    case .block: dependsOnAnything = true
    case .exists(let exists): add(exists.collection) { $0.add(exists.condition) }
    case .comparison(let comparison):
      add(comparison.left)
      switch comparison.right {
      case .expression(let expression): add(expression)
      case .range(let low, let high):
        add(low)
        add(high)
      case .list: break
      }
    }
  }

  mutating func add(_ expression: ResolvedExpression) {
    switch expression {
    case .constant, .groupAggregate: break
    case .path(let path):
      let relationshipPath = follow(path.steps, from: scopes[path.scope])
      if case .attribute(let attribute) = path.terminal { recordPath(relationshipPath) { $0.slots.insert(attribute.slot.index) } }
    case .aggregate(let aggregate):
      add(aggregate.collection) {
        $0.add(aggregate.condition)
        if let value = aggregate.value { $0.add(value) }
      }
    case .function(_, let arguments, _): for argument in arguments { add(argument) }
    case .conditional(let condition, let first, let second):
      add(condition)
      add(first)
      add(second)
    }
  }

  private mutating func add(_ collection: ResolvedCollection, _ members: (inout FetchDependencies) -> Void) {
    let relationshipPath = follow(collection.steps, from: scopes[collection.scope])
    let relationship = collection.relationship.relationship
    recordPath(relationshipPath) { $0.toMany.insert(relationship.index) }
    let outer = scopes
    scopes = Array(scopes.prefix(collection.memberScope))
    scopes.append(relationshipPath + [relationship])
    members(&self)
    scopes = outer
    // The existence of members matters even if none of their properties is read.
    recordPath(relationshipPath + [relationship]) { _ in }
  }

  /// Extends a path along to-one relationships, each of which is a dependency.
  private mutating func follow(_ steps: [ResolvedStep], from relationshipPath: [CompiledRelationship]) -> [CompiledRelationship] {
    var relationshipPath = relationshipPath
    for step in steps {
      recordPath(relationshipPath) { $0.slots.insert(step.relationship.index) }
      relationshipPath.append(step.relationship)
      recordPath(relationshipPath) { _ in }
    }
    return relationshipPath
  }

  private mutating func recordPath(_ relationshipPath: [CompiledRelationship], _ body: (inout FetchDependency) -> Void) {
    guard let last = relationshipPath.last else { return body(&own) }
    let numbers = relationshipPath.map(\.id)
    if let index = related.firstIndex(where: { $0.relationshipPath.map(\.id) == numbers }) { return body(&related[index]) }
    var dependency = FetchDependency(relationshipPath: relationshipPath, entities: model.entities[last.destinationEntity].subtree)
    body(&dependency)
    related.append(dependency)
  }
}

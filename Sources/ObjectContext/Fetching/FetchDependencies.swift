// FetchDependencies: which properties of which objects decide what the results of a request are, and in which order.
import ObjectModel
import ObjectQuery
import ObjectStore

/// The objects at the end of a way from results along relationships, and what of them results depend on.
struct FetchDependency {
  /// The relationships from a result to the objects; none for the results themselves.
  let way: [CompiledRelationship]
  /// The numbers of the objects' entities.
  let entities: Range<Int>
  /// The attributes and to-one relationships that matter.
  var slots = SlotMask()
  /// The indexes of the to-many relationships that matter.
  var toMany = SlotMask()

  /// Whether a change of an object at the end of the way matters; nil masks are changes of anything.
  func isConcerned(by slots: SlotMask?, _ toMany: SlotMask?) -> Bool {
    (slots?.intersects(self.slots) ?? true) || (toMany?.intersects(self.toMany) ?? true)
  }
}

/// What results depend on, from a resolved predicate, an order and what sections are named by.
struct FetchDependencies {
  /// What matters of the results themselves.
  private(set) var own: FetchDependency
  /// What matters of other objects, way by way.
  private(set) var related: [FetchDependency] = []
  /// Whether a condition in Swift may ask for anything of a result.
  private(set) var dependsOnAnything = false
  private let model: CompiledModel
  /// The ways to the objects in scope: the result, then members of the collections around.
  private var scopes: [[CompiledRelationship]] = [[]]

  init(of entity: CompiledEntity, model: CompiledModel) {
    own = FetchDependency(way: [], entities: entity.subtree)
    self.model = model
  }

  // MARK: Asking

  /// Whether a change of a result matters to where it stands, and whether it stands there.
  func isConcerned(by slots: SlotMask?, _ toMany: SlotMask?) -> Bool { dependsOnAnything || own.isConcerned(by: slots, toMany) }

  /// Whether the objects of an entity matter to other objects that may be results.
  func hasRelated(ofEntity number: Int) -> Bool { related.contains { $0.entities.contains(number) } }

  /// The to-many relationships that matter, by their numbers.
  var toManyRelationships: Set<Int> {
    var numbers: Set<Int> = []
    for relationship in model.relationships where relationship.isToMany {
      let sources = model.entities[relationship.sourceEntity].subtree
      for dependency in [own] + related
      where dependency.toMany.contains(relationship.index) && dependency.entities.overlaps(sources) { numbers.insert(relationship.id) }
    }
    return numbers
  }

  /// Whether a way ends with a relationship of many to many, or one that has no inverse, to objects of an entity: change sets do not tell from where links led to objects that
  /// were deleted.
  func hasUntoldLinks(toEntity number: Int, in model: CompiledModel) -> Bool {
    related.contains { dependency in
      guard dependency.entities.contains(number), let last = dependency.way.last else { return false }
      return last.isToMany && model.inverse(of: last)?.isToMany ?? true
    }
  }

  /// The paths from a result to the objects that matter, as texts: what is read beside results to know where they stand.
  var paths: [String] { related.map { $0.way.map(\.name).joined(separator: ".") } }

  // MARK: Making

  /// Notes what a predicate asks for.
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

  /// Notes what an expression asks for.
  mutating func add(_ expression: ResolvedExpression) {
    switch expression {
    case .constant, .groupAggregate: break
    case .path(let path):
      let way = follow(path.steps, from: scopes[path.scope])
      if case .attribute(let attribute) = path.terminal { note(way) { $0.slots.insert(attribute.slot.index) } }
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

  /// Notes what is asked of the members of a collection.
  private mutating func add(_ collection: ResolvedCollection, _ members: (inout FetchDependencies) -> Void) {
    let way = follow(collection.steps, from: scopes[collection.scope])
    let relationship = collection.relationship.relationship
    note(way) { $0.toMany.insert(relationship.index) }
    let outer = scopes
    scopes = Array(scopes.prefix(collection.memberScope))
    scopes.append(way + [relationship])
    members(&self)
    scopes = outer
    // Whether members are there matters, also where nothing of them is asked.
    note(way + [relationship]) { _ in }
  }

  /// The way along to-one relationships, each of which matters.
  private mutating func follow(_ steps: [ResolvedStep], from way: [CompiledRelationship]) -> [CompiledRelationship] {
    var way = way
    for step in steps {
      note(way) { $0.slots.insert(step.relationship.index) }
      way.append(step.relationship)
      note(way) { _ in }
    }
    return way
  }

  private mutating func note(_ way: [CompiledRelationship], _ body: (inout FetchDependency) -> Void) {
    guard let last = way.last else { return body(&own) }
    let numbers = way.map(\.id)
    if let index = related.firstIndex(where: { $0.way.map(\.id) == numbers }) { return body(&related[index]) }
    var dependency = FetchDependency(way: way, entities: model.entities[last.destinationEntity].subtree)
    body(&dependency)
    related.append(dependency)
  }
}

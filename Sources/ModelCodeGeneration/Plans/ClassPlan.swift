// ClassPlan: which class every entity has, and which properties its source declares.
import ObjectModel

/// A class of the source.
struct ClassPlan {
  /// The entity, with its numbers.
  let entity: CompiledEntity
  /// The class's name, marked as the source's own (``ShadowedNames``).
  let className: String
  /// The name of the class that is declared here, marked likewise: that of the class, or with an underscore before it of the superclass that has its properties.
  let declaredName: String
  /// The superclass's name.
  let superclassName: String
  /// Whether the class is declared here, or only extended.
  let isDeclared: Bool
  /// Whether the application declares the class itself, as a subclass of what is declared here.
  var isSplit: Bool { declaredName != className }
  /// Whether the superclass knows nothing of the model, so that the class says which one it belongs to.
  let isRoot: Bool
  /// Whether objects can have `id` for their ID: no property of the tree has the name.
  let hasFreeID: Bool
  /// The attributes and to-one relationships that the class adds to its superclass, with their identifiers; parts of composites are in ``composites``.
  let slots: [(slot: CompiledSlot, identifier: String)]
  /// The attributes that it adds whose values may lie outside their rows, with the identifiers of the properties that stream them.
  let streams: [(slot: CompiledSlot, identifier: String)]
  /// The composite attributes that it adds.
  let composites: [(composite: CompiledComposite, identifier: String)]
  /// The to-many relationships that it adds.
  let toMany: [(relationship: CompiledRelationship, identifier: String)]
  /// The fetched properties that it adds, with the names of their objects' classes.
  let fetched: [(property: FetchedPropertyDescription, identifier: String, className: String)]
  /// The struct of the class's snapshots; nil where the model wants none.
  let snapshot: SnapshotPlan?
}

/// The classes of a model's entities.
struct ClassPlans {
  /// The name of the class of objects without one of their own.
  static let baseName = "ManagedObject"
  /// Class names that stand for the base class; the second is Core Data's, which model files name.
  private static let baseNames: Set<String> = [baseName, "NSManagedObject"]

  /// Names that no generated class can have: a class hides the module of its name, and the last two are parameters of the library's generic types, which
  /// hide a class.
  private static let unusableNames: Set<String> = ["CipherData", "Foundation", "Swift", "FetchedClass", "Reach"]

  /// The classes to write, in the order of their entities' numbers.
  private(set) var plans: [ClassPlan] = []
  /// The name of each entity's class, by entity number, marked as the source's own; ``baseName`` for the library's class.
  private(set) var classNames: [String] = []
  /// The names of the source's own classes as they are.
  var ownNames: Set<String> { Set(classNames.filter { $0 != Self.baseName }.map(ShadowedNames.plain)) }
  private let isSplit: Bool

  @_optimize(none) init(_ model: CompiledModel, options: CodeGenerationOptions) throws(CodeGenerationError) {
    isSplit = options.isSplit
    for entity in model.entities {
      classNames.append(try Self.className(of: entity, options: options).map(ShadowedNames.marked) ?? Self.baseName)
    }
    var owners: [String: String] = [:]
    for entity in model.entities where entity.entityDescription.codeGeneration != .manual {
      let name = classNames[entity.number]
      if let other = owners[name] { throw .sharedClass(className: ShadowedNames.plain(name), entities: [other, entity.name]) }
      owners[name] = entity.name
    }
    for entity in model.entities where entity.entityDescription.codeGeneration != .manual { plans.append(try plan(entity, model)) }
  }

  private func declaredName(of entity: CompiledEntity) -> String {
    var name = classNames[entity.number]
    guard isSplit, entity.entityDescription.codeGeneration == .classDefinition else { return name }
    repeat { name = ShadowedNames.marked("_" + ShadowedNames.plain(name)) } while classNames.contains(name)
    return name
  }

  /// The generated properties of an entity's class, inherited ones included: their identifiers and names.
  @_optimize(none) func properties(of entity: CompiledEntity, in model: CompiledModel) -> [(identifier: String, name: String)] {
    let path = Array(sequence(first: entity.number, next: { model.entities[$0].parent })).reversed()
    return path.flatMap { number in
      guard let plan = plans.first(where: { $0.entity.number == number }) else { return [(identifier: String, name: String)]() }
      let slots = plan.slots.map { (identifier: $0.identifier, name: $0.slot.name) }
      let composites = plan.composites.map { (identifier: $0.identifier, name: $0.composite.name) }
      let id = plan.isRoot && plan.hasFreeID ? [(identifier: "id", name: "objectID")] : []
      return id + slots + composites + plan.toMany.map { (identifier: $0.identifier, name: $0.relationship.name) }
    }
  }

  /// The name of an entity's class; nil for the library's.
  @_optimize(none) private static func className(of entity: CompiledEntity, options: CodeGenerationOptions) throws(CodeGenerationError)
    -> String?
  {
    let description = entity.entityDescription
    var name = description.managedObjectClassName ?? ""
    if name.hasPrefix(".") { name.removeFirst() }
    if let module = options.moduleName, name.hasPrefix(module + ".") { name.removeFirst(module.count + 1) }
    if description.codeGeneration == .manual {
      if name.isEmpty || baseNames.contains(name) { return nil }
      guard name.split(separator: ".", omittingEmptySubsequences: false).allSatisfy({ SwiftText.isIdentifier(String($0)) }) else {
        throw .badClassName(entity: entity.name, className: name)
      }
      return name
    }
    // A class that is to be generated belongs to the module of the source, whatever module the model names.
    if let dot = name.lastIndex(of: ".") { name = String(name[name.index(after: dot)...]) }
    // Without a name of its own it takes the entity's.
    if name.isEmpty || baseNames.contains(name) { name = SwiftText.plainIdentifier(entity.name) }
    guard SwiftText.isIdentifier(name), SwiftText.escaped(name) == name, !unusableNames.contains(name) else {
      throw .badClassName(entity: entity.name, className: name)
    }
    return name
  }

  @_optimize(none) private func plan(_ entity: CompiledEntity, _ model: CompiledModel) throws(CodeGenerationError) -> ClassPlan {
    // The nearest entity above that has a class; what those between them declare has no other place than this class.
    var ancestor = entity.parent
    while let number = ancestor, classNames[number] == Self.baseName { ancestor = model.entities[number].parent }
    let superentity = ancestor.map { model.entities[$0] }
    let slots = entity.slots.dropFirst(superentity?.slots.count ?? 0).filter { !$0.isPart }
    let composites = entity.composites.dropFirst(superentity?.composites.count ?? 0).filter { !$0.isPart }
    let toMany = Array(entity.toManyRelationships.dropFirst(superentity?.toManyRelationships.count ?? 0))
    let fetched = entity.fetchedProperties.dropFirst(superentity?.fetchedProperties.count ?? 0)
    let identifiers = identifiers(of: entity, model)
    let tree = model.entities[model.entities[entity.root].subtree]
    let streams = slots.filter(\.isStreamed).map { slot in
      // A class below may have a property of the name.
      var identifier = (identifiers[slot.name] ?? slot.name) + "Stream"
      while tree.contains(where: { self.identifiers(of: $0, model).values.contains(identifier) }) { identifier += "Value" }
      return (slot, identifier)
    }
    // The class above that is generated says already which model it belongs to.
    var above = entity.parent
    var isRoot = true
    while let number = above {
      if model.entities[number].entityDescription.codeGeneration != .manual { isRoot = false }
      above = model.entities[number].parent
    }
    return ClassPlan(
      entity: entity, className: classNames[entity.number], declaredName: declaredName(of: entity),
      superclassName: superentity.map { classNames[$0.number] } ?? Self.baseName,
      isDeclared: entity.entityDescription.codeGeneration == .classDefinition, isRoot: isRoot,
      hasFreeID: !tree.contains { $0.property(named: "id") != nil }, slots: slots.map { ($0, identifiers[$0.name] ?? $0.name) },
      streams: streams, composites: composites.map { ($0, identifiers[$0.name] ?? $0.name) },
      toMany: toMany.map { ($0, identifiers[$0.name] ?? $0.name) },
      fetched: fetched.map { property in
        let destination = model.entity(named: property.destinationEntityName).map { classNames[$0.number] }
        return (property, identifiers[property.name] ?? property.name, destination ?? Self.baseName)
      },
      snapshot: try SnapshotPlan(
        entity, identifiers, tree: tree, namesInTree: Set(tree.flatMap { self.identifiers(of: $0, model).values }), ownNames)
    )
  }

  /// The identifiers of an entity's properties, inherited ones included.
  ///
  /// Names that differ only in what Swift cannot write get numbers, and so do those of the tree's classes. An inherited property has the same identifier in every
  /// class below.
  @_optimize(none) private func identifiers(of entity: CompiledEntity, _ model: CompiledModel) -> [String: String] {
    var result: [String: String] = [:]
    var taken = Set(model.entities[model.entities[entity.root].subtree].map { ShadowedNames.plain(classNames[$0.number]) })
    let path = Array(sequence(first: entity.number, next: { model.entities[$0].parent })).reversed()
    for number in path {
      let names =
        entity.slots.filter { $0.declaringEntity == number && !$0.isPart }.map(\.name)
        + entity.composites.filter { $0.declaringEntity == number && !$0.isPart }.map(\.name)
        + entity.toManyRelationships.filter { $0.sourceEntity == number }.map(\.name)
        + model.entities[number].entityDescription.fetchedProperties.map(\.name)
      result.merge(SwiftText.identifiers(of: names, &taken)) { first, _ in first }
    }
    return result
  }
}

extension CompiledSlot {
  /// Whether its values may lie outside their rows.
  var isStreamed: Bool {
    guard let attribute, attribute.allowsExternalBinaryDataStorage, !isTransient, attribute.derivationExpression == nil else {
      return false
    }
    return attribute.type == .binary || attribute.type == .transformable
  }

  /// Whether it belongs to a composite: the names of properties themselves have no dots.
  var isPart: Bool { name.contains(".") }
}

extension CompiledComposite {
  /// Whether it belongs to another composite.
  var isPart: Bool { name.contains(".") }
}

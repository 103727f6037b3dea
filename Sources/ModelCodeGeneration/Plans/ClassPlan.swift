import ObjectModel

/// The plan of a generated class.
struct ClassPlan {
  /// The entity with its compiled numbers.
  let entity: CompiledEntity
  /// The name of the class, marked as generated (``ShadowedNames``).
  let className: String
  /// The name of the declared class, also marked: that of the class, or, for split classes, its superclass's name, which begins with an
  /// underscore.
  let declaredName: String
  let superclassName: String
  /// Whether the class is declared here, or only extended.
  let isDeclared: Bool
  /// Whether the application declares the class itself, as a subclass of the generated one.
  var isSplit: Bool { declaredName != className }
  /// Whether the superclass does not depend on the model, so that the class specifies the model.
  let isRoot: Bool
  /// Whether the class can have an `id` property for object IDs, because no property of the entity tree has that name.
  let hasFreeID: Bool
  /// The attributes and to-one relationships that the class adds to its superclass, with their identifiers. Parts of composites are in
  /// ``composites``.
  let slots: [(slot: CompiledSlot, identifier: String)]
  /// The added attributes whose values can be stored externally, with the identifiers of the properties that stream them.
  let streams: [(slot: CompiledSlot, identifier: String)]
  /// The added composite attributes.
  let composites: [(composite: CompiledComposite, identifier: String)]
  /// The added to-many relationships.
  let toMany: [(relationship: CompiledRelationship, identifier: String)]
  /// The added fetched properties, with the class names of their objects.
  let fetched: [(property: FetchedPropertyDescription, identifier: String, className: String)]
  /// The struct of the class's snapshots; `nil` if the model disables it.
  let snapshot: SnapshotPlan?
}

/// The plans of a model's classes.
struct ClassPlans {
  /// The class of entities without a class of their own.
  static let baseName = "ManagedObject"
  /// Class names that mean the base class. Model files use the second one, that of Core Data.
  private static let baseNames: Set<String> = [baseName, "NSManagedObject"]

  /// Names that no generated class can have: a class shadows the module of its name, and the last two are generic parameters of the
  /// library, which shadow a class.
  private static let unusableNames: Set<String> = ["CipherData", "Foundation", "Swift", "FetchedClass", "Reach"]

  /// The classes to generate, in the order of entity numbers.
  private(set) var plans: [ClassPlan] = []
  /// The class name of each entity by number, marked as generated; ``baseName`` for the library's class.
  private(set) var classNames: [String] = []
  /// The names of the generated classes, without marks.
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

  /// Returns the identifiers and names of the generated properties of an entity's class, including inherited ones.
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

  /// Returns the name of an entity's class; `nil` for the library's.
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
    // A generated class belongs to the module of the source, regardless of the module in the model.
    if let dot = name.lastIndex(of: ".") { name = String(name[name.index(after: dot)...]) }
    // The default is the name of the entity.
    if name.isEmpty || baseNames.contains(name) { name = SwiftText.plainIdentifier(entity.name) }
    guard SwiftText.isIdentifier(name), SwiftText.escaped(name) == name, !unusableNames.contains(name) else {
      throw .badClassName(entity: entity.name, className: name)
    }
    return name
  }

  @_optimize(none) private func plan(_ entity: CompiledEntity, _ model: CompiledModel) throws(CodeGenerationError) -> ClassPlan {
    // The nearest superentity with a class. Properties of entities in between are declared in this class.
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
      // A subclass can have a property of the same name.
      var identifier = (identifiers[slot.name] ?? slot.name) + "Stream"
      while tree.contains(where: { self.identifiers(of: $0, model).values.contains(identifier) }) { identifier += "Value" }
      return (slot, identifier)
    }
    // A generated superclass already specifies the model.
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

  /// Returns the identifiers of an entity's properties, including inherited ones.
  ///
  /// Names that differ only in characters that are invalid in Swift get numeric suffixes, and so do duplicates in the class tree. An
  /// inherited property has the same identifier in every subclass.
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
  /// Whether values can be stored externally.
  var isStreamed: Bool {
    guard let attribute, attribute.allowsExternalBinaryDataStorage, !isTransient, attribute.derivationExpression == nil else {
      return false
    }
    return attribute.type.traits.canBeLarge
  }

  /// Whether the slot belongs to a composite: property names do not contain dots.
  var isPart: Bool { name.contains(".") }
}

extension CompiledComposite {
  /// Whether the composite is part of another one.
  var isPart: Bool { name.contains(".") }
}

/// The struct of a class's snapshots. It repeats the properties of superentities, because structs do not inherit.
struct SnapshotPlan {
  /// The user info key of an entity for the name of the struct, or `NO` for none.
  static let nameKey = "swiftSnapshot"
  /// Names of the struct's own members.
  private static let reserved: Set<String> = ["storage"]

  /// The name of the struct, which is nested in the class.
  let typeName: String
  /// The name of the function that returns a snapshot.
  let functionName: String
  /// The stored attributes and to-one relationships, with their identifiers.
  let slots: [(slot: CompiledSlot, identifier: String)]
  /// The attributes whose values can be stored externally, with the identifiers of the properties that stream them.
  let streams: [(slot: CompiledSlot, identifier: String)]
  let composites: [(composite: CompiledComposite, identifier: String)]
  let toMany: [(relationship: CompiledRelationship, identifier: String)]

  /// Creates the plan of an entity; `nil` if its user info disables snapshots.
  ///
  /// - Parameters:
  ///   - entity: The entity.
  ///   - identifiers: The identifiers of its properties by name.
  ///   - tree: The entities of its tree, because subclasses inherit the name of the struct.
  ///   - namesInTree: The identifiers of all their properties.
  ///   - classNames: The names of the model's classes.
  @_optimize(none) init?(
    _ entity: CompiledEntity, _ identifiers: [String: String], tree: ArraySlice<CompiledEntity>, namesInTree: Set<String>,
    _ classNames: Set<String>
  )
    throws(CodeGenerationError)
  {
    let note = entity.entityDescription.userInfo[Self.nameKey]
    if note == "NO" { return nil }
    // A struct of that name would shadow a class or a type that the model names.
    var taken = classNames
    for attribute in tree.lazy.flatMap(\.slots).compactMap(\.attribute) {
      for text in [attribute.valueClassName, attribute.userInfo[AttributeForms.typeKey]].compactMap({ $0 }) {
        taken.formUnion(text.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init))
      }
    }
    taken.formUnion(
      tree.lazy.flatMap(\.composites).compactMap(\.attribute.compositeName).map { SwiftText.capitalized(SwiftText.plainIdentifier($0)) })
    if let note {
      guard SwiftText.isIdentifier(note), SwiftText.escaped(note) == note, !taken.contains(note), !["Type", "Protocol"].contains(note)
      else {
        throw .badSnapshotName(entity: entity.name, name: note)
      }
      typeName = note
    } else {
      typeName = Self.free("Snapshot", taken)
    }
    // A property of a subentity can have the name.
    functionName = Self.free("snapshot", namesInTree)
    func identifier(_ name: String) -> String { Self.free(identifiers[name] ?? name, Self.reserved) }
    slots = entity.slots.filter { $0.kind != .none && !$0.isPart }.map { ($0, identifier($0.name)) }
    composites = entity.composites.filter { !$0.isPart }.map { ($0, identifier($0.name)) }
    toMany = entity.toManyRelationships.filter { !$0.isTransient }.map { ($0, identifier($0.name)) }
    streams = slots.filter { $0.slot.isStreamed }.map { ($0.slot, Self.free($0.identifier + "Stream", namesInTree)) }
  }

  private static func free(_ name: String, _ taken: Set<String>) -> String {
    var name = name
    while taken.contains(name) { name += "Value" }
    return name
  }
}

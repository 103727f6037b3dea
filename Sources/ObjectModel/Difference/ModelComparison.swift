/// A comparison of two versions of a model, which collects the changes.
struct ModelComparison {
  let source: CompiledModel
  let destination: CompiledModel
  let matches: ModelMatches
  private(set) var changes: [ModelChange] = []

  init(from source: CompiledModel, to destination: CompiledModel) {
    self.source = source
    self.destination = destination
    matches = ModelMatches(source, destination)
  }

  @_optimize(none) mutating func run() {
    for entity in destination.entities {
      if let number = matches.sources[entity.number] {
        compare(source.entities[number], entity)
      } else {
        record(entity.name, nil, entity.isAbstract ? "added, abstract" : "added", .inferred)
      }
    }
    for entity in source.entities where matches.destinations[entity.number] == nil {
      record(entity.name, nil, entity.isAbstract ? "removed" : "removed with its objects", .inferred, dropsValues: !entity.isAbstract)
    }
    compareRest()
  }

  mutating func record(
    _ entity: String?, _ name: String?, _ change: String, _ effect: ModelChange.Effect = .none, dropsValues: Bool = false
  ) {
    changes.append(ModelChange(entity, name, change, effect, dropsValues: dropsValues))
  }

  // MARK: Entities

  @_optimize(none) private mutating func compare(_ older: CompiledEntity, _ newer: CompiledEntity) {
    if older.name != newer.name { record(newer.name, nil, "renamed from \(older.name)", .inferred) }
    compareHierarchy(older, newer)
    if older.isAbstract != newer.isAbstract {
      if newer.isAbstract {
        record(newer.name, nil, "made abstract", .conditional(condition: "the store has no objects of the entity itself"))
      } else {
        record(newer.name, nil, "no longer abstract", .inferred)
      }
    }
    compareProperties(older, newer)
    compareIndexes(older.entityDescription, newer.entityDescription)
    compareFetchedProperties(older.entityDescription, newer.entityDescription)
    compareClasses(older.entityDescription, newer.entityDescription)
    if older.entityDescription.versionHashModifier != newer.entityDescription.versionHashModifier {
      record(newer.name, nil, "the version hash modifier changed", .inferred)
    }
  }

  @_optimize(none) private mutating func compareHierarchy(_ older: CompiledEntity, _ newer: CompiledEntity) {
    let parent = newer.parent.map { destination.entities[$0] }
    let olderParent = older.parent.map { source.entities[$0] }
    guard parent?.number != olderParent.flatMap({ matches.destinations[$0.number] }) || (parent == nil) != (olderParent == nil) else {
      return
    }
    let change =
      switch (olderParent?.name, parent?.name) {
      case (nil, let new?): "given the superentity \(new)"
      case (let old?, nil): "no longer a subentity of \(old)"
      case (let old, let new): "moved from the superentity \(old ?? "") to \(new ?? "")"
      }
    // Objects of a tree share one range of keys, so merging trees would require new keys.
    let roots = Set(
      destination.entities[destination.entities[newer.root].subtree].compactMap { entity in
        matches.sources[entity.number].map { source.entities[$0].root }
      })
    if roots.count > 1 {
      let names = roots.map { source.entities[$0].name }.sorted().joined(separator: ", ")
      record(
        newer.name, nil, change,
        .notInferred(
          reason: "\(names) were separate trees of entities, whose objects may have the same keys",
          advice: "Copy the objects in a custom migration stage."))
    } else {
      record(newer.name, nil, change, .inferred)
    }
  }

  // MARK: Parts without effect on rows

  private mutating func compareClasses(_ older: EntityDescription, _ newer: EntityDescription) {
    if older.managedObjectClassName != newer.managedObjectClassName {
      let names = [older, newer].map { $0.managedObjectClassName ?? "ManagedObject" }
      record(newer.name, nil, "class changed from \(names[0]) to \(names[1])")
    }
    if older.coreSpotlightDisplayNameExpression != newer.coreSpotlightDisplayNameExpression {
      record(newer.name, nil, "the name that system search shows changed")
    }
  }

  @_optimize(none) private mutating func compareIndexes(_ older: EntityDescription, _ newer: EntityDescription) {
    let (olderIndexes, newerIndexes) = (older.effectiveIndexes, newer.effectiveIndexes)
    let before = Dictionary(olderIndexes.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    let after = Dictionary(newerIndexes.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    for index in newerIndexes {
      guard let known = before[index.name] else {
        record(newer.name, index.name, "index added", .inferred)
        continue
      }
      if known.withoutPreserved != index.withoutPreserved { record(newer.name, index.name, "index changed", .inferred) }
    }
    for index in olderIndexes where after[index.name] == nil { record(newer.name, index.name, "index removed", .inferred) }
    let constraintsBefore = Set(older.uniquenessConstraints.map { $0.sorted() })
    let constraintsAfter = Set(newer.uniquenessConstraints.map { $0.sorted() })
    for constraint in newer.uniquenessConstraints where !constraintsBefore.contains(constraint.sorted()) {
      record(
        newer.name, nil, "uniqueness constraint over \(constraint.joined(separator: ", ")) added",
        .conditional(condition: "no two stored objects have the same values"))
    }
    for constraint in older.uniquenessConstraints where !constraintsAfter.contains(constraint.sorted()) {
      record(newer.name, nil, "uniqueness constraint over \(constraint.joined(separator: ", ")) removed", .inferred)
    }
  }

  @_optimize(none) private mutating func compareFetchedProperties(_ older: EntityDescription, _ newer: EntityDescription) {
    let before = Dictionary(older.fetchedProperties.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    for property in newer.fetchedProperties {
      guard let known = before[property.name] else {
        record(newer.name, property.name, "fetched property added")
        continue
      }
      if (known.destinationEntityName, known.predicateFormat) != (property.destinationEntityName, property.predicateFormat) {
        record(newer.name, property.name, "fetched property changed")
      }
    }
    let after = Set(newer.fetchedProperties.map(\.name))
    for property in older.fetchedProperties where !after.contains(property.name) {
      record(newer.name, property.name, "fetched property removed")
    }
  }

  @_optimize(none) private mutating func compareRest() {
    let (older, newer) = (source.model, destination.model)
    @_optimize(none) func list<Item>(
      _ before: [Item], _ after: [Item], _ kind: String, _ name: (Item) -> String, _ isEqual: (Item, Item) -> Bool
    )
      -> [String]
    {
      let known = Dictionary(before.map { (name($0), $0) }, uniquingKeysWith: { first, _ in first })
      let names = Set(after.map(name))
      return after.compactMap { item in
        guard let old = known[name(item)] else { return "\(kind) \(name(item)) added" }
        return isEqual(old, item) ? nil : "\(kind) \(name(item)) changed"
      } + before.filter { !names.contains(name($0)) }.map { "\(kind) \(name($0)) removed" }
    }
    let configurations = list(older.configurations, newer.configurations, "configuration", \.name) {
      Set($0.entityNames) == Set($1.entityNames)
    }
    let templates = list(older.fetchRequestTemplates, newer.fetchRequestTemplates, "fetch request template", \.name) {
      $0.withoutPreserved == $1.withoutPreserved
    }
    for change in configurations + templates { record(nil, nil, change) }
    if older.versionIdentifiers != newer.versionIdentifiers {
      let names = [older, newer].map { $0.versionIdentifiers.sorted().joined(separator: ", ") }
      record(nil, nil, "version identifiers changed from “\(names[0])” to “\(names[1])”")
    }
  }
}

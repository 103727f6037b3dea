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
    let rules = [older, newer].map { $0.entityDescription.syncDeletionRule?.rawValue ?? "the default" }
    if rules[0] != rules[1] { record(newer.name, nil, "synchronization merges deletions by \(rules[1]) instead of \(rules[0])", .inferred) }
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

// MARK: - Comparing properties

extension ModelComparison {
  @_optimize(none) mutating func compareProperties(_ older: CompiledEntity, _ newer: CompiledEntity) {
    let before = ComparedProperty.all(of: older)
    let after = ComparedProperty.all(of: newer)
    let positions = Dictionary(before.indices.map { (before[$0].name, $0) }, uniquingKeysWith: { first, _ in first })
    let known = matches.olderNames[newer.number].compactMapValues { positions[$0] }
    // Properties of former subentities that were moved up.
    let below = source.entities[older.subtree].dropFirst().flatMap(ComparedProperty.all)
    for property in after where property.declaringEntity == newer.number {
      if let index = known[property.name] {
        compare(before[index], property, in: newer)
      } else if let index = ComparedProperty.sources(of: [property], in: below)[property.name] {
        record(newer.name, property.name, "moved up from \(source.entities[below[index].declaringEntity].name)", .inferred)
        requireValue(of: property, in: newer)
      } else {
        record(newer.name, property.name, "added: \(Self.words(for: property, in: destination))", effectOfNew(property))
      }
    }
    // A property is removed if neither the entity nor one of its subentities has it anymore.
    var kept = Set(known.values.map { before[$0].name })
    for number in newer.subtree.dropFirst() {
      kept.formUnion(matches.olderNames[number].values)
    }
    for property in before where property.declaringEntity == older.number && !kept.contains(property.name) {
      // Links persist if the inverse does.
      let inverse = property.relationship.flatMap(source.inverse(of:))
      let isKept = inverse.map { $0.id != property.relationship?.id && matches.keptRelationships.contains($0.id) } ?? false
      record(
        newer.name, property.name, property.attribute == nil ? "relationship removed" : "attribute removed with its values", .inferred,
        dropsValues: !isKept)
    }
  }

  @_optimize(none) private mutating func compare(_ older: ComparedProperty, _ newer: ComparedProperty, in entity: CompiledEntity) {
    if older.name != newer.name { record(entity.name, newer.name, "renamed from \(older.name)", .inferred) }
    if matches.destinations[older.declaringEntity] != newer.declaringEntity {
      record(entity.name, newer.name, "moved from \(source.entities[older.declaringEntity].name)", .inferred)
    }
    switch (older.attribute, newer.attribute, older.relationship, newer.relationship) {
    case (let old?, let new?, _, _): compare(old, new, newer.name, in: entity)
    case (_, _, let old?, let new?): compare(old, new, newer.name, in: entity)
    default:
      record(
        entity.name, newer.name, older.attribute == nil ? "made an attribute, was a relationship" : "made a relationship, was an attribute",
        .notInferred(reason: "values are not objects", advice: "Set the property in a custom migration stage."))
    }
  }

  // MARK: Attributes

  @_optimize(none) private mutating func compare(
    _ older: AttributeDescription, _ newer: AttributeDescription, _ name: String, in entity: CompiledEntity
  ) {
    func record(_ change: String, _ effect: ModelChange.Effect = .none) { self.record(entity.name, name, change, effect) }
    if older.isTransient != newer.isTransient {
      record(newer.isTransient ? "made transient: its values are dropped" : "no longer transient", .inferred)
    }
    if older.type != newer.type {
      let change = "type changed from \(older.type.rawValue) to \(newer.type.rawValue)"
      if older.isTransient || newer.isTransient || newer.derivationExpression != nil {
        record(change, .inferred)
      } else if let typeChange = older.type.change(to: newer.type) {
        record(change, typeChange.condition.map { .conditional(condition: $0) } ?? .inferred)
      } else {
        record(
          change,
          .notInferred(
            reason: "values would have to be converted",
            advice: "Give the new attribute another name and fill it in a custom migration stage."))
      }
    }
    if older.isOptional != newer.isOptional {
      if newer.isOptional {
        record("made optional", .inferred)
      } else if newer.defaultValue.isNull {
        record(
          "made required",
          .notInferred(reason: "stored objects may have no value", advice: "Give the attribute a default value for them."))
      } else {
        record("made required; objects without a value take the default value", .inferred)
      }
    }
    if older.defaultValue != newer.defaultValue { record("default value changed") }
    if older.validation != newer.validation { record("bounds changed; stored values are checked when they are next saved") }
    if older.derivationExpression != newer.derivationExpression {
      record(
        newer.derivationExpression == nil ? "no longer derived; its values stay" : "derivation changed: the values are recomputed",
        .inferred)
    } else if newer.derivationExpression != nil, older.derivationFilter != newer.derivationFilter {
      record("filter of the derivation changed: the values are recomputed", .inferred)
    }
    if older.allowsExternalBinaryDataStorage != newer.allowsExternalBinaryDataStorage {
      record(newer.allowsExternalBinaryDataStorage ? "large values may be kept in files" : "values are kept in the store", .inferred)
    }
    compareMarks(older, newer, name, in: entity)
    if older.versionHashModifier != newer.versionHashModifier { record("the version hash modifier changed", .inferred) }
  }

  /// Compares settings of an attribute that do not affect stored values.
  @_optimize(none) private mutating func compareMarks(
    _ older: AttributeDescription, _ newer: AttributeDescription, _ name: String, in entity: CompiledEntity
  ) {
    func record(_ change: String) { self.record(entity.name, name, change) }
    if older.preservesValueInHistoryOnDeletion != newer.preservesValueInHistoryOnDeletion {
      record(newer.preservesValueInHistoryOnDeletion ? "kept in the history of deletions" : "no longer kept in the history of deletions")
    }
    if older.isIndexedBySpotlight != newer.isIndexedBySpotlight {
      record(newer.isIndexedBySpotlight ? "marked for system search" : "no longer marked for system search")
    }
    if older.allowsCloudEncryption != newer.allowsCloudEncryption {
      record(newer.allowsCloudEncryption ? "sealed when it is mirrored" : "no longer sealed when it is mirrored")
    }
    if older.syncMergeRule != newer.syncMergeRule {
      record("synchronization merges by the rule \(newer.syncMergeRule.rawValue) instead of \(older.syncMergeRule.rawValue)")
    }
    let transformers = [older, newer].map { $0.valueTransformerName.flatMap { $0.isEmpty ? nil : $0 } ?? "the default one" }
    if transformers[0] != transformers[1] {
      record(
        "value transformer changed from \(transformers[0]) to \(transformers[1]); the bytes stay as they are, and the new one reads them")
    }
    if older.valueClassName != newer.valueClassName {
      record("Swift type changed from \(older.valueClassName ?? "none") to \(newer.valueClassName ?? "none")")
    }
  }

  @_optimize(none) private func effectOfNew(_ property: ComparedProperty) -> ModelChange.Effect {
    if let attribute = property.attribute {
      guard !attribute.isOptional, !attribute.isTransient, attribute.defaultValue.isNull, attribute.derivationExpression == nil else {
        return .inferred
      }
      return .notInferred(reason: "stored objects have no value for it", advice: "Make the attribute optional, or give it a default value.")
    }
    guard let relationship = property.relationship, !relationship.isOptional, !relationship.isTransient,
      !relationship.isToMany || relationship.relationshipDescription.minCount > 0
    else { return .inferred }
    return .conditional(condition: "no object is saved again before the required relationship is set")
  }

  /// Records that objects of an entity lack a required attribute that only some of its subentities had.
  private mutating func requireValue(of property: ComparedProperty, in entity: CompiledEntity) {
    guard let attribute = property.attribute, !attribute.isOptional, !attribute.isTransient, attribute.defaultValue.isNull else { return }
    record(
      entity.name, property.name, "required of all objects of the entity",
      .notInferred(reason: "stored objects may have no value", advice: "Make the attribute optional, or give it a default value."))
  }

  // MARK: Relationships

  @_optimize(none) private mutating func compare(
    _ older: CompiledRelationship, _ newer: CompiledRelationship, _ name: String, in entity: CompiledEntity
  ) {
    func record(_ change: String, _ effect: ModelChange.Effect = .none) { self.record(entity.name, name, change, effect) }
    let (old, new) = (older.relationshipDescription, newer.relationshipDescription)
    if older.isTransient != newer.isTransient {
      record(newer.isTransient ? "made transient: its links are dropped" : "no longer transient", .inferred)
    }
    compareDestination(older, newer, name, in: entity)
    if older.isToMany != newer.isToMany {
      if newer.isToMany {
        record("made to-many", .inferred)
      } else {
        record("made to-one", .conditional(condition: "no object has more than one"))
      }
    } else if older.isOrdered != newer.isOrdered {
      record(newer.isOrdered ? "made ordered, in the order of the objects' keys" : "no longer ordered", .inferred)
    }
    if older.isOptional != newer.isOptional {
      record(newer.isOptional ? "made optional" : "made required; checked when objects are next saved")
    }
    if (old.minCount, old.maxCount) != (new.minCount, new.maxCount), older.isToMany == newer.isToMany {
      record("least or greatest count changed; checked when objects are next saved")
    }
    if old.deleteRule != new.deleteRule { record("delete rule changed from \(old.deleteRule.rawValue) to \(new.deleteRule.rawValue)") }
    compareInverse(older, newer, name, in: entity)
    if old.versionHashModifier != new.versionHashModifier { record("the version hash modifier changed", .inferred) }
  }

  @_optimize(none) private mutating func compareDestination(
    _ older: CompiledRelationship, _ newer: CompiledRelationship, _ name: String, in entity: CompiledEntity
  ) {
    let target = destination.entities[newer.destinationEntity]
    let before = source.entities[older.destinationEntity]
    let isSame = matches.destinations[older.destinationEntity] == target.number
    let change = isSame ? "no longer leads to all that it did" : "destination changed from \(before.name) to \(target.name)"
    // All possible destinations of the source relationship must be valid for the new one.
    let lost = matches.lostDestinations(of: older, as: newer, source, destination)
    if lost.isEmpty {
      if !isSame { record(entity.name, name, change, .inferred) }
    } else {
      record(
        entity.name, name, change,
        .notInferred(
          reason: "stored references lead to \(lost.map(\.name).joined(separator: ", "))",
          advice: "Give the new relationship another name and set it in a custom migration stage."))
    }
  }

  @_optimize(none) private mutating func compareInverse(
    _ older: CompiledRelationship, _ newer: CompiledRelationship, _ name: String, in entity: CompiledEntity
  ) {
    let (before, after) = (source.inverse(of: older), destination.inverse(of: newer))
    guard let new = after else {
      if let before { record(entity.name, name, "no longer the inverse of \(before.name)", .inferred) }
      return
    }
    // If the new inverse was another relationship, the links of both are combined.
    let known = matches.source(of: new, source)
    guard before == nil || known?.id != before?.id else { return }
    let hasOthers = known.map { $0.id != older.id } ?? false
    var change = before.map { "inverse changed from \($0.name) to \(new.name)" } ?? "given the inverse \(new.name)"
    if hasOthers, !(newer.isToMany && new.isToMany) {
      record(entity.name, name, change, .conditional(condition: "the links of both agree"))
    } else if !hasOthers, !new.isToMany, before?.isToMany ?? true {
      let owner = destination.entities[new.sourceEntity].name
      record(entity.name, name, change, .conditional(condition: "no object of \(owner) has more than one \(new.name)"))
    } else {
      if before != nil { change += hasOthers ? "; the links of both are kept" : ", which takes over the links" }
      record(entity.name, name, change, .inferred)
    }
  }

  private static func words(for property: ComparedProperty, in model: CompiledModel) -> String {
    if let attribute = property.attribute {
      let need = attribute.isOptional ? "optional" : attribute.defaultValue.isNull ? "required" : "required, with a default value"
      return "\(attribute.type.rawValue), \(need)"
    }
    guard let relationship = property.relationship else { return "" }
    let target = model.entities[relationship.destinationEntity].name
    return relationship.isToMany ? "to many \(target)" : "to one \(target)"
  }
}

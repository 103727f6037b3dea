/// Finds parts of valid models that are probably mistakes.
public enum ModelLint {
  /// Returns the findings, in model order, each with advice. Issues that ``ManagedObjectModel/validationIssues()`` reports are not
  /// repeated.
  public static func findings(in model: ManagedObjectModel) -> [ModelIssue] { findings(in: model, includesFile: true) }

  /// Returns the findings. If `includesFile` is false, omits those that ``ModelFileLint`` reports for the model's file.
  @_optimize(none) static func findings(in model: ManagedObjectModel, includesFile: Bool) -> [ModelIssue] {
    var findings = names(in: model)
    let byName = model.entitiesByName
    for entity in model.entities {
      func report(_ name: String?, _ reason: String) {
        findings.append(ModelIssue(entityName: entity.name, propertyName: name, reason: reason))
      }
      for relationship in entity.relationships where !relationship.isTransient {
        guard let inverseName = relationship.inverseName else {
          if includesFile {
            report(relationship.name, "the relationship has no inverse, so the other side is not updated; declare one")
          }
          continue
        }
        guard let inverse = Self.relationship(inverseName, of: relationship.destinationEntityName, byName) else { continue }
        if relationship.deleteRule.effect == .removesReferences, !inverse.isOptional, !inverse.isToMany {
          report(
            relationship.name,
            "deleting an object leaves '\(relationship.destinationEntityName).\(inverseName)', which is required, empty, so the deletion cannot be "
              + "saved; use Cascade or Deny, or make the inverse optional")
        }
        if !relationship.deleteRule.effect.leavesNoReferences {
          report(relationship.name, "the delete rule \(relationship.deleteRule.rawValue) leaves references to deleted objects; use Nullify")
        }
        if relationship.deleteRule.effect == .deletesMembers, inverse.deleteRule.effect == .deletesMembers, relationship.isToMany,
          inverse.isToMany
        {
          report(relationship.name, "both sides cascade, so deleting one object deletes all connected objects; use Nullify on one side")
        }
      }
      findings += attributes(of: entity)
      for index in entity.indexes {
        if index.elements.contains(where: { $0.kind == .rtree }) {
          report(index.name, "R-tree indexes are kept in the model but not created in stores")
        }
        if let constraint = entity.uniquenessConstraints.first(where: { isCovered(index, by: $0) }) {
          report(
            index.name,
            "the uniqueness constraint (\(constraint.joined(separator: ", "))) has an index that starts with the same properties; remove this index"
          )
        }
        if let other = entity.indexes.first(where: { isCovered(index, by: $0) }) {
          report(index.name, "the index '\(other.name)' starts with the same properties; remove this index")
        }
      }
      for attribute in entity.attributes where attribute.type == .transformable && attribute.valueClassName == nil {
        report(attribute.name, "a transformable attribute without a class has no type in generated classes; specify its Swift type")
      }
    }
    findings += cascades(in: model) + configurations(in: model)
    let used = Set((model.entities.flatMap(\.attributes) + model.composites.flatMap(\.elements)).compactMap(\.compositeName))
    for composite in model.composites where !used.contains(composite.name) {
      findings.append(ModelIssue(propertyName: composite.name, reason: "no attribute uses the composite; remove it"))
    }
    return findings
  }

  /// Returns whether the index of a constraint begins with the same properties as an index.
  private static func isCovered(_ index: FetchIndexDescription, by constraint: [String]) -> Bool {
    guard index.partialIndexPredicate == nil else { return false }
    let plain = index.elements.map { $0.kind == .binary && $0.collation == .binary && $0.isAscending ? $0.propertyName : nil }
    return !plain.isEmpty && plain.count <= constraint.count && plain.elementsEqual(constraint.prefix(plain.count).map(Optional.some))
  }

  @_optimize(none) private static func relationship(
    _ name: String, of entityName: String, _ entities: [String: EntityDescription]
  ) -> RelationshipDescription? {
    var next: String? = entityName
    var visited: Set<String> = []
    while let entity = next.flatMap({ entities[$0] }), visited.insert(entity.name).inserted {
      if let found = entity.relationships.first(where: { $0.name == name }) { return found }
      next = entity.superentityName
    }
    return nil
  }

  /// Returns whether another index makes an index redundant. Of two equal indexes, the one with the later name is redundant.
  private static func isCovered(_ index: FetchIndexDescription, by other: FetchIndexDescription) -> Bool {
    guard index.name != other.name, index.partialIndexPredicate == nil, other.partialIndexPredicate == nil else { return false }
    let elements = index.elements.map(\.withoutPreserved)
    let others = other.elements.map(\.withoutPreserved)
    return others.count == elements.count ? others == elements && other.name < index.name : others.starts(with: elements)
  }
}

// MARK: - Checks of names and structure

extension ModelLint {
  /// Returns entities and properties whose names differ only in case, and classes that are used by several entities or shadow a Swift type.
  @_optimize(none) static func names(in model: ManagedObjectModel) -> [ModelIssue] {
    var findings: [ModelIssue] = []
    let byName = model.entitiesByName
    var entities: [String: String] = [:]
    var classes: [String: String] = [:]
    for entity in model.entities {
      if let other = entities[entity.name.lowercased()], other != entity.name {
        findings.append(
          ModelIssue(
            entityName: entity.name, reason: "the name differs from that of '\(other)' only in case; choose another name"))
      }
      entities[entity.name.lowercased()] = entity.name
      if let name = ownClassName(of: entity) {
        if let other = classes[name] {
          findings.append(
            ModelIssue(
              entityName: entity.name,
              reason: "'\(other)' also has the class '\(name)', so the class does not determine its entity; use one class per entity"))
        }
        classes[name] = entity.name
        if entity.codeGeneration == .classDefinition, swiftTypes.contains(name) {
          findings.append(ModelIssue(entityName: entity.name, reason: "the class '\(name)' hides Swift's type; choose another name"))
        }
      }
      findings += names(of: entity, byName)
    }
    return findings
  }

  @_optimize(none) private static func names(of entity: EntityDescription, _ entities: [String: EntityDescription]) -> [ModelIssue] {
    var findings: [ModelIssue] = []
    var seen: [String: String] = [:]
    for ancestor in lineage(of: entity, entities).reversed() {
      for property in ancestor.properties {
        if ancestor.name == entity.name, let other = seen[property.name.lowercased()], other != property.name {
          findings.append(
            ModelIssue(
              entityName: entity.name, propertyName: property.name,
              reason: "the name differs from that of '\(other)' only in case; choose another name"))
        }
        seen[property.name.lowercased()] = property.name
      }
    }
    return findings
  }

  /// Types of Swift and Foundation that applications commonly use.
  private static let swiftTypes: Set<String> = [
    "Array", "Character", "Collection", "Data", "Date", "Decimal", "Dictionary", "Double", "Error", "Float", "Int", "Notification",
    "Operation", "Result",
    "Sequence", "Set", "String", "Task", "Thread", "URL", "UUID",
  ]

  /// Returns the class name that an entity specifies, without its module.
  private static func ownClassName(of entity: EntityDescription) -> String? {
    guard let name = entity.managedObjectClassName?.split(separator: ".").last.map(String.init), name != "ManagedObject",
      name != "NSManagedObject"
    else { return nil }
    return name
  }

  /// Returns an entity and its superentities, nearest first.
  static func lineage(of entity: EntityDescription, _ entities: [String: EntityDescription]) -> [EntityDescription] {
    var result = [entity]
    var visited: Set<String> = [entity.name]
    while let next = result.last?.superentityName.flatMap({ entities[$0] }), visited.insert(next.name).inserted { result.append(next) }
    return result
  }

  // MARK: Attributes

  /// Returns attribute settings without effect, or with an unexpected one.
  @_optimize(none) static func attributes(of entity: EntityDescription) -> [ModelIssue] {
    entity.attributes.flatMap { attribute in
      var reasons: [String] = []
      if attribute.isOptional, attribute.usesScalarValueType, attribute.defaultValue.isNull, attribute.type.traits.number != nil,
        attribute.type.traits.coreData.hasScalar,
        attribute.derivationExpression == nil, attribute.valueClassName == nil
      {
        reasons.append(
          "the attribute is optional, has no default value and is a scalar: Core Data's classes return 0 where CipherData's return nil; set a default value, or "
            + "disable Use Scalar Type")
      }
      if attribute.type == .date, !attribute.defaultValue.isNull {
        reasons.append("the default value is a fixed date, not the time at which an object is created; set that in awakeFromInsert()")
      }
      if attribute.allowsExternalBinaryDataStorage, !attribute.type.traits.canBeLarge {
        reasons.append("only Binary and Transformable attributes can have external storage; disable the option")
      }
      if ["NSKeyedUnarchiveFromData", "NSKeyedUnarchiveFromDataTransformerName"].contains(attribute.valueTransformerName) {
        reasons.append("the transformer creates objects of any class that the data names; remove it to store the value as JSON")
      }
      if attribute.isIndexed, !attribute.type.isComparable || attribute.isTransient {
        reasons.append("attributes of this kind cannot be indexed; disable the option")
      }
      if attribute.userInfo["swiftUnknownCase"] != nil, attribute.userInfo["swiftType"] == nil, attribute.valueClassName == nil {
        reasons.append("the user info key swiftUnknownCase has no effect without a Swift type; add the key swiftType")
      }
      return reasons.map { ModelIssue(entityName: entity.name, propertyName: attribute.name, reason: $0) }
    }
  }

  // MARK: Relationships

  /// Returns cycles of cascading delete rules through several entities.
  @_optimize(none) static func cascades(in model: ManagedObjectModel) -> [ModelIssue] {
    var edges: [String: [(name: String, destination: String)]] = [:]
    for entity in model.entities {
      for relationship in entity.relationships
      where relationship.deleteRule.effect == .deletesMembers && relationship.destinationEntityName != entity.name
        && !relationship.isTransient
      {
        edges[entity.name, default: []].append((relationship.name, relationship.destinationEntityName))
      }
    }
    // Cycles of two inverse relationships are reported with the relationship.
    var findings: [ModelIssue] = []
    var done: Set<String> = []
    for entity in model.entities where edges[entity.name] != nil {
      guard let cycle = cycle(from: entity.name, edges, done), cycle.count > 2 else {
        done.insert(entity.name)
        continue
      }
      done.formUnion(cycle.map(\.entity))
      let path = cycle.map { "\($0.entity).\($0.relationship)" }.joined(separator: ", ")
      findings.append(
        ModelIssue(
          entityName: entity.name, propertyName: cycle[0].relationship,
          reason:
            "the cascade rules form a cycle (\(path)), so deleting one object deletes all connected objects; use Nullify for one of them"))
    }
    return findings
  }

  /// Returns the shortest cycle that begins at an entity, without the entities in `done`.
  @_optimize(none) private static func cycle(
    from start: String, _ edges: [String: [(name: String, destination: String)]], _ done: Set<String>
  ) -> [(entity: String, relationship: String)]? {
    var paths: [(end: String, steps: [(entity: String, relationship: String)])] = [(start, [])]
    var visited: Set<String> = done
    while !paths.isEmpty {
      var longer: [(end: String, steps: [(entity: String, relationship: String)])] = []
      for path in paths {
        for edge in edges[path.end] ?? [] {
          let steps = path.steps + [(path.end, edge.name)]
          if edge.destination == start { return steps }
          if visited.insert(edge.destination).inserted { longer.append((edge.destination, steps)) }
        }
      }
      paths = longer
    }
    return nil
  }

  /// Returns relationships whose source and destination share no configuration, so that no store could hold both.
  @_optimize(none) static func configurations(in model: ManagedObjectModel) -> [ModelIssue] {
    var homes: [String: Set<String>] = [:]
    for configuration in model.configurations {
      for name in configuration.entityNames { homes[name, default: []].insert(configuration.name) }
    }
    return model.entities.flatMap { entity in
      entity.relationships.compactMap { relationship in
        guard let source = homes[entity.name], let destination = homes[relationship.destinationEntityName],
          source.isDisjoint(with: destination)
        else { return nil }
        return ModelIssue(
          entityName: entity.name, propertyName: relationship.name,
          reason:
            "no configuration has both '\(entity.name)' and '\(relationship.destinationEntityName)', and objects in different stores cannot refer to each "
            + "other; put both into one configuration, or use a fetched property")
      }
    }
  }
}

extension PropertyDescription {
  /// The property's name in an earlier version of the model.
  var renamingIdentifier: String? {
    switch self {
    case .attribute(let attribute): attribute.renamingIdentifier
    case .relationship(let relationship): relationship.renamingIdentifier
    case .fetchedProperty: nil
    }
  }
}

// MARK: - Checks of model versions

extension ModelLint {
  /// Returns the findings in the current version of a bundle, and in the relations of its versions.
  public static func findings(in bundle: VersionedModel) -> [ModelIssue] { findings(in: bundle, includesFile: true) }

  /// Returns the findings in a model, without those that ``ModelFileLint`` reports for its file.
  package static func advice(in model: ManagedObjectModel) -> [ModelIssue] { findings(in: model, includesFile: false) }

  /// Returns the findings in a bundle, without those that ``ModelFileLint`` reports for the file of its current version.
  package static func advice(in bundle: VersionedModel) -> [ModelIssue] { findings(in: bundle, includesFile: false) }

  @_optimize(none) private static func findings(in bundle: VersionedModel, includesFile: Bool) -> [ModelIssue] {
    var findings = bundle.current.map { Self.findings(in: $0, includesFile: includesFile) } ?? []
    guard bundle.versions.count > 1 else { return findings }
    for version in bundle.versions where includesFile || version.name != bundle.currentVersionName {
      let others = bundle.versions.filter { $0.name != version.name }.map(\.model)
      findings += version.model.renamingIssues(among: others).map {
        ModelIssue(entityName: $0.entityName, propertyName: $0.propertyName, reason: "in the version '\(version.name)', \($0.reason)")
      }
    }
    for version in bundle.versions {
      let others = bundle.versions.filter { $0.name != version.name }.map(\.model)
      findings += version.model.renamingChains(among: others).map {
        ModelIssue(entityName: $0.entityName, propertyName: $0.propertyName, reason: "in the version '\(version.name)', \($0.reason)")
      }
    }
    for (index, version) in bundle.versions.enumerated() {
      guard
        let twin = bundle.versions[..<index].first(where: { $0.model.versionHashesByEntityName == version.model.versionHashesByEntityName })
      else { continue }
      findings.append(
        ModelIssue(
          reason: "stores cannot distinguish the version '\(version.name)' from '\(twin.name)': their stored properties are equal"))
    }
    return findings
  }
}

extension ManagedObjectModel {
  /// Returns the renaming identifiers of a version that match no name in other versions, so that a migration would not carry values over.
  @_optimize(none) package func renamingIssues(among others: [ManagedObjectModel]) -> [ModelIssue] {
    var findings: [ModelIssue] = []
    func report(_ entity: String, _ property: String?, _ identifier: String, _ kind: String, _ names: [String]) {
      let close = SimilarName.of(identifier, among: names.sorted()).map { "did you mean '\($0)'?" } ?? "correct it"
      findings.append(
        ModelIssue(
          entityName: entity, propertyName: property,
          reason: "the renaming identifier '\(identifier)' does not match any \(kind) of another version; \(close)"))
    }
    guard !others.isEmpty else { return findings }
    for entity in entities {
      let sources = [entity.renamingIdentifier ?? entity.name, entity.name]
      let relatives = others.map { other in
        other.entities.filter { sources.contains($0.name) || $0.renamingIdentifier.map(sources.contains) ?? false }
      }
      if let identifier = entity.renamingIdentifier, identifier != entity.name,
        others.contains(where: { other in !other.entities.contains { $0.name == entity.name } }),
        !relatives.joined().contains(where: { leads(identifier, from: entity.name, to: $0.name, $0.renamingIdentifier) })
      {
        report(entity.name, nil, identifier, "entity", others.flatMap(\.entities).map(\.name))
      }
      let properties = relatives.joined().flatMap(\.properties)
      for property in entity.properties {
        guard let identifier = property.renamingIdentifier, identifier != property.name,
          relatives.contains(where: { entities in !entities.flatMap(\.properties).contains { $0.name == property.name } }),
          !properties.contains(where: { leads(identifier, from: property.name, to: $0.name, $0.renamingIdentifier) })
        else { continue }
        report(entity.name, property.name, identifier, "property", properties.map(\.name))
      }
    }
    return findings
  }

  /// Returns the renaming identifiers of a version that are not the first names. Stores that were created with the version then identify the
  /// entity or property by another name than stores that were migrated to it.
  @_optimize(none) func renamingChains(among others: [ManagedObjectModel]) -> [ModelIssue] {
    var findings: [ModelIssue] = []
    func report(_ entity: String, _ property: String?, _ identifier: String, _ first: String) {
      findings.append(
        ModelIssue(
          entityName: entity, propertyName: property,
          reason:
            "the renaming identifier '\(identifier)' is the later name of '\(first)'; keep the first name as the renaming identifier, so that new and "
            + "migrated stores identify it alike"))
    }
    for entity in entities {
      let sources = [entity.renamingIdentifier ?? entity.name, entity.name]
      if let identifier = entity.renamingIdentifier, identifier != entity.name,
        let first = Self.firstName(identifier, others.flatMap(\.entities).map { ($0.name, $0.renamingIdentifier) })
      {
        report(entity.name, nil, identifier, first)
      }
      let relatives = others.flatMap(\.entities).filter {
        sources.contains($0.name) || $0.renamingIdentifier.map(sources.contains) ?? false
      }
      for property in entity.properties {
        guard let identifier = property.renamingIdentifier, identifier != property.name,
          let first = Self.firstName(identifier, relatives.flatMap(\.properties).map { ($0.name, $0.renamingIdentifier) })
        else { continue }
        report(entity.name, property.name, identifier, first)
      }
    }
    return findings
  }

  /// Returns the first name of what another version names by a renaming identifier; nil if it is the first name.
  private static func firstName(_ identifier: String, _ others: [(name: String, renamingIdentifier: String?)]) -> String? {
    var (name, visited) = (identifier, Set([identifier]))
    while let earlier = others.first(where: { $0.name == name && $0.renamingIdentifier ?? name != name })?.renamingIdentifier,
      visited.insert(earlier).inserted
    {
      name = earlier
    }
    return name == identifier ? nil : name
  }

  /// Returns whether a renaming identifier matches a name in another version. A copy of the version with the same mistake does not count.
  private func leads(_ identifier: String, from name: String, to other: String, _ otherIdentifier: String?) -> Bool {
    other == identifier || otherIdentifier == identifier && other != name
  }
}

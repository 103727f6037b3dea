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

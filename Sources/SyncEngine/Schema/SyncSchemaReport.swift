import ObjectModel
import ObjectStore

/// How synchronization merges each property of a model, which parts stand in the way, and what may surprise.
package struct SyncSchemaReport: Sendable {
  /// A property of an entity, or a part of a composite.
  package struct Property: Sendable {
    /// The name. Parts of composites have dotted names, such as `home.city`.
    package let name: String
    /// The type of an attribute, or the destination of a relationship: `-> Author`, `->> Book`.
    package let type: String
    package let merge: SyncMerge
  }

  /// An entity with the properties that it declares.
  package struct Entity: Sendable {
    package let name: String
    package let parent: String?
    package let isAbstract: Bool
    /// Whether an edit wins over a deletion that did not know it.
    package let updateWins: Bool
    /// The uniqueness constraints that it declares: the names of their properties. Objects with the same values become one.
    package let unique: [[String]]
    package let properties: [Property]
  }

  /// The entities, in the order of their numbers.
  package let entities: [Entity]
  /// What stands in the way; empty if the model can be synchronized.
  package let obstacles: [SyncObstacle]
  /// What may surprise.
  package let warnings: [SyncWarning]

  /// Creates the report of a model.
  package init(_ schema: SyncSchema) {
    let obstacles = schema.obstacles
    // Of several obstacles of a property, the first one is shown with it.
    let reasons = Dictionary(
      obstacles.map { (PropertyKey(entity: $0.entity, name: $0.property), $0.reason) }, uniquingKeysWith: { first, _ in first })
    entities = schema.model.entities.map { entity in
      let properties = entity.entityDescription.properties.flatMap { Self.properties($0.name, of: entity, schema) }
      return Entity(
        name: entity.name, parent: entity.parent.map { schema.model.entities[$0].name }, isAbstract: entity.isAbstract,
        updateWins: schema.model.updateWins(entity),
        unique: SyncSchema.uniqueConstraints(of: entity, in: schema.model, schema.entities).map(\.declared)
          .filter { $0.entity == entity.number }.map(\.names),
        properties: properties.map { property in
          guard let reason = reasons[PropertyKey(entity: entity.name, name: property.name)], reason != .unique else { return property }
          return Property(name: property.name, type: property.type, merge: .unsupported(reason))
        })
    }
    self.obstacles = obstacles
    warnings = schema.warnings
  }

  private struct PropertyKey: Hashable {
    let entity: String
    let name: String
  }

  /// Returns a declared property, or all parts of a composite.
  private static func properties(_ name: String, of entity: CompiledEntity, _ schema: SyncSchema) -> [Property] {
    switch entity.property(named: name) {
    case .attribute(let slot): [attribute(slot, of: entity, schema)]
    case .composite(let composite): composite.slots.map { attribute(entity.slots[$0], of: entity, schema) }
    case .toOne(let relationship): [Property(name: name, type: type(relationship, schema), merge: toOne(relationship, of: entity, schema))]
    case .toMany(let relationship): [Property(name: name, type: type(relationship, schema), merge: toMany(relationship, schema))]
    case .fetched(let fetched): [Property(name: name, type: "fetches \(fetched.destinationEntityName)", merge: .fetched)]
    case nil: []
    }
  }

  private static func attribute(_ slot: CompiledSlot, of entity: CompiledEntity, _ schema: SyncSchema) -> Property {
    let synced = schema.entities[entity.number].property(inSlot: slot.index)
    let isLarge = slot.attribute?.allowsExternalBinaryDataStorage ?? false
    let merge: SyncMerge =
      synced.map { isLarge ? .largeValue($0.mergeRule) : .value($0.mergeRule) } ?? (slot.isDerived ? .derived : .transient)
    return Property(name: slot.name, type: slot.attributeType?.rawValue ?? "", merge: merge)
  }

  private static func toOne(_ relationship: CompiledRelationship, of entity: CompiledEntity, _ schema: SyncSchema) -> SyncMerge {
    if relationship.isTransient { return .transient }
    guard let property = schema.entities[entity.number].property(inSlot: relationship.index) else { return inverse(relationship, schema) }
    if schema.model.isTree(relationship) { return .parent }
    return property.inverseSlot == nil ? .toOne(isRequired: !relationship.isOptional) : .oneToOne(isRequired: !relationship.isOptional)
  }

  private static func toMany(_ relationship: CompiledRelationship, _ schema: SyncSchema) -> SyncMerge {
    if relationship.isTransient { return .transient }
    let hasLinks = schema.links.contains { $0.relationship.id == relationship.id || $0.relationship.id == relationship.inverseID }
    return hasLinks ? .members(isOrdered: relationship.isOrdered) : inverse(relationship, schema)
  }

  private static func inverse(_ relationship: CompiledRelationship, _ schema: SyncSchema) -> SyncMerge {
    guard let inverse = schema.model.inverse(of: relationship) else { return .members(isOrdered: relationship.isOrdered) }
    return .inverse("\(schema.model.entities[inverse.sourceEntity].name).\(inverse.name)", isOrdered: relationship.isOrdered)
  }

  private static func type(_ relationship: CompiledRelationship, _ schema: SyncSchema) -> String {
    (relationship.isToMany ? "->> " : "-> ") + schema.model.entities[relationship.destinationEntity].name
  }
}

extension SyncSchemaReport {
  /// The report as text: a table for each entity, then obstacles as errors, then warnings.
  package var lines: [String] {
    var lines: [String] = []
    for entity in entities {
      let name = (entity.isAbstract ? "abstract entity " : "entity ") + entity.name + (entity.parent.map { ": \($0)" } ?? "")
      lines.append(name + (entity.updateWins ? ", a change wins over a deletion" : ""))
      let names = entity.properties.map(\.name.count).max() ?? 0
      let types = entity.properties.map(\.type.count).max() ?? 0
      for property in entity.properties {
        lines.append("  \(padded(property.name, names))  \(padded(property.type, types))  \(property.merge.explanation)")
      }
      for names in entity.unique { lines.append("  Objects with the same \(names.joined(separator: " and ")) become one.") }
      lines.append("")
    }
    let exception = entities.contains(where: \.updateWins) ? ", except as shown." : "."
    lines.append("The deletion of an object wins over all changes of it" + exception)
    lines.append(obstacles.isEmpty ? "The model can be synchronized." : "The model cannot be synchronized yet.")
    lines += obstacles.map { "error: \($0)" }
    lines += warnings.map { "warning: \($0)" }
    return lines
  }

  private func padded(_ text: String, _ width: Int) -> String { text + String(repeating: " ", count: max(0, width - text.count)) }
}

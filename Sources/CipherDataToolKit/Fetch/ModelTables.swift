import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore

/// Writes tables of a store's entities and their properties.
struct ModelTables {
  private let context: ManagedObjectContext
  private let model: CompiledModel

  init(_ context: ManagedObjectContext) {
    self.context = context
    model = context.persistentStoreCoordinator.compiledModel
  }

  /// Writes a table of the entities. The number of objects includes subentities.
  func writeEntities(format: OutputFormat, to sink: OutputSink) throws {
    let writer = try format.writer(columns: ["entity", "parent", "objects"], to: sink)
    for entity in model.entities {
      let count = try context.count(for: FetchRequest<ManagedObject>(entityName: entity.name))
      try writer.write([.string(entity.name), entity.parent.map { .string(model.entities[$0].name) } ?? .null, .integer(count)])
    }
    try writer.finish()
    try sink.flush()
  }

  /// Writes a table of an entity's properties, including inherited ones.
  func writeProperties(ofEntity name: String, format: OutputFormat, to sink: OutputSink) throws {
    let entity = try model.requireEntity(named: name)
    let writer = try format.writer(columns: ["property", "type", "notes"], to: sink)
    let unique = entity.uniquenessConstraints.map { $0.map { entity.slots[$0].name } }
    func write(_ property: String, _ type: String, _ notes: [String?]) throws {
      let constraint = unique.first { $0.contains(property) }.map {
        $0.count == 1 ? "unique" : "unique with the others of \($0.joined(separator: ", "))"
      }
      try writer.write([.string(property), .string(type), .string((notes + [constraint]).compactMap { $0 }.joined(separator: "; "))])
    }
    for slot in entity.slots {
      if let relationship = slot.relationship {
        try write(slot.name, "to-one \(model.entities[relationship.destinationEntity].name)", notes(of: relationship))
      } else {
        try write(
          slot.name, slot.attributeType?.rawValue ?? "", [slot.isOptional ? "optional" : nil, slot.isTransient ? "transient" : nil])
      }
    }
    for relationship in entity.toManyRelationships {
      let kind = relationship.isOrdered ? "ordered to-many" : "to-many"
      try write(relationship.name, "\(kind) \(model.entities[relationship.destinationEntity].name)", notes(of: relationship))
    }
    for property in entity.fetchedProperties { try write(property.name, "fetched", []) }
    try writer.finish()
    try sink.flush()
  }

  private func notes(of relationship: CompiledRelationship) -> [String?] {
    let description = relationship.relationshipDescription
    return [
      relationship.isOptional ? "optional" : nil, description.inverseName.map { "inverse \($0)" },
      relationship.deleteRule == .nullify ? nil : "delete rule \(relationship.deleteRule.rawValue)",
    ]
  }
}

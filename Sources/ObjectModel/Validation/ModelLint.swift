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

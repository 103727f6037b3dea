import Foundation

/// Prints models as readable text. For diagrams, see ``ModelDiagram``.
public enum ModelDescriptionPrinter {
  /// Returns a model as text: each entity with its properties, indexes and constraints, one per line.
  @_optimize(none) public static func text(_ model: ManagedObjectModel) -> String {
    var lines: [String] = []
    let versions = model.versionIdentifiers.sorted().joined(separator: ", ")
    lines.append(
      "model\(versions.isEmpty ? "" : " \(versions)"): \(model.entities.count) \(model.entities.count == 1 ? "entity" : "entities")")
    for entity in model.entities {
      lines.append("")
      lines.append(heading(of: entity))
      for property in entity.properties {
        switch property {
        case .attribute(let attribute): lines.append("  " + line(of: attribute))
        case .relationship(let relationship): lines.append("  " + line(of: relationship))
        case .fetchedProperty(let fetched):
          let predicate = fetched.predicateFormat.map { " where \($0)" } ?? ""
          lines.append("  \(quotedIfNeeded(fetched.name)): fetches \(quotedIfNeeded(fetched.destinationEntityName))\(predicate)")
        }
      }
      for index in entity.effectiveIndexes {
        let elements = index.elements.map {
          quotedIfNeeded($0.propertyName ?? $0.expression ?? "?") + ($0.collation == .binary ? "" : " \($0.collation.rawValue)")
            + ($0.isAscending ? "" : " descending")
        }
        let condition = index.partialIndexPredicate.map { " where \($0)" } ?? ""
        let kind = index.elements.first.map { $0.kind == .binary ? "" : $0.kind == .fullText ? " of the words" : " RTree" } ?? ""
        lines.append("  index \(quotedIfNeeded(index.name))\(kind) (\(elements.joined(separator: ", ")))\(condition)")
      }
      for constraint in entity.uniquenessConstraints {
        lines.append("  unique (\(constraint.map(quotedIfNeeded).joined(separator: ", ")))")
      }
    }
    for composite in model.composites {
      lines.append("")
      lines.append("composite \(quotedIfNeeded(composite.name))")
      for element in composite.elements { lines.append("  " + line(of: element)) }
    }
    for configuration in model.configurations {
      lines.append("")
      lines.append(
        "configuration \(quotedIfNeeded(configuration.name)): \(configuration.entityNames.map(quotedIfNeeded).joined(separator: ", "))")
    }
    for template in model.fetchRequestTemplates {
      lines.append("")
      let predicate = template.predicateFormat.map { " where \($0)" } ?? ""
      lines.append("fetch request \(quotedIfNeeded(template.name)): \(quotedIfNeeded(template.entityName))\(predicate)")
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func heading(of entity: EntityDescription) -> String {
    var text = (entity.isAbstract ? "abstract entity " : "entity ") + quotedIfNeeded(entity.name)
    if let parent = entity.superentityName { text += ": \(quotedIfNeeded(parent))" }
    if let name = entity.managedObjectClassName { text += " (class \(name))" }
    if let rule = entity.syncDeletionRule { text += ", merged by \(rule.rawValue)" }
    return text
  }

  @_optimize(none) private static func line(of attribute: AttributeDescription) -> String {
    let composite = attribute.compositeName.map { " " + quotedIfNeeded($0) } ?? ""
    var parts = ["\(quotedIfNeeded(attribute.name)): \(attribute.type.rawValue)\(composite)\(attribute.isOptional ? ", optional" : "")"]
    if attribute.isTransient { parts.append("transient") }
    if let text = SlotText.text(attribute.defaultValue, type: attribute.type) {
      parts.append("default " + (attribute.type == .string ? "\"\(text)\"" : text))
    }
    let validation = attribute.validation
    if let bounds = range(
      validation.minimum.flatMap { SlotText.text($0, type: attribute.type) },
      validation.maximum.flatMap { SlotText.text($0, type: attribute.type) })
    {
      parts.append(bounds)
    }
    if let bounds = range(validation.minimumLength.map(String.init), validation.maximumLength.map(String.init)) {
      parts.append("length \(bounds)")
    }
    if let pattern = validation.pattern { parts.append("matching \(pattern)") }
    if let expression = attribute.derivationExpression {
      parts.append("derived from \(expression)" + (attribute.derivationFilter.map { " where \($0)" } ?? ""))
    }
    if attribute.syncMergeRule != .latest { parts.append("merged by \(attribute.syncMergeRule.rawValue)") }
    if attribute.allowsExternalBinaryDataStorage { parts.append("external storage") }
    return parts.joined(separator: ", ")
  }

  private static func range(_ minimum: String?, _ maximum: String?) -> String? {
    switch (minimum, maximum) {
    case (nil, nil): nil
    case (let minimum?, nil): "at least \(minimum)"
    case (nil, let maximum?): "at most \(maximum)"
    case (let minimum?, let maximum?): "\(minimum) to \(maximum)"
    }
  }

  @_optimize(none) private static func line(of relationship: RelationshipDescription) -> String {
    let arrow = relationship.isToMany ? (relationship.isOrdered ? "->> ordered" : "->>") : "->"
    var parts = ["\(quotedIfNeeded(relationship.name)) \(arrow) \(quotedIfNeeded(relationship.destinationEntityName))"]
    if let inverse = relationship.inverseName { parts.append("inverse \(quotedIfNeeded(inverse))") }
    if !relationship.isOptional { parts.append("required") }
    if relationship.deleteRule != .nullify { parts.append("on delete \(relationship.deleteRule.rawValue.lowercased())") }
    if relationship.isTransient { parts.append("transient") }
    if relationship.isToMany, relationship.minCount > 0 || relationship.maxCount > 0 {
      parts.append("\(relationship.minCount) to \(relationship.maxCount == 0 ? "many" : String(relationship.maxCount))")
    }
    return parts.joined(separator: ", ")
  }

  /// Quotes a name that contains special characters, so that it cannot break the line.
  private static func quotedIfNeeded(_ name: String) -> String {
    let plain = name.unicodeScalars.allSatisfy { $0.properties.isAlphabetic || $0.properties.numericType != nil || $0 == "_" || $0 == "." }
    return plain && !name.isEmpty ? name : name.debugDescription
  }
}

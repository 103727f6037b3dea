// ClassEmitter+Fields: the source of what typed queries see of a class.
import ObjectModel

extension ClassEmitter {
  /// Adds the fields of a class: an extension of `FetchObject` for it and the classes below.
  func emitFields(_ plan: ClassPlan, to emitter: inout SwiftEmitter) {
    var members: [(comment: String, identifier: String, type: String, value: String)] = []
    for (slot, identifier) in plan.slots {
      let name = SwiftText.literal(slot.name)
      let described = "`\(SwiftText.comment(slot.name))`"
      if let relationship = slot.relationship {
        let type = "FetchObject<\(classNames[relationship.destinationEntity]), FetchIndirect>"
        members.append(("The to-one relationship \(described)", identifier, type, "toOne(\(name))"))
      } else if let attribute = slot.attribute, let type = fieldType(of: attribute) {
        members.append(("The attribute \(described)", identifier, type, "attribute(\(name))"))
      }
    }
    for (relationship, identifier) in plan.toMany {
      let type =
        "FetchMembers<\(classNames[relationship.destinationEntity]), \(relationship.isOrdered ? "FetchOrdered" : "FetchUnordered")>"
      members.append(
        (
          "The to-many relationship `\(SwiftText.comment(relationship.name))`", identifier, type,
          "toMany(\(SwiftText.literal(relationship.name)))"
        ))
    }
    guard !members.isEmpty else { return }
    emitter.line()
    emitter.line("/// What typed queries see of `\(plan.className)`.")
    emitter.block("extension FetchObject where FetchedClass: \(plan.className)") { emitter in
      for member in members {
        emitter.line("/// \(member.comment) in typed queries.")
        emitter.line("\(options.modifier)var \(SwiftText.escaped(member.identifier)): \(member.type) { \(member.value) }")
      }
    }
  }

  /// The type of an attribute's field; nil for what queries cannot name.
  private func fieldType(of attribute: AttributeDescription) -> String? {
    var needs = ImportNeeds()
    if attribute.type == .composite { return nil }
    guard let value = typeName(of: attribute.type, &needs), let output = Self.outputName(of: attribute.type) else {
      return "FetchOpaqueField"
    }
    return "FetchField<\(value), \(attribute.isOptional ? value + "?" : "Reach." + output)>"
  }

  /// The associated type of `FetchReach` for a type of attributes.
  private static func outputName(of type: AttributeType) -> String? {
    switch type {
    case .integer16: "Integer16"
    case .integer32: "Integer32"
    case .integer64: "Integer64"
    case .double: "Double"
    case .float: "Float"
    case .decimal: "Decimal"
    case .boolean: "Boolean"
    case .string: "String"
    case .date: "Date"
    case .binary: "Binary"
    case .uuid: "UUID"
    case .uri: "URI"
    case .undefined, .transformable, .composite: nil
    }
  }
}

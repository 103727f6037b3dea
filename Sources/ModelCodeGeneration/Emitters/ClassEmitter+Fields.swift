import ObjectModel

extension ClassEmitter {
  /// Adds the fields of a class for typed queries: an extension of `FetchObject` for the class and its subclasses.
  @_optimize(none) func emitFields(_ plan: ClassPlan, to emitter: inout SwiftEmitter) throws(CodeGenerationError) {
    var members: [(comment: String, identifier: String, type: String, value: String)] = []
    for (slot, identifier) in plan.slots {
      let name = SwiftText.literal(slot.name)
      let described = "`\(SwiftText.comment(slot.name))`"
      if let relationship = slot.relationship {
        let type = "FetchObject<\(classNames[relationship.destinationEntity]), FetchIndirect>"
        members.append(("The to-one relationship \(described)", identifier, type, "toOne(\(name))"))
      } else if let attribute = slot.attribute {
        var needs = ImportNeeds()
        guard let type = try forms.form(of: attribute, in: plan.entity.name, &needs)?.field else { continue }
        members.append(("The attribute \(described)", identifier, type, "attribute(\(name))"))
      }
    }
    for (composite, identifier) in plan.composites {
      guard let type = composites.plan(of: composite.attribute)?.typeName else { continue }
      members.append(
        (
          "The composite attribute `\(SwiftText.comment(composite.name))`", identifier,
          "FetchComposite<\(type), \(composite.attribute.isOptional ? "FetchIndirect" : "Reach")>",
          "composite(\(SwiftText.literal(composite.name)))"
        ))
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
    emitter.line("/// The fields of `\(plan.className)` in typed queries.")
    emitter.block("nonisolated extension FetchObject where FetchedClass: \(plan.className)") { emitter in
      for member in members {
        emitter.line("/// \(member.comment) in typed queries.")
        emitter.line("\(options.modifier)var \(SwiftText.escaped(member.identifier)): \(member.type) { \(member.value) }")
      }
    }
  }
}

import ObjectModel

/// Generates the source of structs for composite attributes.
struct CompositeEmitter {
  let options: CodeGenerationOptions
  let forms: AttributeForms
  let plans: CompositePlans
  /// The name of the enumeration that contains the model.
  let modelName: String

  /// A part of a composite in the generated source.
  private struct Part {
    let name: String
    let identifier: String
    let slot: String
    let declared: String
    let initial: String?
    let read: (AccessTarget) -> String
    let write: (AccessTarget) -> String
    let field: String
  }

  /// Adds the source of a struct and of its fields for typed queries.
  ///
  /// - Returns: The modules that the source must import.
  @_optimize(none) func emit(_ plan: CompositePlan, to emitter: inout SwiftEmitter) throws(CodeGenerationError) -> ImportNeeds {
    var needs = ImportNeeds()
    var parts: [Part] = []
    for (attribute, identifier, offset) in plan.parts { parts.append(try part(attribute, identifier, offset, plan, &needs)) }
    let modifier = options.modifier
    let isHashable = try plans.isHashable(plan, forms)
    emitter.line("/// A value of the composite `\(SwiftText.comment(plan.composite.name))`.")
    emitter.block("\(modifier)nonisolated struct \(plan.typeName): SnapshotComposite\(isHashable ? ", Hashable" : "")") { emitter in
      for part in parts {
        emitter.line("/// The part `\(SwiftText.comment(part.name))`.")
        emitter.line("\(modifier)var \(part.identifier): \(part.declared)")
      }
      emitter.line()
      emitter.line("/// Creates a value from its parts.")
      let parameters = parts.map { "\($0.identifier): \($0.declared)\($0.initial.map { " = \($0)" } ?? "")" }
      emitter.block("\(modifier)init(\(parameters.joined(separator: ", ")))") { emitter in
        for part in parts { emitter.line("self.\(part.identifier) = \(ShadowedNames.marked(part.identifier))") }
      }
      emitter.line()
      emitAccess(to: "ManagedObject", "an object", parts, .object("object"), modifier, &emitter)
      emitter.line()
      emitAccess(to: "ObjectSnapshot", "a snapshot", parts, .snapshot("object"), modifier, &emitter)
      emitter.line()
      emitter.line("/// The number of slots of the parts.")
      emitter.line("\(modifier)static var slotCount: \(forms.swift("Int")) { \(plan.slotCount) }")
      emitter.line("/// The names of the parts, by slot.")
      let names = plan.partNames.map(SwiftText.literal).joined(separator: ", ")
      emitter.line("\(modifier)static var partNames: [\(forms.swift("String"))] { [\(names)] }")
      emitter.line("/// The classes of the model that the composite belongs to.")
      emitter.line("\(modifier)static var classTable: ManagedObjectClasses { \(modelName).classes }")
    }
    emitter.line()
    emitter.line("/// The fields of `\(plan.typeName)` in typed queries.")
    emitter.block("nonisolated extension FetchComposite where Composite == \(plan.typeName)") { emitter in
      for part in parts {
        emitter.line("/// The part `\(SwiftText.comment(part.name))` in typed queries.")
        emitter.line("\(modifier)var \(part.identifier): \(part.field)")
      }
    }
    return needs
  }

  /// Adds the initializer that reads the parts from an object or a snapshot, and the function that writes them to it.
  @_optimize(none) private func emitAccess(
    to type: String, _ described: String, _ parts: [Part], _ target: AccessTarget, _ modifier: String, _ emitter: inout SwiftEmitter
  ) {
    let int = forms.swift("Int")
    emitter.line("/// Reads the parts from the slots of \(described).")
    emitter.block("\(modifier)init(of object: \(type), at slot: \(int))") { emitter in
      for part in parts { emitter.line("self.\(part.identifier) = \(part.read(target))") }
    }
    emitter.line()
    emitter.line("/// Writes changed parts to the slots of \(described).")
    let parameter = if case .snapshot = target { "inout \(type)" } else { type }
    emitter.block("\(modifier)func write(to object: \(parameter), at slot: \(int))") { emitter in
      for part in parts { emitter.line(part.write(target)) }
    }
  }

  @_optimize(none) private func part(
    _ attribute: AttributeDescription, _ identifier: String, _ offset: Int, _ plan: CompositePlan, _ needs: inout ImportNeeds
  ) throws(CodeGenerationError) -> Part {
    let slot = offset == 0 ? "slot" : "slot + \(offset)"
    let name = SwiftText.escaped(identifier)
    let literal = SwiftText.literal(attribute.name)
    if let inner = plans.plan(of: attribute) {
      let reach = attribute.isOptional ? "FetchIndirect" : "Reach"
      return Part(
        name: attribute.name, identifier: name, slot: slot, declared: inner.typeName + (attribute.isOptional ? "?" : ""),
        initial: attribute.isOptional ? "nil" : nil,
        read: { $0.call(attribute.isOptional ? "optionalComposite" : "composite", at: slot) },
        write: { $0.call("setComposite", "self.\(name)", at: slot) },
        field: "FetchComposite<\(inner.typeName), \(reach)> { composite(\(literal)) }")
    }
    // In a valid model, only composite parts have no form.
    guard let form = try forms.form(of: attribute, in: plan.composite.name, &needs) else {
      throw .badValueType(entity: plan.composite.name, attribute: attribute.name)
    }
    return Part(
      name: attribute.name, identifier: name, slot: slot, declared: form.declared, initial: form.initial,
      read: { form.read(slot, of: $0) }, write: { form.writePart("self.\(name)", at: slot, of: $0) },
      field: "\(form.field) { attribute(\(literal)) }")
  }
}

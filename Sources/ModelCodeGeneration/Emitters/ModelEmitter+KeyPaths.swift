import ObjectModel

extension ModelEmitter {
  /// Adds the function that creates the table of key paths and property names, and one for each class.
  @_optimize(none) func emitKeyPaths(to emitter: inout SwiftEmitter) {
    let typed = model.entities.filter { plans.classNames[$0.number] != ClassPlans.baseName }
    emitter.block("@Sendable private static func makeKeyPathNames() -> KeyPathNames") { emitter in
      if typed.isEmpty, composites.plans.isEmpty {
        emitter.line("KeyPathNames()")
        return
      }
      emitter.line("var names = KeyPathNames()")
      for entity in typed { emitter.line("addKeyPaths\(entity.number)(to: &names)") }
      for (number, plan) in composites.plans.enumerated() where !plan.parts.isEmpty { emitter.line("addParts\(number)(to: &names)") }
      emitter.line("return names")
    }
    for entity in typed {
      emitter.line()
      emitter.block("private static func addKeyPaths\(entity.number)(to names: inout KeyPathNames)") { emitter in
        let name = plans.classNames[entity.number]
        for (identifier, property) in [("objectID", "objectID")] + plans.properties(of: entity, in: model) {
          emitter.line(line(name, identifier, property))
        }
      }
    }
    for (number, plan) in composites.plans.enumerated() where !plan.parts.isEmpty {
      emitter.line()
      emitter.block("private static func addParts\(number)(to names: inout KeyPathNames)") { emitter in
        for (attribute, identifier, _) in plan.parts { emitter.line(line(plan.typeName, identifier, attribute.name)) }
      }
    }
  }

  private func line(_ type: String, _ identifier: String, _ name: String) -> String {
    let member = SwiftText.escaped(identifier)
    return "names.add(\\\(type).\(member), \\\(type)?.?.\(member), \(SwiftText.literal(name)))"
  }
}

// ModelEmitter+KeyPaths: the source of the table that tells the properties of Swift key paths.
import ObjectModel

extension ModelEmitter {
  /// Adds the function that makes the table, and one for each class.
  func emitKeyPaths(to emitter: inout SwiftEmitter) {
    let typed = model.entities.filter { plans.classNames[$0.number] != ClassPlans.baseName }
    emitter.block("@Sendable private static func makeKeyPathNames() -> KeyPathNames") { emitter in
      if typed.isEmpty {
        emitter.line("KeyPathNames()")
        return
      }
      emitter.line("var names = KeyPathNames()")
      for entity in typed { emitter.line("addKeyPaths\(entity.number)(to: &names)") }
      emitter.line("return names")
    }
    for entity in typed {
      emitter.line()
      emitter.block("private static func addKeyPaths\(entity.number)(to names: inout KeyPathNames)") { emitter in
        let name = plans.classNames[entity.number]
        for (identifier, property) in [("objectID", "objectID")] + plans.properties(of: entity, in: model) {
          let member = SwiftText.escaped(identifier)
          emitter.line("names.add(\\\(name).\(member), \\\(name)?.?.\(member), \(SwiftText.literal(property)))")
        }
      }
    }
  }
}

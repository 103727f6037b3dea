import ObjectModel

extension ModelEmitter {
  /// The name of the enumeration of versions, which a class can already have.
  var versionsName: String { plans.ownNames.contains("Versions") ? "ModelVersions" : "Versions" }

  /// Adds an enumeration of the versions. Earlier versions are string literals, which cost no compile time and are parsed when a store is
  /// migrated.
  @_optimize(none) func emit(_ plan: VersionPlan, to emitter: inout SwiftEmitter) {
    let modifier = options.modifier
    emitter.line("/// The versions of the model, for the stages of a migration.")
    emitter.block("\(modifier)nonisolated enum \(versionsName)") { emitter in
      for version in plan.versions {
        let source = version.text.map { "text: \(SwiftText.literal($0))" } ?? "managedObjectModel"
        emitter.line("/// The version \(SwiftText.comment(version.name)).")
        emitter.line(
          "\(modifier)static let \(SwiftText.escaped(version.identifier)): ManagedObjectModelReference = ManagedObjectModelReference(\(source))"
        )
      }
      emitter.line("/// All versions, oldest first.")
      let all = plan.versions.map { SwiftText.escaped($0.identifier) }.joined(separator: ", ")
      emitter.line("\(modifier)static var all: [ManagedObjectModelReference] { [\(all)] }")
    }
  }
}

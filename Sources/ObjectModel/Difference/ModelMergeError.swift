/// The reason why models cannot be merged.
public enum ModelMergeError: Error, Sendable, Hashable, CustomStringConvertible {
  /// Two models have different entities of the same name.
  case differentEntities([String])
  /// Two models have different fetch request templates of the same name.
  case differentTemplates([String])
  /// Two models have different composites of the same name.
  case differentComposites([String])

  /// A message with the conflicting names and the solution.
  @_optimize(none) public var description: String {
    switch self {
    case .differentEntities(let names):
      "entities of the same name differ between the models: \(names.joined(separator: ", ")); make them equal or rename one"
    case .differentTemplates(let names):
      "fetch request templates of the same name differ between the models: \(names.joined(separator: ", ")); rename one"
    case .differentComposites(let names):
      "composites of the same name differ between the models: \(names.joined(separator: ", ")); rename one"
    }
  }
}

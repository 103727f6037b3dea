package import ObjectModel

extension StoreError {
  /// The cause of an error: its kind, its message, and its subjects.
  ///
  /// Each layer declares its reasons as static members of this type, next to the code that throws them: `StoreError+Reasons.swift` has those
  /// of this module. Stores outside of the package cannot use reasons and write their own messages.
  package struct Reason: Sendable {
    package var code: Code
    /// What happened and why, and what to do if the library and the tool say it in the same words.
    package var problem: String
    /// What to do, if the library and the tool word it differently.
    package var remedy: Remedy?
    package var entityName: String?
    package var propertyName: String?
    package var objectID: ManagedObjectID?
    package var optionName: String?
    package var differingEntities: [String]
    package var obstacles: [ModelChange] = []
    /// Whether the description includes the underlying error. False if that error repeats the message or may contain a secret.
    package var includesUnderlyingError: Bool

    package init(
      _ code: Code, _ problem: String, _ remedy: Remedy? = nil, entity: String? = nil, property: String? = nil,
      object: ManagedObjectID? = nil, option: String? = nil, differingEntities: [String] = [], includesUnderlyingError: Bool = true
    ) {
      (self.code, self.problem, self.remedy) = (code, problem, remedy)
      (entityName, propertyName, objectID, optionName) = (entity ?? object?.entityName, property, object, option)
      (self.differingEntities, self.includesUnderlyingError) = (differingEntities, includesUnderlyingError)
    }

    /// Creates a reason for changes of the model that prevent a migration, which the message lists. The first change determines the entity
    /// and the property.
    package init(_ code: Code, _ problem: String, obstacles: [ModelChange]) {
      self.init(
        code, "\(problem) \(obstacles.map(\.description).joined(separator: " "))", entity: obstacles.first?.entityName,
        property: obstacles.first?.name)
      self.obstacles = obstacles
    }

    /// Returns the message, with the remedy in the caller's words.
    package func message(_ words: (Remedy) -> String) -> String { remedy.map { "\(problem) \(words($0))" } ?? problem }
  }

  /// Creates an error from its reason.
  package init(_ reason: Reason, operation: StoreOperation? = nil, path: String? = nil, underlying: (any Error)? = nil) {
    self.reason = reason
    self.operation = operation
    self.path = path
    self.underlying = underlying
  }
}

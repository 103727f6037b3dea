// ModelIssue: one mistake in a model, and all of them as an error.

/// One mistake in a model.
///
/// ```swift
/// for issue in model.validationIssues() { print(issue.entityName ?? "the model", issue.reason) }
/// ```
///
/// A model with a mistake opens no store: making a container or coordinator throws ``ModelValidationError`` with all mistakes.
public struct ModelIssue: Sendable, Hashable, CustomStringConvertible {
  /// The entity, if the mistake is in one.
  public let entityName: String?
  /// The property, index or configuration, if the mistake is in one.
  public let propertyName: String?
  /// What is wrong and what to do.
  public let reason: String
  /// The end of the reason that says what is used instead; nil if nothing is.
  let substitute: String?

  /// Creates an issue.
  ///
  /// - Parameter substitute: What is used instead, which becomes the end of the reason.
  package init(entityName: String? = nil, propertyName: String? = nil, reason: String, instead substitute: String? = nil) {
    self.entityName = entityName
    self.propertyName = propertyName
    self.reason = substitute.map { "\(reason); \($0)" } ?? reason
    self.substitute = substitute
  }

  /// The issue without what is used instead, for an error: then nothing is used.
  package var withoutSubstitute: ModelIssue {
    ModelIssue(
      entityName: entityName, propertyName: propertyName, reason: substitute.map { String(reason.dropLast($0.count + 2)) } ?? reason)
  }

  /// `Entity.property: reason`.
  public var description: String {
    [[entityName, propertyName].compactMap { $0 }.joined(separator: "."), reason].filter { !$0.isEmpty }.joined(separator: ": ")
  }
}

/// All mistakes of a model at once. Making a coordinator or container with such a model throws it.
///
/// ```swift
/// do {
///   _ = try PersistentStoreCoordinator(managedObjectModel: model)
/// } catch let error as ModelValidationError {
///   for issue in error.issues { print(issue) }
/// }
/// ```
public struct ModelValidationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The mistakes, in model order; never empty.
  public let issues: [ModelIssue]

  package init(issues: [ModelIssue]) { self.issues = issues }

  /// The mistakes in one line; at most the first 50 of them.
  public var description: String {
    let rest = issues.count > 50 ? "; and \(issues.count - 50) more" : ""
    return "the model has \(issues.count == 1 ? "a mistake" : "\(issues.count) mistakes"): "
      + issues.prefix(50).map(\.description).joined(separator: "; ") + rest
  }
}

extension ManagedObjectModel {
  /// Every mistake of the model, in model order; empty when it may be compiled. ``CompiledModel`` refuses a model that has any.
  ///
  /// Linear in the number of properties.
  public func validationIssues() -> [ModelIssue] { ModelValidation(checking: self).issues }

  /// What the model says that has no effect, or not the whole effect that it seems to have, in model order. Core Data accepts each of them in a model, so that
  /// ``CompiledModel`` does too: an index over a to-many relationship is left out, an inverse that does not lead back is set from its own side only, a default
  /// value may lie outside its attribute's bounds.
  ///
  /// Of a model that ``validationIssues()`` has mistakes of, the list may be incomplete. Linear in the number of properties.
  public func validationWarnings() -> [ModelIssue] { ModelValidation(checking: self).warnings }
}

public import Foundation

/// An issue in a model.
///
/// ```swift
/// for issue in model.validationIssues() { print(issue.entityName ?? "the model", issue.reason) }
/// ```
///
/// A model with issues cannot open a store: creating a container or coordinator throws ``ModelValidationError`` with all issues.
public struct ModelIssue: Sendable, Hashable, CustomStringConvertible {
  /// The name of the affected entity, if any.
  public let entityName: String?
  /// The name of the affected property, index or configuration, if any.
  public let propertyName: String?
  /// A message that says what is wrong and what to do.
  public let reason: String
  /// The end of the reason that says what is used instead; nil if nothing is substituted.
  let substitute: String?

  /// Creates an issue.
  ///
  /// - Parameter substitute: A description of what is used instead, appended to the reason.
  package init(entityName: String? = nil, propertyName: String? = nil, reason: String, instead substitute: String? = nil) {
    self.entityName = entityName
    self.propertyName = propertyName
    self.reason = substitute.map { "\(reason); \($0)" } ?? reason
    self.substitute = substitute
  }

  /// The issue without the substitute, for an error, in which nothing is substituted.
  package var withoutSubstitute: ModelIssue {
    ModelIssue(
      entityName: entityName, propertyName: propertyName, reason: substitute.map { String(reason.dropLast($0.count + 2)) } ?? reason)
  }

  /// The issue as `Entity.property: reason`.
  public var description: String {
    [[entityName, propertyName].compactMap { $0 }.joined(separator: "."), reason].filter { !$0.isEmpty }.joined(separator: ": ")
  }
}

/// All issues of a model. Thrown when a coordinator or container is created with the model.
///
/// ```swift
/// do {
///   _ = try PersistentStoreCoordinator(managedObjectModel: model)
/// } catch let error as ModelValidationError {
///   for issue in error.issues { print(issue) }
/// }
/// ```
public struct ModelValidationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The issues, in model order; never empty.
  public let issues: [ModelIssue]

  package init(issues: [ModelIssue]) { self.issues = issues }

  /// Up to 50 issues in one line.
  public var description: String {
    let rest = issues.count > 50 ? "; and \(issues.count - 50) more" : ""
    return "the model has \(issues.count == 1 ? "an error" : "\(issues.count) errors"): "
      + issues.prefix(50).map(\.description).joined(separator: "; ") + rest
  }
}

extension ManagedObjectModel {
  /// Returns all issues of the model, in model order; empty if the model is valid. ``CompiledModel`` rejects a model with issues.
  ///
  /// - Complexity: O(*n*) in the number of properties.
  public func validationIssues() -> [ModelIssue] { ModelValidation(checking: self).issues }

  /// Returns warnings about parts of the model that have no effect, or less effect than they suggest, in model order. Core Data accepts
  /// them, and so does ``CompiledModel``. For example, an index over a to-many relationship is omitted, an inverse that does not refer back
  /// is set from one side only, and a default value is outside its attribute's bounds.
  ///
  /// The list may be incomplete if ``validationIssues()`` is not empty.
  ///
  /// - Complexity: O(*n*) in the number of properties.
  public func validationWarnings() -> [ModelIssue] { ModelValidation(checking: self).warnings }
}

// MARK: - Advice

extension ModelValidationError: LocalizedError {}

extension ModelValidationError: AdvisedError {
  /// The messages for the user and the developer of an application.
  package var advice: ErrorAdvice {
    ErrorAdvice(
      user: "The application is configured incorrectly.",
      developer: "Correct each of the issues in the model; cipherdata model lint finds them before the application runs.")
  }
}

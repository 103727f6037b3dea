// ModelMergeError+Advice: what ModelMergeError tells an application's user and its developer.
public import Foundation

extension ModelMergeError: LocalizedError {
  /// What an application may tell its user: no names of files or the like, and no stored value.
  public var errorDescription: String? { advice.user }
  /// What is wrong, and where.
  public var failureReason: String? { description }
  /// What a developer can do about it.
  public var recoverySuggestion: String? { advice.developer }
}

extension ModelMergeError {
  /// What it tells an application's user and developer.
  package var advice: ErrorAdvice {
    switch self {
    case .differentEntities:
      ErrorAdvice(
        user: "The application is set up wrongly.",
        developer:
          "Make the entities of one name equal in all models, or rename one.")
    case .differentTemplates:
      ErrorAdvice(
        user: "The application is set up wrongly.",
        developer:
          "Rename one of the fetch request templates.")
    case .differentComposites:
      ErrorAdvice(
        user: "The application is set up wrongly.",
        developer:
          "Rename one of the composites.")
    }
  }
}

public import Foundation

extension ModelMergeError: LocalizedError {}

extension ModelMergeError: AdvisedError {
  /// The messages for the user and the developer of an application.
  @_optimize(none) package var advice: ErrorAdvice {
    switch self {
    case .differentEntities:
      ErrorAdvice(
        user: "The application is configured incorrectly.",
        developer: "Make entities with the same name equal in all models, or rename one.")
    case .differentTemplates:
      ErrorAdvice(user: "The application is configured incorrectly.", developer: "Rename one of the fetch request templates.")
    case .differentComposites: ErrorAdvice(user: "The application is configured incorrectly.", developer: "Rename one of the composites.")
    }
  }
}

// ModelMergeError+Advice: what ModelMergeError tells an application's user and its developer.
public import Foundation

extension ModelMergeError: LocalizedError {}

extension ModelMergeError: AdvisedError {
  /// What it tells an application's user and developer.
  @_optimize(none) package var advice: ErrorAdvice {
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

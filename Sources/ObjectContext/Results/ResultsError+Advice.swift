public import Foundation
package import ObjectModel

extension ResultsError: LocalizedError {}

extension ResultsError: AdvisedError {
  /// The advice for an application's user and its developer.
  package var advice: ErrorAdvice {
    switch self {
    case .noSortDescriptors:
      ErrorAdvice(
        user: "This list cannot be shown.",
        developer:
          "Set the request's sortDescriptors.")
    case .dictionaryResults:
      ErrorAdvice(
        user: "This list cannot be shown.",
        developer:
          "Set the request's resultType to .objects.")
    case .pendingChangesExcluded:
      ErrorAdvice(
        user: "This list cannot be shown.",
        developer:
          "Set the request's includesPendingChanges to true.")
    case .sectionWithoutName:
      ErrorAdvice(
        user: "This list cannot be shown.",
        developer:
          "Use an attribute for the section names, or an expression that returns a string or a number.")
    case .sectionsOutOfOrder:
      ErrorAdvice(
        user: "This list cannot be shown.",
        developer:
          "Sort by the section name first.")
    }
  }
}

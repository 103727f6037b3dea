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
          "Set sortDescriptors of the request.")
    case .dictionaryResults:
      ErrorAdvice(
        user: "This list cannot be shown.",
        developer:
          "Set resultType of the request to .objects.")
    case .pendingChangesExcluded:
      ErrorAdvice(
        user: "This list cannot be shown.",
        developer:
          "Set includesPendingChanges of the request to true.")
    case .sectionWithoutName:
      ErrorAdvice(
        user: "This list cannot be shown.",
        developer:
          "Name sections by an attribute, or an expression with a text or a number.")
    case .sectionsOutOfOrder:
      ErrorAdvice(
        user: "This list cannot be shown.",
        developer:
          "Sort by what names the sections first.")
    }
  }
}

public import Foundation
package import ObjectModel

extension ResultsError: LocalizedError {}

extension ResultsError: AdvisedError {
  /// The advice for an application's user and its developer.
  package var advice: ErrorAdvice {
    let developer =
      switch self {
      case .noSortDescriptors: "Set the request's sortDescriptors."
      case .dictionaryResults: "Set the request's resultType to .objects."
      case .pendingChangesExcluded: "Set the request's includesPendingChanges to true."
      case .sectionWithoutName: "Use an attribute for the section names, or an expression that returns a string or a number."
      case .sectionsOutOfOrder: "Sort by the section name first."
      }
    return ErrorAdvice(user: "This list cannot be shown.", developer: developer)
  }
}

public import Foundation
package import ObjectModel

/// An error of a request whose results cannot be kept up to date. ``FetchedResultsController/performFetch()`` throws it. It contains no
/// stored values.
public enum ResultsError: Error, Sendable, Hashable {
  /// The request has no sort descriptors.
  case noSortDescriptors(entity: String)
  /// The request fetches dictionaries instead of objects.
  case dictionaryResults(entity: String)
  /// The request excludes unsaved changes, which live results must include.
  case pendingChangesExcluded(entity: String)
  /// The section name expression has no value that can be a name. For example, it is a relationship.
  case sectionWithoutName(section: String, entity: String)
  /// The request's order does not keep the objects of a section together.
  case sectionsOutOfOrder(section: String, entity: String)
}

extension ResultsError: CustomStringConvertible {
  /// A description of the error and its correction.
  public var description: String { description(\.text) }

  package func description(_ words: (Remedy) -> String) -> String {
    switch self {
    case .noSortDescriptors(let entity):
      "The request for \(entity) has no sort descriptors. Results that are kept up to date need an order. \(words(.setOrder))"
    case .dictionaryResults(let entity):
      "The request for \(entity) has a dictionary result type. Only objects are kept up to date: set resultType to .objects."
    case .pendingChangesExcluded(let entity):
      "The request for \(entity) excludes unsaved changes, which the context reports. Set includesPendingChanges to true."
    case .sectionWithoutName(let section, let entity):
      "\(section) of \(entity) cannot name sections. Use an attribute, or an expression that returns a string or a number."
    case .sectionsOutOfOrder(let section, let entity):
      "The objects of \(entity) in one section by \(section) are not adjacent. Sort by \(section) first, or by a key with the same order."
    }
  }
}

// MARK: - Advice

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

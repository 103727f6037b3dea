// ResultsError: why a request cannot be kept up to date.

/// Why ``FetchedResultsController/performFetch()`` cannot keep a request's results up to date. No case carries a value.
public enum ResultsError: Error, Sendable, Hashable {
  /// The request has no order.
  case noSortDescriptors(entity: String)
  /// The request asks for dictionaries, which are no objects.
  case dictionaryResults(entity: String)
  /// The request leaves unsaved changes out, of which a list that is kept up to date tells.
  case pendingChangesExcluded(entity: String)
  /// The expression that names sections has no value that could be a name, such as a relationship.
  case sectionWithoutName(section: String, entity: String)
  /// The objects of a section do not stand together in the order of the request.
  case sectionsOutOfOrder(section: String, entity: String)
}

extension ResultsError: CustomStringConvertible {
  /// What is wrong, where, and what to do.
  public var description: String {
    switch self {
    case .noSortDescriptors(let entity):
      "The request for \(entity) has no sort descriptors. Results that are kept up to date need an order: set sortDescriptors."
    case .dictionaryResults(let entity):
      "The request for \(entity) asks for dictionaries. Only objects are kept up to date: set resultType to .objects."
    case .pendingChangesExcluded(let entity):
      "The request for \(entity) leaves unsaved changes out, of which the context tells. Set includesPendingChanges to true."
    case .sectionWithoutName(let section, let entity):
      "\(section) of \(entity) cannot name sections. Use an attribute, or an expression with a value such as a text or a number."
    case .sectionsOutOfOrder(let section, let entity):
      "The objects of \(entity) that \(section) puts into one section do not stand together. Sort by \(section) first, or by what gives the same order."
    }
  }
}

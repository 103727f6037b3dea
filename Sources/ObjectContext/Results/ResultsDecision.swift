// ResultsDecision: what was found out about an object that may be a result.
import ObjectModel

/// What was found out about an object that may be a result.
struct ResultsDecision {
  /// Where the object stands.
  enum Outcome {
    /// It is no result.
    case none
    /// It is one, with these values.
    case result(ResultItem)
    /// It is one if it was one, and stands where it stood.
    case unchanged
  }

  let id: ManagedObjectID
  let outcome: Outcome
  /// Whether values of its own were changed.
  let isUpdated: Bool
  /// Whether such were that it is not sorted by.
  let hasOtherChanges: Bool
}

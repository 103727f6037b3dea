import ObjectModel

/// The result of checking an object that may be a result.
struct ResultsDecision {
  /// The outcome of the check.
  enum Outcome {
    /// The object is not a result.
    case none
    /// The object is a result with these sort values.
    case result(ResultItem)
    /// The object is a result if it was one before, at the same position.
    case unchanged
  }

  let id: ManagedObjectID
  let outcome: Outcome
  /// Whether the object's own values changed.
  let isUpdated: Bool
  /// Whether own values changed that are not sort values.
  let hasOtherChanges: Bool
}

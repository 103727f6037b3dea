import ObjectStore

/// The first error of a context that could not be thrown where it occurred, until a save throws it, and the merge policy's validation
/// error.
package struct DeferredErrors {
  private var first: (any Error)?
  /// Whether a fetch has already thrown the error.
  private var isReported = false
  private var policyError: (any Error)?
  /// The number of errors so far.
  package private(set) var count = 0

  package init() {}

  /// The error that the next save throws.
  package var pending: (any Error)? { first ?? policyError }

  /// Stores an error, unless there is one that has not been thrown yet.
  package mutating func record(_ error: any Error) {
    count += 1
    if first != nil, !isReported { return }
    (first, isReported) = (error, false)
  }

  /// Throws the stored error, and clears it.
  package mutating func settle() throws {
    guard let error = first else { return }
    forget()
    throw error
  }

  /// Throws the stored error, once. It remains stored for the next save, because a fetch does not correct the values that are wrong.
  package mutating func throwRecorded() throws {
    guard let error = first, !isReported else { return }
    isReported = true
    throw error
  }

  package mutating func forget() { (first, isReported) = (nil, false) }

  /// Clears the stored error if it is a cancellation, which does not concern later callers.
  package mutating func forgetCancellation() {
    if first is CancellationError || (first as? StoreError)?.code == .cancelled { first = nil }
  }

  /// Sets the validation error of the merge policy, which every save throws.
  package mutating func setPolicyIssues(_ error: (any Error)?) { policyError = error }

  /// Throws if the merge policy does not fit the model.
  package func checkPolicy() throws {
    if let policyError { throw policyError }
  }
}

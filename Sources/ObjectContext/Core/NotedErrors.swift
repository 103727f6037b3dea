// NotedErrors: what went wrong in a context where nothing could be thrown.
import ObjectStore

/// The first of the errors that could not be thrown where they happened, until a save throws it; and why the merge policy does not fit.
package struct NotedErrors {
  private var first: (any Error)?
  /// Whether a fetch has thrown it already.
  private var isTold = false
  private var policyError: MergePolicyError?
  /// How often something went wrong.
  package private(set) var count = 0

  /// Nothing went wrong.
  package init() {}

  /// What the next save throws.
  package var pending: (any Error)? { first ?? policyError }

  /// Keeps an error, unless there is one that nobody was told of.
  package mutating func note(_ error: any Error) {
    count += 1
    if first != nil, !isTold { return }
    (first, isTold) = (error, false)
  }

  /// Throws what could not be thrown earlier, and is done with it.
  package mutating func settle() throws {
    guard let error = first else { return }
    forget()
    throw error
  }

  /// Throws, once, what could not be thrown earlier. It stays for the next save: that somebody has fetched meanwhile makes no values right.
  package mutating func tell() throws {
    guard let error = first, !isTold else { return }
    isTold = true
    throw error
  }

  /// Forgets what could not be thrown.
  package mutating func forget() { (first, isTold) = (nil, false) }

  /// Forgets that a read was called off: whoever comes next has called nothing off.
  package mutating func forgetCancellation() {
    if first is CancellationError || (first as? StoreError)?.code == .cancelled { first = nil }
  }

  /// The merge policy was set: the mistakes in it, if there are any, are what every save throws.
  package mutating func setPolicyIssues(_ error: MergePolicyError?) { policyError = error }

  /// Throws if the merge policy does not fit.
  package func checkPolicy() throws {
    if let policyError { throw policyError }
  }
}

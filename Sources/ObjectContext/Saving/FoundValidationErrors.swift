// FoundValidationErrors: what the rules of several objects, or of several properties, throw.
import ObjectStore

/// Gathers what validation finds wrong.
struct FoundValidationErrors {
  private(set) var errors: [ValidationError]

  init(_ errors: [ValidationError] = []) { self.errors = errors }

  /// Adds what the rules of an object threw.
  ///
  /// - Throws: The error where it does not say that something is invalid: a store has failed, a rule has used a wrong key, the task was canceled.
  mutating func add(_ error: any Error, of object: ManagedObject) throws {
    switch error {
    case let error as ValidationError: errors += error.code == .multipleErrors ? error.errors : [error]
    case is StoreError, is KeyValueError, is CancellationError: throw error
    default: errors.append(ValidationError(error, of: object))
    }
  }

  /// Throws what was found: a single error of the application is thrown as it is.
  func check() throws {
    if errors.isEmpty { return }
    if errors.count == 1, let underlying = errors[0].underlying { throw underlying }
    throw ValidationError(errors)
  }
}

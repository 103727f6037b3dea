import ObjectStore

struct ValidationErrorCollector {
  private(set) var errors: [ValidationError]

  init(_ errors: [ValidationError] = []) { self.errors = errors }

  /// Adds an error thrown by the validation of an object.
  ///
  /// - Throws: The error if it is not a validation failure: a store error, a wrong key, a cancellation.
  mutating func add(_ error: any Error, of object: ManagedObject) throws {
    switch error {
    case let error as ValidationError: errors += error.code == .multipleErrors ? error.errors : [error]
    case is StoreError, is KeyValueError, is CancellationError: throw error
    default: errors.append(ValidationError(error, of: object))
    }
  }

  /// Throws the collected errors. A single error of the application is thrown unchanged.
  func check() throws {
    if errors.isEmpty { return }
    if errors.count == 1, let underlying = errors[0].underlying { throw underlying }
    throw ValidationError(errors)
  }
}

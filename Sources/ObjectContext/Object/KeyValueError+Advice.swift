public import Foundation
package import ObjectModel

extension KeyValueError: LocalizedError {}

extension KeyValueError: AdvisedError {
  package var advice: ErrorAdvice { code.advice }
}

extension KeyValueError.Code {
  /// The advice for an application's user and its developer.
  package var advice: ErrorAdvice {
    switch self {
    case .unknownKey:
      ErrorAdvice(
        user: "This is not possible.",
        developer:
          "Correct the key; the description has the closest one, or all that there are.")
    case .unknownRelationship:
      ErrorAdvice(
        user: "This is not possible.",
        developer:
          "Correct the key; the description has the closest one, or all that there are.")
    case .notAnObject:
      ErrorAdvice(
        user: "This is not possible.",
        developer:
          "End the key path at the property, or use a collection operator such as @count behind a to-many relationship.")
    case .wrongType:
      ErrorAdvice(
        user: "A value is of the wrong kind.",
        developer:
          "Give a value of the type that the description expects, or convert it first.")
    case .outOfRange:
      ErrorAdvice(
        user: "A number is too large or too small.",
        developer:
          "Give a number that the attribute's type holds, or give the attribute a wider type in the model.")
    case .readOnly:
      ErrorAdvice(
        user: "This cannot be changed.",
        developer:
          "Derived and fetched properties follow from others: change those.")
    case .transformFailed:
      ErrorAdvice(
        user: "A value cannot be used.",
        developer:
          "Look into the attribute's transformer, and that it is registered before the store is opened.")
    }
  }
}

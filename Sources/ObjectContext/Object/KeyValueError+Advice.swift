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
      ErrorAdvice(user: "This is not possible.", developer: "Correct the key; the description suggests the closest key or lists all keys.")
    case .unknownRelationship:
      ErrorAdvice(user: "This is not possible.", developer: "Correct the key; the description suggests the closest key or lists all keys.")
    case .notAnObject:
      ErrorAdvice(
        user: "This is not possible.",
        developer: "End the key path at the property, or use a collection operator such as @count after a to-many relationship.")
    case .wrongType:
      ErrorAdvice(user: "A value has the wrong type.", developer: "Use a value of the type in the description, or convert it first.")
    case .outOfRange:
      ErrorAdvice(
        user: "A number is too large or too small.",
        developer: "Use a number in the range of the attribute's type, or give the attribute a wider type in the model.")
    case .readOnly:
      ErrorAdvice(
        user: "This cannot be changed.",
        developer: "Derived and fetched properties are computed: change the properties that they depend on.")
    case .transformFailed:
      ErrorAdvice(
        user: "A value cannot be used.",
        developer: "Check the attribute's transformer, and register it before the store is opened.")
    }
  }
}

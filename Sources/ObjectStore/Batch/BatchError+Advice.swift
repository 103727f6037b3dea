public import Foundation
package import ObjectModel

extension BatchError: LocalizedError {}

extension BatchError: AdvisedError {
  package var advice: ErrorAdvice { code.advice }
}

extension BatchError.Code {
  /// The texts of an error of this kind for the user and for the developer of an application.
  package var advice: ErrorAdvice {
    switch self {
    case .unknownKey: ErrorAdvice(user: "This is not possible.", developer: "Correct the property's name.")
    case .notSettable:
      ErrorAdvice(
        user: "This is not possible.",
        developer: "Batch requests write stored attributes and to-one relationships. Set other properties on objects.")
    case .wrongType:
      ErrorAdvice(user: "A value has the wrong type.", developer: "Use a value of the attribute's type. The reason names both types.")
    case .numberOutOfRange:
      ErrorAdvice(
        user: "A number is too large or too small.",
        developer: "Use a number in the range of the attribute's type, or give the attribute a wider type in the model.")
    case .missingValue:
      ErrorAdvice(
        user: "A required value is missing.",
        developer: "Set the property in each row, give the attribute a default value, or make it optional.")
    case .invalidValue: ErrorAdvice(user: "A value is not allowed.", developer: "Use a value within the bounds that the model sets.")
    case .objectNotFound:
      ErrorAdvice(
        user: "A related item was deleted in the meantime.",
        developer: "Use the ID of an object that is saved in the same store.")
    case .deletionDenied:
      ErrorAdvice(
        user: "This is still in use and cannot be deleted.",
        developer: "Delete or change the objects in objectIDs first, or change the delete rule.")
    case .requiredRelationship:
      ErrorAdvice(
        user: "This is still in use and cannot be deleted.",
        developer: "Set another destination for the objects in objectIDs first, or delete them too.")
    }
  }
}

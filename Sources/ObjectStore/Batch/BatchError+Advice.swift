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
    case .unknownKey:
      ErrorAdvice(
        user: "This is not possible.",
        developer:
          "Correct the property's name.")
    case .notSettable:
      ErrorAdvice(
        user: "This is not possible.",
        developer:
          "Batch requests write stored attributes and to-one relationships; set others on objects.")
    case .wrongType:
      ErrorAdvice(
        user: "A value is of the wrong kind.",
        developer:
          "Give a value of the attribute's type; the reason names both types.")
    case .numberOutOfRange:
      ErrorAdvice(
        user: "A number is too large or too small.",
        developer:
          "Give a number that the attribute's type holds, or give the attribute a wider type in the model.")
    case .missingValue:
      ErrorAdvice(
        user: "A required value is missing.",
        developer:
          "Give each row a value of the property, give the attribute a default value, or make it optional.")
    case .invalidValue:
      ErrorAdvice(
        user: "A value is not allowed.",
        developer:
          "Give a value within the bounds that the model sets.")
    case .objectNotFound:
      ErrorAdvice(
        user: "Something that this refers to was deleted meanwhile.",
        developer:
          "Give the ID of an object that was saved in the same store.")
    case .deletionDenied:
      ErrorAdvice(
        user: "This is still in use and cannot be deleted.",
        developer:
          "Delete or change the objects of objectIDs first, or change the delete rule.")
    case .requiredRelationship:
      ErrorAdvice(
        user: "This is still in use and cannot be deleted.",
        developer:
          "Give the objects of objectIDs another destination first, or delete them too.")
    }
  }
}

public import Foundation
package import ObjectModel

extension ValidationError: LocalizedError {
  /// A message for the user of an application, without file names and stored values.
  public var errorDescription: String? { userText }
}

extension ValidationError: AdvisedError {
  package var advice: ErrorAdvice { ownAdvice ?? code.advice }
}

extension ValidationError.Code {
  /// The messages for the user and the developer of an application.
  package var advice: ErrorAdvice {
    switch self {
    case .custom: ErrorAdvice(user: "This is not allowed.", developer: "Show the reason, which the application provides.")
    case .multipleErrors:
      ErrorAdvice(user: "Several problems must be corrected.", developer: "See errors, which lists each problem with its object and key.")
    case .missingValue:
      ErrorAdvice(
        user: "A required value is missing.",
        developer: "Set the property, give it a default value in the model, or make it optional.")
    case .tooFewObjects:
      ErrorAdvice(user: "A required item is missing.", developer: "Add objects to the relationship, or lower its minimum in the model.")
    case .tooManyObjects:
      ErrorAdvice(user: "There are too many items.", developer: "Remove objects from the relationship, or raise its maximum in the model.")
    case .deletionDenied:
      ErrorAdvice(
        user: "This is still in use and cannot be deleted.",
        developer: "Remove or delete the objects that refer to it first, or change the delete rule.")
    case .numberTooLarge: ErrorAdvice(user: "A number is too large.", developer: "Correct the value, or raise the maximum in the model.")
    case .numberTooSmall: ErrorAdvice(user: "A number is too small.", developer: "Correct the value, or lower the minimum in the model.")
    case .dateTooLate: ErrorAdvice(user: "A date is too late.", developer: "Correct the value, or raise the maximum in the model.")
    case .dateTooSoon: ErrorAdvice(user: "A date is too early.", developer: "Correct the value, or lower the minimum in the model.")
    case .invalidDate: ErrorAdvice(user: "This is not a valid date.", developer: "Use a date with a finite number of seconds.")
    case .stringTooLong:
      ErrorAdvice(user: "The text is too long.", developer: "Shorten the value, or raise the maximum length in the model.")
    case .stringTooShort:
      ErrorAdvice(user: "The text is too short.", developer: "Lengthen the value, or lower the minimum length in the model.")
    case .patternMismatch:
      ErrorAdvice(
        user: "The text does not have the expected format.",
        developer: "Correct the value, or the regular expression in the model.")
    case .invalidURI: ErrorAdvice(user: "This is not a valid address.", developer: "Use a URL that has a text representation.")
    }
  }
}

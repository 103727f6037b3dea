public import Foundation

extension AttributeTransformError: LocalizedError {}

extension AttributeTransformError: AdvisedError {
  /// The messages for the user and the developer of an application.
  package var advice: ErrorAdvice {
    switch self {
    case .unknownTransformer:
      ErrorAdvice(
        user: "The application is configured incorrectly.",
        developer: "Call AttributeTransformers.register(_:forName:) before a store is opened.")
    case .wrongType:
      ErrorAdvice(
        user: "A value has the wrong type.",
        developer: "Use a value of the transformer's type, or an Encodable value if the attribute has no transformer.")
    case .failed:
      ErrorAdvice(
        user: "A value cannot be used.",
        developer: "Check the transformer. Only the type of its error is reported, because the error may contain the value.")
    }
  }
}

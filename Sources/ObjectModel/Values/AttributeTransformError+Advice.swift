public import Foundation

extension AttributeTransformError: LocalizedError {}

extension AttributeTransformError: AdvisedError {
  /// The messages for the user and the developer of an application.
  package var advice: ErrorAdvice {
    switch self {
    case .unknownTransformer:
      ErrorAdvice(
        user: "The application is set up wrongly.",
        developer:
          "Call AttributeTransformers.register(_:forName:) before a store is opened.")
    case .wrongType:
      ErrorAdvice(
        user: "A value is of the wrong kind.",
        developer:
          "Give a value of the transformer's type, or an Encodable one where no transformer is named.")
    case .failed:
      ErrorAdvice(
        user: "A value cannot be used.",
        developer:
          "Look into the transformer: only the type of its error is told, since the error may hold the value.")
    }
  }
}

public import Foundation

extension ModelFileError: LocalizedError {}

extension ModelFileError: AdvisedError {
  package var advice: ErrorAdvice { code.advice }
}

extension ModelFileError.Code {
  /// The messages for the user and the developer of an application.
  @_optimize(none) package var advice: ErrorAdvice {
    switch self {
    case .unreadable:
      ErrorAdvice(
        user: "A file of the application is missing or cannot be read.",
        developer:
          "Check the path, that the model is among the resources of the target, and the file's mode.")
    case .unwritable:
      ErrorAdvice(
        user: "A file cannot be written.",
        developer:
          "Check the folder's mode and the room on the disk.")
    case .tooLarge:
      ErrorAdvice(
        user: "A file of the application is damaged.",
        developer:
          "No model is that large: check that the file is one.")
    case .unsafe:
      ErrorAdvice(
        user: "A file of the application is damaged.",
        developer:
          "Remove the document type and the XML entities: a model has no use for them.")
    case .malformed:
      ErrorAdvice(
        user: "A file of the application is damaged.",
        developer:
          "Correct the XML at the line that is named, or bring the file back from version control.")
    case .notAModel:
      ErrorAdvice(
        user: "A file of the application is damaged.",
        developer:
          "Give the path of an .xcdatamodel, an .xcdatamodeld or the contents file inside.")
    case .badValue:
      ErrorAdvice(
        user: "A file of the application is damaged.",
        developer:
          "Correct the value at the line that is named.")
    case .noCurrentVersion:
      ErrorAdvice(
        user: "A file of the application is damaged.",
        developer:
          "Add a version to the bundle, and say in its .xccurrentversion which is current.")
    case .compiled:
      ErrorAdvice(
        user: "A file of the application is damaged.",
        developer:
          "Give the .xcdatamodeld or .xcdatamodel that the model was compiled from.")
    }
  }
}

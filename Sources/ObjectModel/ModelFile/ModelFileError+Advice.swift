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
        developer: "Check the path, the file's mode, and that the model is a resource of the target.")
    case .unwritable: ErrorAdvice(user: "A file cannot be written.", developer: "Check the folder's mode and the free disk space.")
    case .tooLarge:
      ErrorAdvice(user: "A file of the application is damaged.", developer: "The file is too large to be a model: check the path.")
    case .unsafe:
      ErrorAdvice(
        user: "A file of the application is damaged.",
        developer: "Remove the document type and the XML entities: a model must not contain them.")
    case .malformed:
      ErrorAdvice(
        user: "A file of the application is damaged.",
        developer: "Correct the XML at the line in the message, or restore the file from version control.")
    case .notAModel:
      ErrorAdvice(
        user: "A file of the application is damaged.",
        developer: "Use the path of an .xcdatamodel, an .xcdatamodeld or the contents file inside.")
    case .badValue: ErrorAdvice(user: "A file of the application is damaged.", developer: "Correct the value at the line in the message.")
    case .noCurrentVersion:
      ErrorAdvice(
        user: "A file of the application is damaged.",
        developer: "Add a version to the bundle, and name the current version in its .xccurrentversion.")
    case .compiled:
      ErrorAdvice(
        user: "A file of the application is damaged.",
        developer: "Use the .xcdatamodeld or .xcdatamodel that the model was compiled from.")
    }
  }
}

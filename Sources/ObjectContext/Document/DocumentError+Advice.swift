public import Foundation
package import ObjectModel

extension DocumentError: LocalizedError {}

extension DocumentError: AdvisedError {
  package var advice: ErrorAdvice { code.advice }
}

extension DocumentError.Code {
  /// The messages for users and developers of an application.
  package var advice: ErrorAdvice {
    switch self {
    case .alreadyExists:
      ErrorAdvice(
        user: "There is a document of this name already.",
        developer:
          "Choose another name, open the document that is there, or save with .overwriting.")
    case .doesNotExist:
      ErrorAdvice(
        user: "The document was not found.",
        developer:
          "Create it with save(to:for:) before it is opened.")
    case .notADocument:
      ErrorAdvice(
        user: "This is no document.",
        developer:
          "Choose a folder that a document was made in; delete what an interrupted creation left.")
    case .damagedInfo:
      ErrorAdvice(
        user: "The document is damaged.",
        developer:
          "Restore Info.json from a backup; the store beside it may be whole, and a container opens it.")
    case .newerFormat:
      ErrorAdvice(
        user: "The document was made by a newer version of the application.",
        developer:
          "Open it with the newer application.")
    case .closed:
      ErrorAdvice(
        user: "The document is not open.",
        developer:
          "Wait for open() before the document is used.")
    case .alreadyOpen:
      ErrorAdvice(
        user: "The document is open already.",
        developer:
          "Use the document that is open, or close it first.")
    case .inConflict:
      ErrorAdvice(
        user: "The document was changed elsewhere meanwhile.",
        developer:
          "Call resolveConflicts(keeping:), or give the document a merge policy.")
    case .moved:
      ErrorAdvice(
        user: "The document was moved or removed.",
        developer:
          "Let the user put it back, or save it to another place.")
    case .replaced:
      ErrorAdvice(
        user: "The document was replaced by another one.",
        developer:
          "Close the document and open it again.")
    case .invalidName:
      ErrorAdvice(
        user: "This name cannot be used.",
        developer:
          "Give a name that is not empty, does not begin with a dot and has no slash.")
    case .notCopyable:
      ErrorAdvice(
        user: "The document cannot be copied.",
        developer:
          "Use an encrypted store, which can be copied while it is open.")
    case .fileAccess:
      ErrorAdvice(
        user: "The document cannot be read or written.",
        developer:
          "See the detail: owner and mode of the files, and room on the disk.")
    }
  }
}

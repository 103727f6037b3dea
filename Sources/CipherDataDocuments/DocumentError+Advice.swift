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
        user: "A document with this name already exists.",
        developer: "Choose another name, open the existing document, or save with .overwriting.")
    case .doesNotExist:
      ErrorAdvice(user: "The document was not found.", developer: "Create the document with save(to:for:) before opening it.")
    case .notADocument:
      ErrorAdvice(
        user: "This is not a document.",
        developer: "Choose the folder of a document. Delete the remains of an interrupted creation.")
    case .damagedInfo:
      ErrorAdvice(
        user: "The document is damaged.",
        developer: "Restore Info.json from a backup. The document's store may be intact; open it with a container.")
    case .newerFormat:
      ErrorAdvice(user: "The document was made by a newer version of the application.", developer: "Open it with the newer application.")
    case .closed: ErrorAdvice(user: "The document is not open.", developer: "Wait for open() before using the document.")
    case .alreadyOpen: ErrorAdvice(user: "The document is open already.", developer: "Use the document that is open, or close it first.")
    case .inConflict:
      ErrorAdvice(
        user: "The document was changed elsewhere in the meantime.",
        developer: "Call resolveConflicts(keeping:), or give the document a merge policy.")
    case .moved:
      ErrorAdvice(user: "The document was moved or removed.", developer: "Ask the user to put it back, or save it to another location.")
    case .replaced: ErrorAdvice(user: "The document was replaced by another one.", developer: "Close the document and open it again.")
    case .invalidName:
      ErrorAdvice(
        user: "This name cannot be used.",
        developer: "Use a name that is not empty, does not begin with a period and contains no slash.")
    case .notCopyable:
      ErrorAdvice(user: "The document cannot be copied.", developer: "Use an encrypted store, which can be copied while it is open.")
    case .fileAccess:
      ErrorAdvice(
        user: "The document cannot be read or written.",
        developer: "See the detail, and check the owner and mode of the files and the free disk space.")
    }
  }
}

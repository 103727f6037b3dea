/// An error of a ``ManagedDocument``: its folder is not valid, or its state does not allow the operation.
///
/// ```swift
/// do {
///   try await document.open()
/// } catch let error as DocumentError where error.code == .doesNotExist {
///   try await document.save(to: document.url, for: .creating)
/// }
/// ```
///
/// Errors of the document's store are ``StoreError`` values, and those of its objects ``ValidationError`` values.
public struct DocumentError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kinds of errors.
  public enum Code: Sendable, Hashable, CaseIterable {
    /// The location of the new document is already in use.
    case alreadyExists
    /// There is no document to open or overwrite.
    case doesNotExist
    /// The item is not a document: it is not a folder, or a folder without the parts of a document, such as one whose creation was
    /// interrupted.
    case notADocument
    /// The document's `Info.json` is not valid.
    case damagedInfo
    /// The document has a layout of a newer version of the library.
    case newerFormat
    /// The document is not open.
    case closed
    /// The document is already open, or is being opened or closed.
    case alreadyOpen
    /// Unsaved changes conflict with changes saved elsewhere. Call ``ManagedDocument/resolveConflicts(keeping:)`` before saving.
    case inConflict
    /// The document's folder is no longer at its location.
    case moved
    /// Another folder has replaced the document's folder.
    case replaced
    /// The name is not valid for a file in the document.
    case invalidName
    /// The store's type does not support copying.
    case notCopyable
    /// The system denies access to a file, or the disk is full.
    case fileAccess
  }

  /// The kind of error.
  public let code: Code
  /// The path of the folder or file.
  public let path: String
  /// Additional information, such as a message of the system.
  public let detail: String?

  package init(_ code: Code, _ path: String, detail: String? = nil) {
    self.code = code
    self.path = path
    self.detail = detail
  }

  /// A message that describes the error.
  public var description: String {
    let text =
      switch code {
      case .alreadyExists: "there is already a file at \(path), which creating a document does not replace"
      case .doesNotExist: "there is no document at \(path); create it first"
      case .notADocument: "\(path) is not a document: it is not a folder, or has no Info.json, as after an interrupted creation"
      case .damagedInfo: "the document's Info.json at \(path) was damaged or changed; the document's store may be intact"
      case .newerFormat: "the document at \(path) was made by a newer version of the library"
      case .closed: "the document at \(path) is not open"
      case .alreadyOpen: "the document at \(path) is open already, or about to be opened or closed"
      case .inConflict: "the document at \(path) was changed both here and elsewhere; choose which changes to keep"
      case .moved: "the document at \(path) was moved or removed while it was open; it cannot be saved until it is restored"
      case .replaced: "the document at \(path) was replaced by another folder while it was open; close and reopen it"
      case .invalidName: "a file name in the document at \(path) must not be empty, begin with a period or contain a slash"
      case .notCopyable: "the store of the document at \(path) has a type that cannot be copied"
      case .fileAccess: "\(path) cannot be read or written"
      }
    return detail.map { "\(text): \($0)" } ?? text
  }
}

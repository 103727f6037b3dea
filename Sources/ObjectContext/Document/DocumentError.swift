// DocumentError: what can go wrong with a document's folder and its state.

/// What went wrong with a ``ManagedDocument``: its folder is not what it should be, or the document is in no state for what was asked.
///
/// ```swift
/// do {
///   try await document.open()
/// } catch let error as DocumentError where error.code == .doesNotExist {
///   try await document.save(to: document.url, for: .creating)
/// }
/// ```
///
/// What its store says is a ``StoreError``, what its objects say a ``ValidationError``.
public struct DocumentError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kinds of errors.
  public enum Code: Sendable, Hashable, CaseIterable {
    /// Something is there already where a document is to be created.
    case alreadyExists
    /// No document is there that could be opened or overwritten.
    case doesNotExist
    /// What is there is no document: no folder, or one without what a document has. One whose creation was interrupted is such a folder.
    case notADocument
    /// The document's `Info.json` cannot be read as what it should be.
    case damagedInfo
    /// The document was made by a newer version of the library, in another layout.
    case newerFormat
    /// The document is not open.
    case closed
    /// The document is open already, or is being opened or closed.
    case alreadyOpen
    /// Others have saved what is changed here too: nothing is saved before ``ManagedDocument/resolveConflicts(keeping:)``.
    case inConflict
    /// The document's folder is no longer where it was.
    case moved
    /// Another folder stands where the document's was.
    case replaced
    /// The name cannot be that of a file in the document.
    case invalidName
    /// The kind of store cannot be copied.
    case notCopyable
    /// The system refuses access to a file, or has no room for it.
    case fileAccess
  }

  /// The kind.
  public let code: Code
  /// The folder or file.
  public let path: String
  /// What more is known.
  public let detail: String?

  package init(_ code: Code, _ path: String, detail: String? = nil) {
    self.code = code
    self.path = path
    self.detail = detail
  }

  /// What is wrong, in a sentence.
  public var description: String {
    let text =
      switch code {
      case .alreadyExists: "something is already at \(path), and a document is not created over it"
      case .doesNotExist: "there is no document at \(path); create it first"
      case .notADocument: "\(path) is no document: it is no folder, or has no Info.json, as after a creation that was interrupted"
      case .damagedInfo: "the document's Info.json at \(path) was damaged or changed by somebody else; the store beside it may be whole"
      case .newerFormat: "the document at \(path) was made by a newer version of the library"
      case .closed: "the document at \(path) is not open"
      case .alreadyOpen: "the document at \(path) is open already, or about to be opened or closed"
      case .inConflict: "others have saved what was changed in the document at \(path) too; decide whose changes are kept"
      case .moved: "the document at \(path) was moved or removed while it was open; nothing is saved before it is back"
      case .replaced: "another folder was put in the place of the document at \(path) while it was open; close and open it"
      case .invalidName: "a file of the document at \(path) has a name that is not empty, does not begin with a dot and has no slash"
      case .notCopyable: "the store of the document at \(path) is of a kind that cannot be copied"
      case .fileAccess: "\(path) cannot be read or written"
      }
    return detail.map { "\(text): \($0)" } ?? text
  }
}

// DocumentState: what a document is at the moment, and how it is saved.

/// What a document is at the moment; ``normal`` when nothing else is to be said.
public struct DocumentState: OptionSet, Sendable, Hashable {
  /// The raw value.
  public let rawValue: UInt
  /// A state of raw bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }
  /// The document is open, and all is well.
  public static let normal: DocumentState = []
  /// The document is not open.
  public static let closed = DocumentState(rawValue: 1)
  /// Others have saved what is changed here too; see ``ManagedDocument/conflicts``. Nothing is saved until that is resolved.
  public static let inConflict = DocumentState(rawValue: 2)
  /// The last save has failed; see ``ManagedDocument/savingError``. The changes are still there.
  public static let savingError = DocumentState(rawValue: 4)
  /// Nothing should be changed: the document is being opened, or its folder is not where it was.
  public static let editingDisabled = DocumentState(rawValue: 8)
}

/// How a document is saved to a place.
public enum DocumentSaveOperation: Sendable, Hashable {
  /// As a new document, where nothing is.
  case creating
  /// In the place of a document that is there.
  case overwriting
}

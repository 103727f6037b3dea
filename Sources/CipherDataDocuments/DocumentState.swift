/// The state of a document; ``normal`` if no condition applies.
public struct DocumentState: OptionSet, Sendable, Hashable {
  /// The raw value.
  public let rawValue: UInt
  /// Creates a state from raw bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }
  /// The document is open, without conflicts or errors.
  public static let normal: DocumentState = []
  /// The document is not open.
  public static let closed = DocumentState(rawValue: 1)
  /// Unsaved changes conflict with changes saved elsewhere; see ``ManagedDocument/conflicts``. Nothing is saved until the conflicts are
  /// resolved.
  public static let inConflict = DocumentState(rawValue: 2)
  /// The last save failed; see ``ManagedDocument/savingError``. The changes remain unsaved.
  public static let savingError = DocumentState(rawValue: 4)
  /// The application should not edit the document: it is being opened, or its folder is no longer at its location.
  public static let editingDisabled = DocumentState(rawValue: 8)
}

/// The kind of a save to a location.
public enum DocumentSaveOperation: Sendable, Hashable {
  /// Creates a new document at an unused location.
  case creating
  /// Replaces an existing document.
  case overwriting
}

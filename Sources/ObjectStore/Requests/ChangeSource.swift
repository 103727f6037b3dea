/// The source of the changes that a request writes, which the history records.
public enum ChangeSource: String, Sendable, Hashable, Codable, CaseIterable {
  /// The application itself.
  case application
  /// A document or file that is imported.
  case `import`
  /// Another store, whose objects are transferred.
  case transfer
  /// Another device, whose changes synchronization applies. They are not local changes.
  case sync
}

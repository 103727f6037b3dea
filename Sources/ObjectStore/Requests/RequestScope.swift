public import ObjectModel

/// The context of a request: the information about the caller that a store may use.
public struct RequestScope: Sendable {
  /// The ID space in which the store's object IDs are created.
  public let objectIDSpace: ObjectIDSpace
  /// The name of the context, recorded in the history.
  public var contextName: String?
  /// The author of the changes, recorded in the history.
  public var transactionAuthor: String?
  /// The object that can cancel the request, or nil if it cannot be canceled.
  public var cancellation: RequestCancellation?
  /// The generation of the store that fetches, rows, and relationship members are read from, or nil for the newest state. Writes ignore it.
  public var generation: (any StoreGeneration)?
  /// The number of the requesting context, which is not notified of its own changes, or 0 for none.
  package var origin: UInt64 = 0
  /// The source of cached rows, which a fetch need not read again.
  package var rowTables: (any CachedRowSource)?

  /// Creates a scope.
  ///
  /// - Parameters:
  ///   - objectIDSpace: The ID space of the store.
  ///   - contextName: The name of the requesting context.
  ///   - transactionAuthor: The author of the change, as defined by the application.
  public init(objectIDSpace: ObjectIDSpace, contextName: String? = nil, transactionAuthor: String? = nil) {
    self.objectIDSpace = objectIDSpace
    self.contextName = contextName
    self.transactionAuthor = transactionAuthor
  }
}

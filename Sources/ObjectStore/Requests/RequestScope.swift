// RequestScope: what a store may know of its caller.
public import ObjectModel

/// What a store may know of its caller.
public struct RequestScope: Sendable {
  /// The numbers and UUID under which the store's object IDs are made.
  public let objectIDSpace: ObjectIDSpace
  /// The context's name, for the history.
  public var contextName: String?
  /// The author of the changes, for the history.
  public var transactionAuthor: String?
  /// What calls a request off; nil where nobody can.
  public var cancellation: RequestCancellation?
  /// The state of the store that a fetch, rows and members are read from; nil for the newest. Writes do not go by it.
  public var generation: (any StoreGeneration)?
  /// The number of the context that asks, which need not hear of its own changes; 0 for none.
  package var origin: UInt64 = 0
  /// What has rows at hand, which a fetch need not read again.
  package var rowTables: (any RowTableSource)?

  /// Makes a scope.
  ///
  /// - Parameters:
  ///   - objectIDSpace: The ID space of the store.
  ///   - contextName: The name of the context that asks.
  ///   - transactionAuthor: Who makes the change, in the application's words.
  public init(objectIDSpace: ObjectIDSpace, contextName: String? = nil, transactionAuthor: String? = nil) {
    self.objectIDSpace = objectIDSpace
    self.contextName = contextName
    self.transactionAuthor = transactionAuthor
  }
}

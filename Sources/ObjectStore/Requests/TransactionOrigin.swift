/// The kind of operation that writes a transaction. The history stores its number.
package enum HistoryKind: Int, Sendable, CaseIterable {
  case save = 1
  case batch, migration, transfer, sync, begin, `import`
}

/// The origin of a transaction: the operation, and on whose behalf it writes.
package struct TransactionOrigin: Sendable, Hashable {
  package var kind: HistoryKind
  /// The transaction author of the context.
  package var author: String?
  package var contextName: String?
  /// Whether the changes were made on this device, and not applied on behalf of another one.
  package var isLocal: Bool { kind != .sync }

  package init(_ kind: HistoryKind, author: String? = nil, contextName: String? = nil) {
    self.kind = kind
    self.author = author
    self.contextName = contextName
  }
}

extension RequestScope {
  /// Returns the origin of a transaction that a request in this scope writes.
  ///
  /// - Parameter operation: The kind of operation. A source other than the application determines the kind instead.
  package func origin(of operation: HistoryKind) -> TransactionOrigin {
    TransactionOrigin(HistoryKind(operation, from: changeSource), author: transactionAuthor, contextName: contextName)
  }
}

extension HistoryKind {
  /// Returns the kind of an operation with changes from a source.
  fileprivate init(_ operation: HistoryKind, from source: ChangeSource) {
    switch source {
    case .application: self = operation
    case .import: self = .import
    case .transfer: self = .transfer
    case .sync: self = .sync
    }
  }
}

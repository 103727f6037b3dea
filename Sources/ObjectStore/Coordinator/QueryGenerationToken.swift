// QueryGenerationToken: names states of stores that hold still, for contexts to read.
public import Foundation

/// Names a state of a coordinator's stores, for ``ManagedObjectContext/setQueryGeneration(from:)``.
///
/// ```swift
/// try context.setQueryGeneration(from: .current)
/// let books = try context.fetch(Book.fetchRequest())
/// let token = context.queryGenerationToken
/// ```
///
/// The state holds still as long as somebody has its token, or a context reads it. A token may go anywhere, and any number of contexts of the coordinator may
/// read its state; another process, or a later run of the program, cannot. It does not say whether its state can still be read: who pins a context to it is told.
public struct QueryGenerationToken: Sendable, Hashable {
  /// Stands for the state of the stores when the context reads them next.
  public static let current = QueryGenerationToken([])

  /// The states, one for each store; none for ``current``.
  package let generations: Set<PinnedGeneration>

  package init(_ generations: some Sequence<PinnedGeneration>) { self.generations = Set(generations) }

  /// The place in the histories of the stores behind what the state shows: what was written since is what a history has after it. Nil for ``current``, and where no
  /// store keeps a history.
  ///
  /// - Throws: ``StoreError``, with ``StoreError/Code/queryGenerationExpired`` where the state can be read no more.
  public var historyToken: PersistentHistoryToken? {
    get throws {
      var positions: [String: HistoryPosition] = [:]
      for pinned in generations {
        positions[pinned.store.identifier] = try (pinned.generation as? any HistoryGeneration)?.historyPosition()
      }
      return positions.isEmpty ? nil : PersistentHistoryToken(positions)
    }
  }
}

/// A state of a store that somebody holds, as ``PersistentStore/queryGenerations`` tells it. It holds nothing itself.
public struct QueryGeneration: Sendable, Hashable {
  /// A context that reads it.
  public struct Holder: Sendable, Hashable {
    /// The name that the context had when it was pinned.
    public let contextName: String?
    /// Since when it does.
    public let since: Date
  }

  /// When the state was the newest.
  public let begun: Date
  /// The contexts that read it, in the order in which they came; none where only tokens name it.
  public let holders: [Holder]
}

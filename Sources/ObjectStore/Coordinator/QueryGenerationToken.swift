public import Foundation

/// A token for a query generation: a state of a coordinator's stores that a context can be pinned to with
/// ``ManagedObjectContext/setQueryGeneration(from:)``.
///
/// ```swift
/// try context.setQueryGeneration(from: .current)
/// let books = try context.fetch(Book.fetchRequest())
/// let token = context.queryGenerationToken
/// ```
///
/// The generation exists as long as its token is referenced or a context is pinned to it. A token is `Sendable`, and any number of contexts
/// of the coordinator can be pinned to its generation. Tokens are not valid in other processes or later runs of the program. A token does
/// not show whether its generation can still be read; pinning a context to an expired generation throws.
public struct QueryGenerationToken: Sendable, Hashable {
  /// A token for the state of the stores at the context's next read.
  public static let current = QueryGenerationToken([])

  /// The generations, one for each store. Empty for ``current``.
  package let generations: Set<PinnedGeneration>

  package init(_ generations: some Sequence<PinnedGeneration>) { self.generations = Set(generations) }

  /// The position in the stores' histories after the last transaction that the generation includes. Fetching the history after it returns
  /// the later transactions. Nil for ``current``, and if no store keeps a history.
  ///
  /// - Throws: ``StoreError``, with ``StoreError/Code/queryGenerationExpired`` if the generation can no longer be read.
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

/// A description of a query generation in use, returned by ``PersistentStore/queryGenerations``. It does not keep the generation alive.
public struct QueryGeneration: Sendable, Hashable {
  /// A context that is pinned to the generation.
  public struct Holder: Sendable, Hashable {
    /// The name that the context had when it was pinned.
    public let contextName: String?
    /// The time at which the context was pinned.
    public let since: Date
  }

  /// The time at which the generation was created.
  public let startDate: Date
  /// The contexts that are pinned to the generation, in the order in which they were pinned. Empty if only tokens reference it.
  public let holders: [Holder]
}

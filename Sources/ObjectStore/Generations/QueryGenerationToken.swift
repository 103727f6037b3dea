public import Foundation
import ObjectModel
import Synchronization

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

/// A generation of a store with its own row cache. All contexts that read the same generation share one instance and its cached rows.
package final class PinnedGeneration: Sendable, Hashable {
  /// The maximum size of the row cache in bytes.
  static let cacheLimit = 4 << 20
  private static let lastNumber = Atomic<Int>(0)

  package let store: PersistentStore
  package let generation: any StoreGeneration
  package let cache: RowCache
  let startDate = Date()
  /// A number that is unique in the process.
  package let number = lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
  private let holders = Mutex<[UInt64: QueryGeneration.Holder]>([:])

  init(_ generation: any StoreGeneration, of store: PersistentStore, model: CompiledModel) {
    (self.generation, self.store) = (generation, store)
    cache = RowCache(model: model, byteLimit: Self.cacheLimit)
  }

  /// Compares identity: there is one instance for each generation.
  package static func == (one: PinnedGeneration, other: PinnedGeneration) -> Bool { one === other }
  package func hash(into hasher: inout Hasher) { hasher.combine(number) }

  /// Whether the generation can no longer be read.
  package var isOver: Bool { generation.isOver }

  /// Records that a context reads the generation.
  ///
  /// - Parameter number: The number that identifies the context in ``release(_:)``.
  package func hold(_ number: UInt64, named name: String?) {
    holders.withLock { $0[number] = QueryGeneration.Holder(contextName: name, since: Date()) }
  }

  /// Records that a context no longer reads the generation.
  package func release(_ number: UInt64) { holders.withLock { $0[number] = nil } }

  var description: QueryGeneration {
    QueryGeneration(startDate: startDate, holders: holders.withLock { $0.values.sorted { $0.since < $1.since } })
  }
}

// MARK: - Pinned generations of a store

/// Weak references to the generations of a store that contexts and tokens hold.
struct PinnedGenerations {
  private struct Entry {
    weak var generation: PinnedGeneration?
  }
  private var entries: [Entry] = []

  /// The generations that can still be read, oldest first.
  var active: [PinnedGeneration] { entries.compactMap(\.generation).filter { !$0.isOver } }

  mutating func set(_ active: [PinnedGeneration]) { entries = active.map { Entry(generation: $0) } }
}

extension PersistentStore {
  /// The maximum number of generations of a store. In an encrypted store, each takes a connection.
  package static let maximumGenerationCount = 16

  /// The generations of the store that contexts and tokens of this process hold, oldest first. A generation held for a long time prevents
  /// the write-ahead log from being reset; this property shows which contexts hold it and since when.
  public var queryGenerations: [QueryGeneration] { pinned.withLock { $0.active }.map(\.description) }

  /// Returns a generation for the current state of the store.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/unsupported`` or ``StoreError/Code/tooManyQueryGenerations``; rethrows the errors of
  ///   the store.
  package func pin(_ scope: RequestScope) throws -> PinnedGeneration {
    let generation = try incrementalStore.currentGeneration(in: scope)
    // `active` outlives the lock, so that no generation is deallocated while the lock is held.
    let (found, active) = pinned.withLock { pinned -> (PinnedGeneration?, [PinnedGeneration]) in
      let active = pinned.active
      if let known = active.first(where: { $0.generation === generation }) { return (known, active) }
      if active.count >= Self.maximumGenerationCount { return (nil, active) }
      let made = PinnedGeneration(generation, of: self, model: model)
      pinned.set(active + [made])
      return (made, active)
    }
    defer { withExtendedLifetime(active) {} }
    guard let found else {
      throw StoreError(.tooManyQueryGenerations(limit: Self.maximumGenerationCount), operation: .pin, path: url?.path)
    }
    return found
  }
}

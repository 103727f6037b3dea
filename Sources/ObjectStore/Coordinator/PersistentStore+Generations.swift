// PersistentStore+Generations: the states of an open store that are held.
import Foundation
import ObjectModel
import Synchronization

/// The states of a store that somebody holds; they hold themselves.
struct PinnedGenerations {
  private struct Entry {
    weak var generation: PinnedGeneration?
  }
  private var entries: [Entry] = []

  /// Those that can still be read, in the order in which they were begun.
  var living: [PinnedGeneration] { entries.compactMap(\.generation).filter { !$0.isOver } }

  mutating func set(_ living: [PinnedGeneration]) { entries = living.map { Entry(generation: $0) } }
}

extension PersistentStore {
  /// How many states of a store may be held: each of an encrypted store has a connection of its own.
  package static let maximumGenerationCount = 16

  /// The states of the store that contexts and tokens of this process hold, the oldest first. Long ones keep the store's log from beginning anew, so this tells
  /// who does, and since when.
  public var queryGenerations: [QueryGeneration] { pinned.withLock { $0.living }.map(\.description) }

  /// The state of the store now, which holds still.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/unsupported``, ``StoreError/Code/tooManyQueryGenerations``, or what the store throws.
  package func pin(_ scope: RequestScope) throws -> PinnedGeneration {
    let generation = try incrementalStore.currentGeneration(in: scope)
    // What is let go of is let go of outside of the lock.
    let (found, living) = pinned.withLock { pinned -> (PinnedGeneration?, [PinnedGeneration]) in
      let living = pinned.living
      if let known = living.first(where: { $0.generation === generation }) { return (known, living) }
      if living.count >= Self.maximumGenerationCount { return (nil, living) }
      let made = PinnedGeneration(generation, of: self, model: space.model)
      pinned.set(living + [made])
      return (made, living)
    }
    defer { withExtendedLifetime(living) {} }
    guard let found else {
      throw StoreError(.tooManyQueryGenerations(limit: Self.maximumGenerationCount), operation: .pin, path: url?.path)
    }
    return found
  }
}

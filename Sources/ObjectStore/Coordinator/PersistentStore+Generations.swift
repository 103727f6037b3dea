import Foundation
import ObjectModel
import Synchronization

/// Weak references to the generations of a store that contexts and tokens hold.
struct PinnedGenerations {
  private struct Entry {
    weak var generation: PinnedGeneration?
  }
  private var entries: [Entry] = []

  /// The generations that can still be read, oldest first.
  var living: [PinnedGeneration] { entries.compactMap(\.generation).filter { !$0.isOver } }

  mutating func set(_ living: [PinnedGeneration]) { entries = living.map { Entry(generation: $0) } }
}

extension PersistentStore {
  /// The maximum number of generations of a store. In an encrypted store, each takes a connection.
  package static let maximumGenerationCount = 16

  /// The generations of the store that contexts and tokens of this process hold, oldest first. A generation held for a long time prevents
  /// the write-ahead log from being reset; this property shows which contexts hold it and since when.
  public var queryGenerations: [QueryGeneration] { pinned.withLock { $0.living }.map(\.description) }

  /// Returns a generation for the current state of the store.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/unsupported`` or ``StoreError/Code/tooManyQueryGenerations``; rethrows the errors of
  ///   the store.
  package func pin(_ scope: RequestScope) throws -> PinnedGeneration {
    let generation = try incrementalStore.currentGeneration(in: scope)
    // `living` outlives the lock, so that no generation is deallocated while the lock is held.
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

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

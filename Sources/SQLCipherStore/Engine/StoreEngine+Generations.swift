import ObjectStore
import SQLCipherConnection
import StoreFiles
import Synchronization

/// A weak reference to the newest generation.
final class LastGeneration: Sendable {
  private struct Place {
    weak var generation: SnapshotGeneration?
  }
  private let place = Mutex(Place())

  /// Returns the generation of a snapshot: the existing one if it is still referenced, else a new one.
  func generation(of snapshot: HeldSnapshot, path: String) -> SnapshotGeneration {
    // Release the former generation after the lock.
    let (found, previous) = place.withLock { place -> (SnapshotGeneration, SnapshotGeneration?) in
      let previous = place.generation
      if let previous, previous.snapshot === snapshot { return (previous, nil) }
      let made = SnapshotGeneration(snapshot, of: self, path: path)
      place.generation = made
      return (made, previous)
    }
    withExtendedLifetime(previous) {}
    return found
  }
}

extension StoreEngine {
  /// Returns the current state of the store: the same generation as before if nothing was committed since.
  func currentGeneration() throws -> SnapshotGeneration {
    let snapshot = try pool.holdSnapshot {
      // Lock the folder before taking the snapshot, so that the files its rows refer to are not removed while it exists.
      guard let folder = externals?.folder else { return nil }
      return try folder.lockForReading()
    }
    return lastGeneration.generation(of: snapshot, path: path)
  }

  /// Returns the generation that a request reads, or `nil` for the newest state.
  func generation(of scope: RequestScope) throws -> SnapshotGeneration? {
    guard let generation = scope.generation else { return nil }
    return try own(generation)
  }

  /// Returns the generation as one of this store, or throws if it belongs to another store.
  func own(_ generation: any StoreGeneration) throws -> SnapshotGeneration {
    if let generation = generation as? SnapshotGeneration, generation.source === lastGeneration { return generation }
    throw StoreError(.queryGenerationOfOtherStore, operation: .read, path: path)
  }
}

// StoreEngine+Generations: states of an open store that hold still.
import ObjectStore
import SQLCipherConnection
import StoreFiles
import Synchronization

/// The generation that was begun last, while somebody has it.
final class LastGeneration: Sendable {
  private struct Place {
    weak var generation: SnapshotGeneration?
  }
  private let place = Mutex(Place())

  /// The generation of a snapshot: the one that somebody has, or a new one.
  func generation(of snapshot: HeldSnapshot, path: String) -> SnapshotGeneration {
    // The former one is let go of after the lock.
    let (found, former) = place.withLock { place -> (SnapshotGeneration, SnapshotGeneration?) in
      let former = place.generation
      if let former, former.snapshot === snapshot { return (former, nil) }
      let made = SnapshotGeneration(snapshot, of: self, path: path)
      place.generation = made
      return (made, former)
    }
    withExtendedLifetime(former) {}
    return found
  }
}

extension StoreEngine {
  /// The state of the store now; the same one again where nothing was committed since.
  func currentGeneration() throws -> SnapshotGeneration {
    let snapshot = try pool.holdSnapshot {
      // Before the snapshot is taken, so that the files are there that its rows name: as long as this is held nobody removes one.
      guard let folder = externals?.folder else { return nil }
      return try folder.lockForReading()
    }
    return lastGeneration.generation(of: snapshot, path: path)
  }

  /// The state that a request names; nil for the newest.
  func generation(of scope: RequestScope) throws -> SnapshotGeneration? {
    guard let generation = scope.generation else { return nil }
    return try own(generation)
  }

  /// A generation that this store has given out.
  func own(_ generation: any StoreGeneration) throws -> SnapshotGeneration {
    if let generation = generation as? SnapshotGeneration, generation.source === lastGeneration { return generation }
    throw StoreError(.queryGenerationOfOtherStore, operation: .read, path: path)
  }
}

// FetchedIdentifierBatches: the IDs of very many objects, a batch after the other.
public import ObjectModel

/// The IDs that a fetch has found, a batch after the other, each once. It belongs to the isolation of its context; the batches may go anywhere.
///
/// ```swift
/// for ids in try context.fetchIdentifiers(Book.all, batchSize: 1_000) {
///   try await container.performBackgroundTask { context in try work(on: ids, in: context) }
/// }
/// ```
public struct FetchedIdentifierBatches: Sequence, IteratorProtocol {
  private let walk: ObjectWalk

  init(_ walk: ObjectWalk) { self.walk = walk }

  /// The next batch; nil at the end.
  public mutating func next() -> [ManagedObjectID]? {
    let batch = walk.takeBatch()
    return batch.isEmpty ? nil : batch
  }
}

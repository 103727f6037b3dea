// FetchedIdentifierBatches: the IDs of very many objects, a batch after the other.
public import ObjectModel

/// The IDs that a fetch has found, a batch after the other, each once. It belongs to the isolation of its context; the batches may go anywhere.
///
/// ```swift
/// for ids in try context.fetchIdentifiers(Book.all, batchSize: 1_000) {
///   try await container.performBackgroundTask { context in
///     for id in ids { context.delete(context.object(with: id)) }
///     try context.save()
///   }
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

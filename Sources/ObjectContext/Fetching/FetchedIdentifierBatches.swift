public import ObjectModel

/// A sequence of the IDs that a fetch finds, in batches. Each ID occurs once.
///
/// The sequence belongs to its context's isolation. The batches can be sent to any isolation.
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
  private let reader: ObjectBatchReader

  init(_ reader: ObjectBatchReader) { self.reader = reader }

  /// Returns the next batch; nil at the end.
  public mutating func next() -> [ManagedObjectID]? {
    let batch = reader.takeBatch()
    return batch.isEmpty ? nil : batch
  }
}

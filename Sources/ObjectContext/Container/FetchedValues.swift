public import ObjectQuery
import ObjectStore

extension PersistentContainer {
  /// Returns an asynchronous sequence of values computed from the objects of a fetch. It uses bounded memory for any number of objects, and
  /// reads outside of the caller's isolation.
  ///
  /// ```swift
  /// for try await title in container.values(of: Book.fetchRequest(), { $0.title }) { print(title) }
  /// ```
  ///
  /// Each iteration uses its own context, and reads objects as ``ManagedObjectContext/enumerateBatches(of:size:allowsEscapingMutations:_:)``
  /// does: a batch is read after the values of the previous batch have been consumed. Canceling the task ends a running fetch.
  ///
  /// - Parameters:
  ///   - request: The fetch request.
  ///   - batchSize: The number of rows per batch.
  ///   - transform: Computes the value for an object, in the isolation of the object's context. The iteration rethrows its errors.
  public func values<Object: ManagedObject, Value: Sendable>(
    of request: FetchRequest<Object>, batchSize: Int = 500, _ transform: @escaping @Sendable (Object) throws -> Value
  ) -> FetchedValues<Object, Value> {
    FetchedValues(container: self, request: request, batchSize: batchSize, transform: transform)
  }
}

/// An asynchronous sequence of values computed from the objects of a fetch; see ``PersistentContainer/values(of:batchSize:_:)``.
///
/// ```swift
/// for try await title in container.values(of: Book.fetchRequest(), { $0.title }) { print(title) }
/// ```
///
/// Objects are read and released in batches, so that memory use does not grow with the number of results. The values are `Sendable`; the
/// objects stay in their context.
public struct FetchedValues<Object: ManagedObject, Value: Sendable>: AsyncSequence, Sendable {
  let container: PersistentContainer
  let request: FetchRequest<Object>
  let batchSize: Int
  let transform: @Sendable (Object) throws -> Value

  /// Returns an iterator that starts at the first object.
  public func makeAsyncIterator() -> Iterator { Iterator(reader: ValueBatchReader(self)) }

  /// An iterator over the values.
  public struct Iterator: AsyncIteratorProtocol {
    private let reader: ValueBatchReader<Object, Value>
    private var batch: ArraySlice<Value> = []

    fileprivate init(reader: ValueBatchReader<Object, Value>) { self.reader = reader }

    /// Returns the next value, or `nil` at the end.
    ///
    /// - Throws: The errors of the fetch and of the transform; `CancellationError` if the task was canceled.
    public mutating func next() async throws -> Value? {
      while batch.isEmpty {
        guard let next = try await reader.nextBatch() else { return nil }
        batch = next[...]
      }
      return batch.popFirst()
    }
  }
}

/// The context and the position of one iteration.
private actor ValueBatchReader<Object: ManagedObject, Value: Sendable> {
  private let executor = QueueExecutor(label: "CipherData.FetchedValues")
  private let context: ManagedObjectContext
  private let values: FetchedValues<Object, Value>
  private var reader: ObjectBatchReader?

  init(_ values: FetchedValues<Object, Value>) {
    self.values = values
    context = values.container.makeContext()
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// Returns the values of the next batch, or `nil` at the end.
  func nextBatch() async throws -> [Value]? {
    let cancellation = RequestCancellation()
    return try await withTaskCancellationHandler {
      try StoreError.inTask { try readBatch(cancellation) }
    } onCancel: {
      cancellation.cancel()
    }
  }

  private func readBatch(_ cancellation: RequestCancellation) throws -> [Value]? {
    context.rowSource.cancellation = cancellation
    defer { context.rowSource.cancellation = nil }
    try cancellation.check()
    let reader = try reader ?? context.reader(over: values.request, batchSize: values.batchSize)
    self.reader = reader
    return try reader.next()?.compactMap { try ($0 as? Object).map(values.transform) }
  }
}

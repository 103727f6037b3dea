// FetchedValues: what is taken of the objects of a fetch, one value after the other, read in batches elsewhere.
public import ObjectQuery
import ObjectStore

extension PersistentContainer {
  /// Values taken of the objects of a fetch, as an asynchronous sequence: any number of objects in bounded memory, read off the caller's isolation.
  ///
  /// ```swift
  /// for try await title in container.values(of: Book.fetchRequest(), { $0.title }) { print(title) }
  /// ```
  ///
  /// Each loop over the sequence has a context of its own, which walks as ``ManagedObjectContext/enumerate(_:batchSize:allowsEscapingMutations:_:)`` does: a batch is read when
  /// the values of the one before have been used up. Cancelling the task ends a fetch that runs.
  ///
  /// - Parameters:
  ///   - request: What to visit.
  ///   - batchSize: How many rows are read together.
  ///   - transform: What to take of an object, in its context's isolation. The loop throws what this throws.
  public func values<Object: ManagedObject, Value: Sendable>(
    of request: FetchRequest<Object>, batchSize: Int = 500, _ transform: @escaping @Sendable (Object) throws -> Value
  ) -> FetchedValues<Object, Value> {
    FetchedValues(container: self, request: request, batchSize: batchSize, transform: transform)
  }
}

/// Values taken of the objects of a fetch, as an asynchronous sequence; see ``PersistentContainer/values(of:batchSize:_:)``.
///
/// ```swift
/// for try await title in container.values(of: Book.fetchRequest(), { $0.title }) { print(title) }
/// ```
///
/// Objects are read and let go a batch at a time, so that memory does not grow with the results. The values may go anywhere, the objects stay behind.
public struct FetchedValues<Object: ManagedObject, Value: Sendable>: AsyncSequence, Sendable {
  let container: PersistentContainer
  let request: FetchRequest<Object>
  let batchSize: Int
  let transform: @Sendable (Object) throws -> Value

  /// A walk from the beginning.
  public func makeAsyncIterator() -> Iterator { Iterator(walk: ValueWalk(self)) }

  /// A walk over the values.
  public struct Iterator: AsyncIteratorProtocol {
    private let walk: ValueWalk<Object, Value>
    private var batch: ArraySlice<Value> = []

    fileprivate init(walk: ValueWalk<Object, Value>) { self.walk = walk }

    /// The next value; nil at the end.
    ///
    /// - Throws: What ``PersistentContainer/values(of:batchSize:_:)`` says.
    public mutating func next() async throws -> Value? {
      while batch.isEmpty {
        guard let next = try await walk.nextBatch() else { return nil }
        batch = next[...]
      }
      return batch.popFirst()
    }
  }
}

/// The context of a walk and its place in it.
private actor ValueWalk<Object: ManagedObject, Value: Sendable> {
  private let executor = QueueExecutor(label: "CipherData.FetchedValues")
  private let context: ManagedObjectContext
  private let values: FetchedValues<Object, Value>
  private var walk: ObjectWalk?

  init(_ values: FetchedValues<Object, Value>) {
    self.values = values
    context = values.container.makeContext()
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// The values of the next batch; nil at the end.
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
    let walk = try walk ?? context.walk(over: values.request, batchSize: values.batchSize)
    self.walk = walk
    return try walk.next()?.compactMap { try ($0 as? Object).map(values.transform) }
  }
}

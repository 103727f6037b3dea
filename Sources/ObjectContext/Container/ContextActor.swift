// ContextActor: an actor that owns a background context.
import ObjectStore

/// An actor that owns a context: its objects live in the actor's isolation, on a queue of the actor's own.
///
/// ```swift
/// let library = ContextActor(container: container)
/// let titles = try await library.perform { context in
///   try context.fetch(Book.fetchRequest()).map(\.title)
/// }
/// ```
public actor ContextActor {
  private let executor: QueueExecutor
  private let context: ManagedObjectContext

  /// Makes an actor with a context over a container's stores.
  public init(container: PersistentContainer) {
    executor = QueueExecutor(label: "CipherData.ContextActor")
    context = container.makeContext()
    context.wakesForChanges = { [weak self] in
      Task { await self?.perform { $0.mergeWaitingChanges() } }
    }
  }

  /// The queue that the actor runs on.
  public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// Runs work with the context, one piece after the other. Only `Sendable` values come out.
  ///
  /// When the task is cancelled, a fetch that runs ends at once and throws ``StoreError`` with ``StoreError/Code/cancelled``, as do those that follow.
  public func perform<Result: Sendable>(_ body: @Sendable (ManagedObjectContext) throws -> Result) async rethrows -> Result {
    let cancellation = RequestCancellation()
    return try await withTaskCancellationHandler {
      try run(body, cancellation)
    } onCancel: {
      cancellation.cancel()
    }
  }

  private func run<Result>(_ body: (ManagedObjectContext) throws -> Result, _ cancellation: RequestCancellation) rethrows -> Result {
    context.cancellation = cancellation
    context.mergeWaitingChanges()
    defer {
      context.processPendingChanges()
      context.cancellation = nil
    }
    return try body(context)
  }
}

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
  /// The work that has the context; nil between two pieces.
  private var turn: Turn?
  /// How many calls belong to the turn: work may call the actor again.
  private var callCount = 0
  /// Whether somebody has the context, or was told to take it.
  private var isTaken = false
  /// Those who wait for their turn, the first one first.
  private var waiting: [CheckedContinuation<Void, Never>] = []
  /// The observer that has the context saved some time after each change, by its number, and what stops that.
  private var autosave: (number: UInt64, stop: @Sendable () -> Void)?

  /// Makes an actor with a context over a container's stores.
  public init(container: PersistentContainer) {
    executor = QueueExecutor(label: "CipherData.ContextActor")
    context = container.makeContext()
    context.intake.setWake { [weak self] in
      // Of no task: who saves may do so in work of this actor, and this is no part of that.
      Task.detached { await self?.perform { $0.doWaitingWorkOfAll() } }
    }
  }

  /// The queue that the actor runs on.
  public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// Runs work with the context, one piece after the other. Only `Sendable` values come out.
  ///
  /// Work that waits for something keeps the context until it has ended: no other piece comes in between. Calls of this actor that the work makes meanwhile,
  /// itself or in tasks of its own, are a part of it.
  ///
  /// When the task is cancelled, `Task.isCancelled` is true in the work, and a fetch, a batch request or a save that runs ends at once, inside the store
  /// too, and throws `CancellationError`, as do those that follow. A save is written whole or not at all, and after an error the
  /// context still has its changes.
  public func perform<Result: Sendable>(_ body: @Sendable (ManagedObjectContext) async throws -> Result) async rethrows -> Result {
    if let turn, Turn.held.contains(where: { $0 === turn }) { return try await run(body) }
    await takeContext()
    let turn = Turn()
    self.turn = turn
    context.mergeWaitingChanges()
    let cancellation = RequestCancellation()
    context.rowSource.cancellation = cancellation
    return try await withTaskCancellationHandler {
      try await Turn.$held.withValue(Turn.held + [turn]) { try await run(body) }
    } onCancel: {
      cancellation.cancel()
    }
  }

  /// Waits until nobody else has the context, and takes it.
  private func takeContext() async {
    if !isTaken {
      isTaken = true
      return
    }
    await withCheckedContinuation { continuation in
      // Calling this may already have left the actor for a moment, in which the context was given back.
      if isTaken {
        waiting.append(continuation)
      } else {
        isTaken = true
        continuation.resume()
      }
    }
  }

  private func run<Result: Sendable>(_ body: @Sendable (ManagedObjectContext) async throws -> Result) async rethrows -> Result {
    callCount += 1
    defer { endCall() }
    let lent = LentContext(context: context)
    return try await withTaskExecutorPreference(executor) { try await body(lent.context) }
  }

  /// Has something done after each event with changes.
  ///
  /// - Parameters:
  ///   - noteChanges: Called in the actor's isolation.
  ///   - stop: Called when it is to end.
  func beginAutosaves(_ noteChanges: @escaping @Sendable () -> Void, stopping stop: @escaping @Sendable () -> Void) {
    let number = context.addEventObserver { event in
      if event.kind == .changed { noteChanges() }
    }
    autosave = (number, stop)
    if context.hasChanges { noteChanges() }
  }

  /// Nothing is done any more after events.
  func stopAutosaves() {
    guard let autosave else { return }
    context.removeEventObserver(autosave.number)
    autosave.stop()
    self.autosave = nil
  }

  private func endCall() {
    context.processPendingChanges()
    callCount -= 1
    guard callCount == 0 else { return }
    context.rowSource.cancellation = nil
    context.notedErrors.forgetCancellation()
    turn = nil
    // Whoever is next has the context from now on: nobody can come before them.
    if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
  }
}

/// The work that has an actor's context.
private final class Turn: Sendable {
  /// The turns that the task is a part of, of as many actors.
  @TaskLocal static var held: [Turn] = []
}

/// A context on its way to the work whose turn it is.
///
/// `@unchecked Sendable`: nobody else touches it until the turn has ended, and the work runs on the actor's own queue.
private struct LentContext: @unchecked Sendable {
  let context: ManagedObjectContext
}

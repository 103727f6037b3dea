import ObjectStore
import Synchronization

/// An actor that owns a context, and runs on its own queue. The context and its objects belong to the actor's isolation.
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
  /// The turn that uses the context; `nil` between turns.
  private var turn: Turn?
  /// The number of running calls in the turn: a closure may call the actor again.
  private var callCount = 0
  /// Whether the context is in use, or has been passed to the next waiting call.
  private var isTaken = false
  /// The waiting calls, in order.
  private var waiting: [CheckedContinuation<Void, Never>] = []
  /// The number of the event observer of the autosave, and a closure that stops its timer.
  private var autosave: (number: UInt64, stop: @Sendable () -> Void)?

  /// Creates an actor with a new context for a container's stores.
  public init(container: PersistentContainer) {
    executor = QueueExecutor(label: "CipherData.ContextActor")
    context = container.makeContext()
    context.changeReceiver.setMergeScheduler { [weak self] in
      // Detached: the save that triggers the merge may run in a closure of this actor, and the merge must not become part of that turn.
      Task.detached { await self?.perform { $0.processWaitingChangesOfTree() } }
    }
  }

  /// The executor of the actor's queue.
  public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// Runs a closure with the actor's context and returns its result, which must be `Sendable`. Calls run one after the other.
  ///
  /// A closure that suspends keeps the context until it returns; other calls wait. Calls to this actor that the closure makes in the
  /// meantime, directly or in tasks that it creates, run as part of it.
  ///
  /// If the task is canceled, `Task.isCancelled` is `true` in the closure. A running fetch, batch request or save ends at once, even inside
  /// the store, and throws `CancellationError`, as do later ones. A save is written completely or not at all. After an error the context
  /// still has its changes.
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

  /// Waits until the context is free, and takes it.
  private func takeContext() async {
    if !isTaken {
      isTaken = true
      return
    }
    await withCheckedContinuation { continuation in
      // The context may have been returned while the call to `withCheckedContinuation` was suspended.
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
    let sendable = SendableContext(context: context)
    return try await withTaskExecutorPreference(executor) { try await body(sendable.context) }
  }

  /// Starts calling a closure after each event with changes.
  ///
  /// - Parameters:
  ///   - recordChanges: Called in the actor's isolation.
  ///   - stop: Called when the autosave ends.
  func beginAutosaves(_ recordChanges: @escaping @Sendable () -> Void, stopping stop: @escaping @Sendable () -> Void) {
    let number = context.addEventObserver { event in
      if event.kind == .changed { recordChanges() }
    }
    autosave = (number, stop)
    if context.hasChanges { recordChanges() }
  }

  /// Ends the calls that ``beginAutosaves(_:stopping:)`` started.
  func cancelAutosaving() {
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
    context.deferredErrors.forgetCancellation()
    turn = nil
    // The context is passed directly to the next waiting call: no other call can take it first.
    if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
  }
}

/// The exclusive use of an actor's context by one call and the calls nested in it.
private final class Turn: Sendable {
  /// The turns that the current task is part of, one for each actor.
  @TaskLocal static var held: [Turn] = []
}

/// A wrapper that passes a context to the closure of the current turn.
///
/// `@unchecked Sendable`: no other code accesses the context until the turn ends, and the closure runs on the actor's own queue.
private struct SendableContext: @unchecked Sendable {
  let context: ManagedObjectContext
}

// MARK: - Autosave

extension ContextActor {
  /// Saves the actor's context automatically, a specified time after the last change.
  ///
  /// ```swift
  /// await library.startAutosaving(after: .seconds(2)) { error in log(error) }
  /// ```
  ///
  /// Each save runs between other closures of the actor. If a save fails, the changes remain and are included in the next save. The actor
  /// stays alive until a change was saved or its save has failed. A new call replaces the settings of previous calls.
  ///
  /// - Parameters:
  ///   - delay: The time between the last change and the save.
  ///   - clock: The clock that measures the delay.
  ///   - onError: Called with the error of a failed save.
  public func startAutosaving(
    after delay: Duration, clock: some Clock<Duration> = ContinuousClock(), onError: @escaping @Sendable (any Error) -> Void
  ) {
    cancelAutosaving()
    let timer = DebounceTimer(clock, delay: delay)
    let save: @Sendable (isolated ContextActor) async -> Void = { library in
      await library.perform { context in
        do { try timer.ignoringEvents { try context.save() } } catch {
          onError(error)
        }
      }
    }
    beginAutosaves { [weak self] in
      if let self { timer.restart { await save(self) } }
    } stopping: {
      timer.cancel()
    }
  }

  /// Ends the autosave and saves unsaved changes. If the save fails, the changes remain in the context.
  ///
  /// - Throws: The errors of ``ManagedObjectContext/save()``.
  public func stopAutosaving() async throws {
    cancelAutosaving()
    try await perform { try $0.save() }
  }
}

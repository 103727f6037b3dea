import Synchronization

/// An active autosave of a context, from ``ManagedObjectContext/startAutosaving(after:clock:isolation:onError:)`` until ``end()`` or
/// deinitialization.
///
/// It belongs to the context's isolation and retains the context.
public final class Autosave {
  private let work: any AutosaveWork

  init(_ work: any AutosaveWork) { self.work = work }

  deinit { work.end() }

  /// Saves unsaved changes and ends the autosave. An error is passed to the handler; the changes stay in the context.
  public func end() { work.end() }

  /// Restarts the delay because of a change outside the context.
  package func recordChanges() { work.recordChanges() }
}

extension ManagedObjectContext {
  /// Saves the context automatically: after a delay without changes, and when the autosave ends.
  ///
  /// ```swift
  /// let autosave = container.viewContext.startAutosaving(after: .seconds(2)) { error in
  ///   show(error)
  /// }
  /// ```
  ///
  /// Each event with changes restarts the delay. An event that is not ended explicitly ends as soon as its isolation is idle. The save runs
  /// in the context's isolation when no other code runs there. Code that changes objects, suspends, and changes more objects may find the
  /// first changes already saved.
  ///
  /// After an error, the changes stay in the context and are saved with later changes or at the end. A change retains the context until it
  /// is saved.
  ///
  /// - Parameters:
  ///   - delay: The time between the last change and the save.
  ///   - clock: The clock that measures the delay.
  ///   - isolation: The context's isolation, which is the caller's; use the default. For contexts of a `ContextActor`, use
  ///     ``ContextActor/startAutosaving(after:clock:onError:)``. A context outside of any actor's isolation cannot autosave.
  ///   - onError: Called with the error of a failed save, in the context's isolation.
  /// - Returns: The autosave. Retain it for as long as the context should save automatically.
  public func startAutosaving(
    after delay: Duration, clock: some Clock<Duration> = ContinuousClock(), isolation: isolated any Actor = #isolation,
    onError: @escaping (any Error) -> Void
  ) -> Autosave {
    startAutosaving(after: delay, clock: clock, isolation: isolation, saving: { try $0.save() }, onError: onError)
  }

  /// Saves the context automatically through a custom closure.
  package func startAutosaving(
    after delay: Duration, clock: some Clock<Duration>, isolation: isolated any Actor,
    saving: @escaping (ManagedObjectContext) throws -> Void, onError: @escaping (any Error) -> Void
  ) -> Autosave {
    let work = IsolatedAutosave(self, DebounceTimer(clock, delay: delay), isolation, saving, onError)
    work.begin()
    return Autosave(work)
  }
}

protocol AutosaveWork: AnyObject {
  func end()
  func recordChanges()
}

/// The autosave of a context in the isolation in which it was created.
private final class IsolatedAutosave<TimerClock: Clock>: AutosaveWork where TimerClock.Duration == Duration {
  private let context: ManagedObjectContext
  private let timer: DebounceTimer<TimerClock>
  private let isolation: any Actor
  private let saving: (ManagedObjectContext) throws -> Void
  private let onError: (any Error) -> Void
  /// Its number among the context's event observers; nil after the end.
  private var number: UInt64?

  init(
    _ context: ManagedObjectContext, _ timer: DebounceTimer<TimerClock>, _ isolation: any Actor,
    _ saving: @escaping (ManagedObjectContext) throws -> Void, _ onError: @escaping (any Error) -> Void
  ) {
    self.context = context
    self.timer = timer
    self.isolation = isolation
    self.saving = saving
    self.onError = onError
  }

  func begin() {
    let number = context.addEventObserver { [weak self] event in
      if event.kind == .changed { self?.recordChanges() }
    }
    self.number = number
    context.unitOfWork.setEventStartObserver(number) { [weak self] in self?.scheduleEventEnd() }
    if context.hasChanges { recordChanges() }
  }

  func end() {
    guard let number else { return }
    self.number = nil
    context.removeEventObserver(number)
    context.unitOfWork.setEventStartObserver(number, nil)
    timer.cancel()
    save()
  }

  private func scheduleEventEnd() {
    let sendable = SendableAutosave(work: self)
    Task.detached { [isolation] in await sendable.endEvent(in: isolation) }
  }

  func recordChanges() {
    let sendable = SendableAutosave(work: self)
    timer.restart { [isolation] in await sendable.save(in: isolation) }
  }

  fileprivate func endEvent() {
    if number != nil { context.processPendingChanges() }
  }

  fileprivate func saveInTime() {
    if number != nil { save() }
  }

  private func save() {
    do {
      // Changes made by the save itself are saved, or fail, with it.
      try timer.ignoringEvents { try saving(context) }
    } catch {
      onError(error)
    }
  }
}

/// A wrapper that passes an autosave to its isolation.
///
/// `@unchecked Sendable`: the autosave is accessed in that isolation only.
private struct SendableAutosave<TimerClock: Clock>: @unchecked Sendable where TimerClock.Duration == Duration {
  let work: IsolatedAutosave<TimerClock>

  func endEvent(in isolation: isolated any Actor) { work.endEvent() }
  func save(in isolation: isolated any Actor) { work.saveInTime() }
}

/// A debounce timer: runs an action after a delay without events, on any clock.
final class DebounceTimer<TimerClock: Clock>: Sendable where TimerClock.Duration == Duration {
  private struct State {
    /// The time of the action, unless another event postpones it.
    var deadline: TimerClock.Instant
    var task: Task<Void, Never>?
    /// Whether events are ignored.
    var ignoresEvents = false
  }
  private let clock: TimerClock
  private let delay: Duration
  private let state: Mutex<State>

  init(_ clock: TimerClock, delay: Duration) {
    self.clock = clock
    self.delay = delay
    state = Mutex(State(deadline: clock.now))
  }

  /// Records an event, which restarts the delay.
  ///
  /// - Parameter action: Runs at the end of the delay; retained until then. Ignored if an action is already waiting.
  func restart(_ action: @escaping @Sendable () async -> Void) {
    state.withLock { state in
      if state.ignoresEvents { return }
      state.deadline = clock.now.advanced(by: delay)
      if state.task != nil { return }
      // Detached, so that the cancellation of the current task does not affect the action.
      state.task = Task.detached { [self] in
        while let deadline = remainingDeadline() {
          do { try await clock.sleep(until: deadline, tolerance: nil) } catch { return }
        }
        if !Task.isCancelled { await action() }
      }
    }
  }

  /// Returns the deadline if it has not passed yet; else nil, and the next event starts a new delay.
  private func remainingDeadline() -> TimerClock.Instant? {
    state.withLock { state in
      if clock.now < state.deadline { return state.deadline }
      // A canceled task no longer belongs to the state.
      if !Task.isCancelled { state.task = nil }
      return nil
    }
  }

  func cancel() {
    state.withLock { state in
      state.task?.cancel()
      state.task = nil
    }
  }

  /// Runs a closure whose events are ignored.
  func ignoringEvents<Result>(_ body: () throws -> Result) rethrows -> Result {
    state.withLock { $0.ignoresEvents = true }
    defer { state.withLock { $0.ignoresEvents = false } }
    return try body()
  }
}

import Synchronization

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

// QuietTimer: does something once nothing has happened for a while.
import Synchronization

/// Does something once nothing has happened for a while, by any clock.
final class QuietTimer<TimerClock: Clock>: Sendable where TimerClock.Duration == Duration {
  private struct State {
    /// When it is to be done, unless something happens before.
    var deadline: TimerClock.Instant
    /// Waits for that.
    var task: Task<Void, Never>?
    /// Whether what happens does not count.
    var isDeaf = false
  }
  private let clock: TimerClock
  private let delay: Duration
  private let state: Mutex<State>

  init(_ clock: TimerClock, delay: Duration) {
    self.clock = clock
    self.delay = delay
    state = Mutex(State(deadline: clock.now))
  }

  /// Something has happened: the delay begins anew.
  ///
  /// - Parameter action: What is done at its end. It is held until then, and whatever it holds.
  func noteEvent(_ action: @escaping @Sendable () async -> Void) {
    state.withLock { state in
      if state.isDeaf { return }
      state.deadline = clock.now.advanced(by: delay)
      if state.task != nil { return }
      // Of no task: what was changed in one outlives it.
      state.task = Task.detached { [self] in
        while let deadline = remainingDeadline() {
          do { try await clock.sleep(until: deadline, tolerance: nil) } catch { return }
        }
        if !Task.isCancelled { await action() }
      }
    }
  }

  /// What is still to be waited for; nil when the time has come, and the next event begins anew.
  private func remainingDeadline() -> TimerClock.Instant? {
    state.withLock { state in
      if clock.now < state.deadline { return state.deadline }
      // One that was called off is no longer the state's.
      if !Task.isCancelled { state.task = nil }
      return nil
    }
  }

  /// What was to be done is not done.
  func cancel() {
    state.withLock { state in
      state.task?.cancel()
      state.task = nil
    }
  }

  /// Runs a body whose own events do not count.
  func withoutEvents<Result>(_ body: () throws -> Result) rethrows -> Result {
    state.withLock { $0.isDeaf = true }
    defer { state.withLock { $0.isDeaf = false } }
    return try body()
  }
}

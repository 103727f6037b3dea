import Synchronization

/// Called with the progress of a long operation; returns whether to continue.
package typealias ProgressHandler = @Sendable (_ done: Int, _ total: Int) -> Bool

/// Combines the progress of the parts of a long operation, each with its own units.
package struct ProgressShare: Sendable {
  private let handler: ProgressHandler?
  private let total: Int

  /// Creates a share of an operation.
  ///
  /// - Parameter total: The sum of the units of all parts.
  package init(_ handler: ProgressHandler?, total: Int) {
    self.handler = handler
    self.total = max(1, total)
  }

  /// Returns the handler for a part that counts as `units` of the whole, or `nil` if there is no handler.
  package func part(from start: Int, units: Int) -> ProgressHandler? {
    guard let handler else { return nil }
    let total = total
    return { done, all in
      let share = all > 0 ? min(max(Double(done) / Double(all), 0), 1) : 1
      return handler(start + Int(share * Double(units)), total)
    }
  }
}

/// Converts the progress of several phases to one fraction. Its total is that of the first report. The completed amount never decreases,
/// and equals the total once, after success.
package final class MonotonicProgress: Sendable {
  /// Runs an operation that can report any units in any phase, and reports completion after success.
  package static func run<Result>(
    _ handler: ProgressHandler?, _ work: (ProgressHandler?) async throws -> sending Result
  ) async throws -> sending Result {
    let monotonic = MonotonicProgress(handler)
    let result = try await work(monotonic.phases)
    monotonic.finish()
    return result
  }

  private let handler: ProgressHandler?
  private let state = Mutex<(done: Int, total: Int)>((0, 0))

  private init(_ handler: ProgressHandler?) { self.handler = handler }

  /// The handler for the phases, or `nil` if there is no handler.
  private var phases: ProgressHandler? {
    guard let handler else { return nil }
    return { done, total in
      let (risen, whole) = self.state.withLock { state in
        if state.total == 0 { state.total = max(1, total) }
        // A different total belongs to another phase or is a better estimate, so only the fraction counts.
        let units = total == state.total || total <= 0 ? done : Int(Double(done) / Double(total) * Double(state.total))
        state.done = max(state.done, min(units, state.total - 1))
        return state
      }
      return handler(risen, whole)
    }
  }

  /// Reports completion. Cancellation has no effect anymore.
  private func finish() {
    guard let handler else { return }
    let total = state.withLock { max(1, $0.total) }
    _ = handler(total, total)
  }
}

import Synchronization

/// Called with how far a long work is; answers whether to go on.
package typealias ProgressHandler = @Sendable (_ done: Int, _ total: Int) -> Bool

/// Parts of a long work, of which each counts for itself.
package struct WorkShare: Sendable {
  private let handler: ProgressHandler?
  private let total: Int

  /// Shares out a work.
  ///
  /// - Parameter total: The units of all parts together.
  package init(_ handler: ProgressHandler?, total: Int) {
    self.handler = handler
    self.total = max(1, total)
  }

  /// What a part tells: whatever it counts, it is so many units of the whole. Nil where nobody listens.
  package func part(from start: Int, units: Int) -> ProgressHandler? {
    guard let handler else { return nil }
    let total = total
    return { done, all in
      let share = all > 0 ? min(max(Double(done) / Double(all), 0), 1) : 1
      return handler(start + Int(share * Double(units)), total)
    }
  }
}

/// What a long work tells, made one fraction: the total is that of the first report, what is done only rises, and is the whole once, when the work has succeeded.
package final class RisingProgress: Sendable {
  /// Runs a work, which may tell any units of any of its phases, and tells the whole when it has succeeded.
  package static func telling<Result>(
    _ handler: ProgressHandler?, _ work: (ProgressHandler?) async throws -> sending Result
  ) async throws -> sending Result {
    let rising = RisingProgress(handler)
    let result = try await work(rising.phases)
    rising.finish()
    return result
  }

  private let handler: ProgressHandler?
  private let state = Mutex<(done: Int, total: Int)>((0, 0))

  private init(_ handler: ProgressHandler?) { self.handler = handler }

  /// What the work tells, in any units; nil where nobody listens.
  private var phases: ProgressHandler? {
    guard let handler else { return nil }
    return { done, total in
      let (risen, whole) = self.state.withLock { state in
        if state.total == 0 { state.total = max(1, total) }
        // Another total is another phase's, or a better estimate: the share counts.
        let units = total == state.total || total <= 0 ? done : Int(Double(done) / Double(total) * Double(state.total))
        state.done = max(state.done, min(units, state.total - 1))
        return state
      }
      return handler(risen, whole)
    }
  }

  /// Tells that all is done. Nothing can be stopped any more.
  private func finish() {
    guard let handler else { return }
    let total = state.withLock { max(1, $0.total) }
    _ = handler(total, total)
  }
}

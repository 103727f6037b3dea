import ObjectQuery
import Synchronization

/// A cache of plans by fetch shape. A lookup costs one hash of the shape's tree.
final class SelectPlanCache: Sendable {
  private struct State {
    var plans: [FetchShape: SelectPlan] = [:]
    /// The unused statement numbers. When none are left, further shapes are planned at each use.
    var numbers: Range<Int>
  }
  private let state: Mutex<State>

  init(numbers: Range<Int>) { state = Mutex(State(numbers: numbers)) }

  /// Returns the plan of a shape. It is made on first use, with a statement number if one is left.
  func plan(for shape: FetchShape, make: (Int?) throws -> SelectPlan) rethrows -> SelectPlan {
    if let known = state.withLock({ $0.plans[shape] }) { return known }
    let number = state.withLock { $0.numbers.popFirst() }
    let plan = try make(number)
    guard number != nil else { return plan }
    return state.withLock { state in
      // Another thread may have planned the same shape. The first plan and its statement number remain.
      if let known = state.plans[shape] { return known }
      state.plans[shape] = plan
      return plan
    }
  }
}

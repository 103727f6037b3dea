import ObjectQuery
import Synchronization

/// Plans that were made already. A shape that was seen costs one hash of its tree.
final class SelectPlanCache: Sendable {
  private struct State {
    var plans: [FetchShape: SelectPlan] = [:]
    /// The statement numbers that no plan has yet; a shape that finds none left is planned anew at each use.
    var numbers: Range<Int>
  }
  private let state: Mutex<State>

  init(numbers: Range<Int>) { state = Mutex(State(numbers: numbers)) }

  /// The plan of a shape; made on first use, with a statement number while there are any left.
  func plan(for shape: FetchShape, make: (Int?) throws -> SelectPlan) rethrows -> SelectPlan {
    if let known = state.withLock({ $0.plans[shape] }) { return known }
    let number = state.withLock { $0.numbers.popFirst() }
    let plan = try make(number)
    guard number != nil else { return plan }
    return state.withLock { state in
      // Another thread may have planned the same meanwhile: one statement number wins.
      if let known = state.plans[shape] { return known }
      state.plans[shape] = plan
      return plan
    }
  }
}

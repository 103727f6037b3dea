// FetchPlanCache: plans by the shapes of fetches.
import ObjectQuery
import Synchronization

/// Plans that were made already. A shape that was seen costs one hash of its tree.
final class FetchPlanCache: Sendable {
  /// Connections keep a statement for each numbered plan, so there is a bound; later shapes are planned anew at each use.
  static let capacity = 1_000

  private struct State {
    var plans: [FetchShape: FetchPlan] = [:]
    var nextNumber: Int
  }
  private let state: Mutex<State>
  private let firstNumber: Int

  init(firstNumber: Int) {
    self.firstNumber = firstNumber
    state = Mutex(State(nextNumber: firstNumber))
  }

  /// The plan of a shape; made on first use, with a statement number while there are any left.
  func plan(for shape: FetchShape, make: (Int?) throws -> FetchPlan) rethrows -> FetchPlan {
    if let known = state.withLock({ $0.plans[shape] }) { return known }
    let number: Int? = state.withLock { state in
      guard state.nextNumber < firstNumber + Self.capacity else { return nil }
      defer { state.nextNumber += 1 }
      return state.nextNumber
    }
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

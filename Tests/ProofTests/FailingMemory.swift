import Foundation
import ObjectStore
import XCTest
import _FaultInjection

/// An operation in which one of SQLite's allocations fails: no trap, a typed error, no lost data.
struct FailingMemory: ProofCase {
  let base: FailingWorkBase
  let number: Int
  /// Whether all later allocations fail too.
  let lasts: Bool

  var description: String { "\(base.work.name): no memory for piece \(number)\(lasts ? " and what follows" : "")" }

  /// The operations under test.
  static let works: [FailingWork] = [.make, .open, .close, .fetch, .save, .update, .delete, .purge, .migrate, .rotate, .backUp, .verify]

  func problem() throws -> String? {
    let work = base.work
    let attempt = try Attempt(work.settings, base.files)
    try work.prepare(attempt)
    var thrown: (any Error)?
    fault_memory_arm(UInt64(number), lasts ? .max : 1)
    do { try work.body(attempt) } catch { thrown = error }
    fault_memory_disarm()
    if let thrown, let problem = StoreError.problem(of: thrown, allowed: [.outOfMemory]) { return problem }
    return try WorkVerification(base: base, attempt: attempt, hasFailed: thrown != nil).problem()
  }
}

extension FailingWorkBase {
  /// Every allocation of SQLite, failing once and permanently.
  var failingPieces: [FailingMemory] {
    (0..<pieces).flatMap { number in [false, true].map { FailingMemory(base: self, number: number + 1, lasts: $0) } }
  }
}

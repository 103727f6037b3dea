// FailingMemory: one work in which SQLite gets no memory: no trap, a typed error, nothing lost.
import Foundation
import ObjectStore
import XCTest
import _FaultInjection

/// One piece of memory that SQLite does not get.
struct FailingMemory: ProofCase {
  let base: FailingWorkBase
  let number: Int
  /// Whether it gets no further ones either.
  let lasts: Bool

  var description: String { "\(base.work.name): no memory for piece \(number)\(lasts ? " and what follows" : "")" }

  /// The works that are tried.
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
    return try WorkAftermath(base: base, attempt: attempt, hasFailed: thrown != nil).problem()
  }
}

extension FailingWorkBase {
  /// Every piece of memory that SQLite may not get.
  var failingPieces: [FailingMemory] {
    (0..<pieces).flatMap { number in [false, true].map { FailingMemory(base: self, number: number + 1, lasts: $0) } }
  }
}

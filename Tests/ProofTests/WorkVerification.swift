import Foundation
import ObjectStore
import XCTest
import _FaultInjection
import _ProofStore
import _StoreSpecification

/// An operation with its store, and its result without faults.
struct FailingWorkBase: Sendable {
  let work: FailingWork
  let files: DiskImage
  let before: [String]
  let after: [String]
  let calls: [FaultCall: Int]
  /// The number of SQLite's allocations, for operations in which they are counted.
  let pieces: Int

  init(_ work: FailingWork) throws {
    self.work = work
    files = try work.files()
    let before = try Attempt(work.settings, files)
    try work.prepare(before)
    self.before = try work.hasStore ? before.contents() : []
    try before.closeStore()
    // In a separate store, since data that was read once is cached.
    let attempt = try Attempt(work.settings, files)
    try work.prepare(attempt)
    fault_memory_arm(0, 0)
    calls = try attempt.folder.counting { try work.body(attempt) }
    pieces = Int(fault_memory_disarm())
    after = try attempt.contents()
    try work.check(attempt)
    try attempt.closeStore()
  }

  /// Every way in which every call can fail.
  var failingCalls: [FailingCall] {
    CallFault.all.flatMap { fault in (0..<(calls[fault.call] ?? 0)).map { FailingCall(base: self, fault: fault, number: $0 + 1) } }
  }
}

/// Checks the state after an operation ran under a fault that is over.
struct WorkVerification {
  let base: FailingWorkBase
  let attempt: Attempt
  let hasFailed: Bool

  /// Checks that the state is the old or the new one. In the old state, the same process can repeat the operation.
  func problem() throws -> String? {
    let work = base.work
    if let answer = attempt.answer, answer != base.after { return "a wrong answer without an error: \(answer.count) lines" }
    if work.name == FailingWork.destroy.name { return try problemOfDestruction() }
    if try hasFailed && contents() != base.after || (hasFailed && base.before == base.after) {
      let found = try contents()
      guard found == base.before else { return "neither the old nor the new state: \(found.count) lines" }
      try work.body(attempt)
    }
    let found = try attempt.contents()
    guard found == base.after else { return "not the new state: \(found.count) lines for \(base.after.count)" }
    try work.check(attempt)
    if attempt.store == nil { try attempt.openStore() }
    try attempt.open.addFilms(["it goes on"])
    let later = try attempt.contents()
    try attempt.closeStore()
    let damage = try attempt.settings.damage(attempt.url)
    guard damage.isEmpty else { return "\(damage.prefix(3))" }
    return try attempt.contents() == later ? nil : "what was saved afterwards is missing"
  }

  /// The contents of the store, with whichever key it has.
  private func contents() throws -> [String] {
    do { return try attempt.contents() } catch let error as StoreError where error.code == .wrongKey {
      attempt.settings.key = 2
      return try attempt.contents()
    } catch let error as StoreError where error.code == .storeNotFound && !base.work.hasStore {
      return base.before
    }
  }

  private func problemOfDestruction() throws -> String? {
    if hasFailed {
      do { try base.work.body(attempt) } catch let error as StoreError where error.code == .storeNotFound {}
    }
    // The next lock reuses and removes the file of this lock.
    let left = try FileManager.default.contentsOfDirectory(atPath: attempt.folder.url.path).filter { !$0.hasSuffix(".keys.lock") }
    guard left.isEmpty else { return "left over: \(left)" }
    return try attempt.contents().isEmpty ? nil : "something is left in a new store"
  }
}

extension StoreError {
  /// Returns what is wrong with an error that a fault caused; nil if it is one of the allowed ones.
  static func problem(of error: any Error, allowed: Set<Code>) -> String? {
    guard let error = error as? StoreError else { return "an error of another type: \(type(of: error)) \(error)" }
    // A migration's error contains the underlying one.
    let code = error.code == .migrationFailed ? (error.underlying as? StoreError)?.code ?? error.code : error.code
    return allowed.contains(code) ? nil : "an error of another kind: \(code) \(error)"
  }
}

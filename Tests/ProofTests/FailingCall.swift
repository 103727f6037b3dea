import Foundation
import ObjectStore
import _ProofStore

/// How a call fails.
struct CallFault: Codable, Sendable, Hashable, CustomStringConvertible {
  var call: FaultCall
  /// The `errno` of the failure; 0 transfers half of the bytes.
  var error: Int32
  /// Whether all later calls of the kind fail too.
  var lasts: Bool

  static let all: [CallFault] = {
    let errors: [FaultCall: [Int32]] = [
      .open: [EIO, EMFILE], .read: [EIO], .write: [EIO, ENOSPC], .sync: [EIO, ENOSPC], .lock: [EIO, ENOLCK], .size: [EIO, ENOSPC],
      .name: [EIO, ENOSPC], .map: [ENOMEM],
    ]
    var faults = FaultCall.allCases.flatMap { call in
      (errors[call] ?? []).flatMap { error in [false, true].map { CallFault(call: call, error: error, lasts: $0) } }
    }
    // Interrupted and partial calls, which must have no visible effect.
    for call in [FaultCall.open, .read, .write, .lock] { faults.append(CallFault(call: call, error: EINTR, lasts: false)) }
    for call in [FaultCall.read, .write] { faults.append(contentsOf: [false, true].map { CallFault(call: call, error: 0, lasts: $0) }) }
    return faults
  }()

  var description: String {
    "\(call.rawValue) \(error == 0 ? "by halves" : String(cString: strerror(error)))\(lasts ? " from then on" : "")"
  }

  /// The errors that may be thrown.
  var codes: Set<StoreError.Code> {
    switch error {
    // A failure to remove the log is the only one reported.
    case ENOSPC where call == .name: [.diskFull, .io]
    case ENOSPC: [.diskFull]
    case ENOMEM: [.outOfMemory, .io]
    // If SQLite cannot open a file for writing, it opens it for reading.
    case EIO where call == .open, EMFILE: [.io, .readOnly]
    // SQLite treats any failure to get a lock as a conflict.
    case _ where call == .lock: [.busy, .io]
    case EINTR, 0: []
    default: [.io]
    }
  }
}

/// An operation in which one call fails: the error, the contents of the store afterwards, and whether it remains usable.
struct FailingCall: ProofCase {
  let base: FailingWorkBase
  let fault: CallFault
  let number: Int

  var description: String { "\(base.work.name): \(fault), call \(number)" }

  func problem() throws -> String? {
    let work = base.work
    let attempt = try Attempt(work.settings, base.files)
    try work.prepare(attempt)
    var thrown: (any Error)?
    let failures = attempt.folder.failing(fault.call, from: number, times: fault.lasts ? .max : 1, error: fault.error) {
      do { try work.body(attempt) } catch { thrown = error }
    }
    if let thrown {
      guard failures > 0 else { return "failed without a fault: \(thrown)" }
      if let problem = StoreError.problem(of: thrown, allowed: fault.codes) { return problem }
    }
    return try WorkVerification(base: base, attempt: attempt, hasFailed: thrown != nil).problem()
  }
}

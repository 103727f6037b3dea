// FailingCall: one work in which one call fails: what is thrown, what the store holds then, and whether it goes on.
import Foundation
import ObjectStore
import _ProofStore

/// How a call fails.
struct CallFault: Codable, Sendable, Hashable, CustomStringConvertible {
  var call: FaultCall
  /// errno; 0 is half of what was to be read or written.
  var error: Int32
  /// Whether all further ones of the kind fail too.
  var lasts: Bool

  static let all: [CallFault] = {
    let errors: [FaultCall: [Int32]] = [
      .open: [EIO, EMFILE], .read: [EIO], .write: [EIO, ENOSPC], .sync: [EIO, ENOSPC], .lock: [EIO, ENOLCK], .size: [EIO, ENOSPC],
      .name: [EIO, ENOSPC], .map: [ENOMEM],
    ]
    var faults = FaultCall.allCases.flatMap { call in
      (errors[call] ?? []).flatMap { error in [false, true].map { CallFault(call: call, error: error, lasts: $0) } }
    }
    // What is only put off: nobody should notice.
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
    // The log that could not be removed is all that is told of then.
    case ENOSPC where call == .name: [.diskFull, .io]
    case ENOSPC: [.diskFull]
    case ENOMEM: [.outOfMemory, .io]
    // SQLite opens a file to be read that it cannot open to be written.
    case EIO where call == .open, EMFILE: [.io, .readOnly]
    // SQLite takes a lock that it does not get for one that somebody else has, whatever the reason.
    case _ where call == .lock: [.busy, .io]
    case EINTR, 0: []
    default: [.io]
    }
  }
}

/// One call that fails in one work.
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
    return try WorkAftermath(base: base, attempt: attempt, hasFailed: thrown != nil).problem()
  }
}
